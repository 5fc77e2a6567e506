// What non-finite inputs of a chunk reach, and nothing else: the rules of poison.py.
//
// The products run with 0 in place of what is not finite. Only a chunk in which something is not finite comes here: it reads its inputs
// once more, and the entries that the recurrence would have lost are made NaN.
#pragma once

#include "tokens.h"

namespace gdn {

// Bits of a row.
enum : uint32_t { Q_BAD = 1, K_BAD = 2, G_BAD = 4, BETA_BAD = 8, V_BAD = 16, OUT_BAD = 32 };

template <class C>
struct Poison {
    static constexpr int BYTES = 4 * (CHUNK + C::BV + C::K);
    uint32_t offset;

    template <class Cta>
    KC_FN uint32_t row(Cta& cta, int t) const { return cta.template shared_load<uint32_t>(offset + 4 * t); }
    // What look_at_columns() found of column c of the CTA's values.
    template <class Cta>
    KC_FN int column(Cta& cta, int c) const { return cta.template shared_load<int>(offset + 4 * (CHUNK + c)); }
    // What look_at_keys() found of key channel d.
    template <class Cta>
    KC_FN bool key(Cta& cta, int d) const { return cta.template shared_load<uint32_t>(offset + 4 * (CHUNK + C::BV + d)) != 0; }

    // Called by all threads; a sync() must follow.
    template <class Cta>
    KC_FN void look_at_rows(Cta& cta, const Tokens<C>& tokens) const {
        const int t = cta.thread();
        if (t >= CHUNK) return;
        uint32_t bits = 0;
        if (tokens.exists(t)) {
            for (int d = 0; d < C::K; ++d) {
                if (lost(tokens.call.q[tokens.key(t) + d])) bits |= Q_BAD;
                if (lost(tokens.call.k[tokens.key(t) + d])) bits |= K_BAD;
                if (C::CHANNEL && gate_lost(tokens, t, d)) bits |= G_BAD;
            }
            if (!C::CHANNEL && gate_lost(tokens, t, 0)) bits |= G_BAD;
            bool beta = false;
            tokens.beta(t, beta);
            if (beta) bits |= BETA_BAD;
            for (int c = 0; c < tokens.call.value_dim; ++c) {
                if (lost(tokens.call.v[tokens.value(t) + c])) bits |= V_BAD;
                if (tokens.call.dout != nullptr && lost(tokens.call.dout[tokens.value(t) + c])) bits |= OUT_BAD;
            }
        }
        cta.template shared_store<uint32_t>(offset + 4 * t, bits);
    }

    // The first (or last) row at which a column of v or dout, from value column first on, is bad; 64 (or -1) if none is.
    template <class Cta>
    KC_FN void look_at_columns(Cta& cta, const Tokens<C>& tokens, const typename C::In* source, int first, bool from_behind) const {
        const int c = cta.thread();
        if (c >= C::BV) return;
        int found = from_behind ? -1 : CHUNK;
        for (int t = 0; t < tokens.span.length; ++t)
            if (lost(source[tokens.value(t) + first + c]) && (from_behind || found == CHUNK)) found = t;
        cta.template shared_store<int>(offset + 4 * (CHUNK + c), found);
    }

    // Whether a key channel is bad at any row: of its gates, and of k or q.
    template <class Cta>
    KC_FN void look_at_keys(Cta& cta, const Tokens<C>& tokens, const typename C::In* source) const {
        const int d = cta.thread();
        if (d >= C::K) return;
        bool found = false;
        for (int t = 0; t < tokens.span.length; ++t)
            found = found || gate_lost(tokens, t, d) || lost(source[tokens.key(t) + d]);
        cta.template shared_store<uint32_t>(offset + 4 * (CHUNK + C::BV + d), found ? 1u : 0u);
    }

    // First row with any of the bits, 64 if there is none; last row, -1 if there is none.
    template <class Cta>
    KC_FN int first(Cta& cta, uint32_t bits) const {
        for (int t = 0; t < CHUNK; ++t)
            if (row(cta, t) & bits) return t;
        return CHUNK;
    }
    template <class Cta>
    KC_FN int last(Cta& cta, uint32_t bits) const {
        for (int t = CHUNK - 1; t >= 0; --t)
            if (row(cta, t) & bits) return t;
        return -1;
    }

    template <class T>
    KC_FN static bool lost(T x) { return !finite(tensor::to_float(x)); }

    KC_FN static bool gate_lost(const Tokens<C>& tokens, int t, int d) {
        bool bad = false;
        tokens.gate(t, d, bad);
        return bad;
    }
};

// The bad columns of a CTA's part of a state, as bits, for all threads. mine: bit c is set where this thread saw it.
template <int BV, class Cta>
KC_FN uint64_t bad_columns(Cta& cta, uint64_t mine) {
    uint64_t all = 0;
    for (int c = 0; c < BV; ++c)
        if (cta.sync_or((mine >> c & 1) != 0)) all |= 1ull << c;
    return all;
}

}  // namespace gdn
