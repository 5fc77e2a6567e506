// Stage 4's part of the rules of poison.py: entries of dq, dk, dg and dbeta that a non-finite input of the chunk reaches become NaN.
#pragma once

#include "poison.h"

namespace gdn {

template <class C>
struct Spoil {
    static constexpr int BYTES = Poison<C>::BYTES + 4 * C::K;
    uint32_t offset;

    // Bits of a key channel: 1 its row of the state before the chunk is not finite, 2 its row of the gradient of the state after it.
    KC_FN uint32_t place(int d) const { return offset + Poison<C>::BYTES + 4 * d; }
    template <class Cta>
    KC_FN void clear(Cta& cta, int d) const { cta.template shared_store<uint32_t>(place(d), 0u); }
    template <class Cta>
    KC_FN uint32_t held(Cta& cta, int d) const { return cta.template shared_load<uint32_t>(place(d)); }
    template <class Cta>
    KC_FN void note(Cta& cta, int d, uint32_t bits) const { cta.template shared_store<uint32_t>(place(d), held(cta, d) | bits); }

    // Called by all threads, after a sync() behind all results of the chunk and value head.
    template <class Cta>
    KC_FN void run(Cta& cta, const Tokens<C>& tokens) const {
        const Poison<C> poison{offset};
        poison.look_at_rows(cta, tokens);
        cta.sync();
        uint32_t any = 0;
        for (int d = 0; d < C::K; ++d) any |= held(cta, d);
        const uint32_t writes = C::DELTA ? V_BAD | K_BAD | G_BAD | BETA_BAD : V_BAD | K_BAD | G_BAD;
        const int from = any & 1 ? 0 : poison.first(cta, writes);  // what is written is lost from this row on
        const int own = poison.last(cta, C::DELTA ? OUT_BAD | Q_BAD | K_BAD : OUT_BAD | Q_BAD);
        const int later = poison.last(cta, C::DELTA ? G_BAD | BETA_BAD : G_BAD);
        for (int t = 0; t < tokens.span.length; ++t) {
            const uint32_t bits = poison.row(cta, t);
            const bool back = t <= own || t < later || (any & 2);
            for (int d = cta.thread(); d < C::K; d += THREADS) {
                const bool gate = Poison<C>::gate_lost(tokens, t, d);
                if (C::DELTA) {
                    if ((bits & OUT_BAD) || t >= from) tokens.call.dq[tokens.key(t) + d] = nan();
                    if (t >= from || back) tokens.call.dk[tokens.key(t) + d] = nan();
                    if (C::CHANNEL && (t > from || (held(cta, d) & 1) || back || (bits & BETA_BAD) || gate))
                        tokens.call.dg[tokens.scalar(t) * C::K + d] = nan();
                } else {
                    bool earlier = (held(cta, d) & 1) != 0, behind = (held(cta, d) & 2) != 0;
                    for (int x = 0; x < tokens.span.length; ++x) {
                        const uint32_t there = poison.row(cta, x);
                        const bool gated = Poison<C>::gate_lost(tokens, x, d);
                        const bool key = Poison<C>::lost(tokens.call.k[tokens.key(x) + d]);
                        const bool query = Poison<C>::lost(tokens.call.q[tokens.key(x) + d]);
                        earlier = earlier || (x < t && ((there & V_BAD) || key || gated));
                        behind = behind || (x >= t && ((there & OUT_BAD) || query)) || (x > t && gated);
                    }
                    const bool now = earlier || (bits & V_BAD) || gate || Poison<C>::lost(tokens.call.k[tokens.key(t) + d]);
                    if (now || (bits & OUT_BAD)) tokens.call.dq[tokens.key(t) + d] = nan();
                    if (behind || (bits & V_BAD)) tokens.call.dk[tokens.key(t) + d] = nan();
                    if (C::CHANNEL && (earlier || behind || gate)) tokens.call.dg[tokens.scalar(t) * C::K + d] = nan();
                }
            }
            if (cta.thread() != 0) continue;
            const bool before = t > from || (any & 1);
            if (C::GATE == Gate::SCALAR && (before || back || (bits & (C::DELTA ? G_BAD | BETA_BAD : G_BAD))))
                tokens.call.dg[tokens.scalar(t)] = nan();
            if (C::DELTA && (before || back || (bits & (V_BAD | K_BAD | G_BAD)))) tokens.call.dbeta[tokens.scalar(t)] = nan();
        }
    }
};

}  // namespace gdn
