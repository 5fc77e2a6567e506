// Stage 4 where each key channel has its own gate.
#pragma once

#include <type_traits>

#include "channel.h"
#include "spoil.h"

namespace gdn {

template <class C>
struct Gradients;

// After the products over value columns. Contributions to dq, dk and to the gradient of the running sums (kept in dg) are added up in
// global memory, each entry by one thread; the 16-row blocks are taken as channel.h says.
template <class C>
struct ChannelGradients {
    using G = Gradients<C>;
    static constexpr int WIDTH = 16;  // key channels at a time, eight a thread

    // The thread's row, and eight of its key channels.
    template <class Shared>
    struct Eight {
        Shared& shared;
        int row, c;
        float q[8], k[8];

        KC_FN Eight(Shared& shared_, int row_, int c_) : shared(shared_), row(row_), c(c_) {
            shared.tokens.keys(shared.tokens.call.q, row, c, q, shared.bad);
            shared.tokens.keys(shared.tokens.call.k, row, c, k, shared.bad);
        }

        // to_q: of the gradient of q; as_later, as_earlier: of that of k as the later and the earlier token of a pair. A running sum acts
        // like q and the later k, and against the earlier k.
        KC_FN void add(int y, float to_q, float as_later, float as_earlier, bool fresh_keys, bool fresh_gates) const {
            const auto& tokens = shared.tokens;
            if (!tokens.exists(row)) return;
            float& dq = tokens.call.dq[tokens.key(row) + c + y];
            float& dk = tokens.call.dk[tokens.key(row) + c + y];
            float& dc = tokens.call.dg[tokens.scalar(row) * C::K + c + y];
            dq = (fresh_keys ? 0.0f : dq) + to_q;
            dk = (fresh_keys ? 0.0f : dk) + (as_later + as_earlier);
            dc = (fresh_gates ? 0.0f : dc) + (q[y] * to_q + k[y] * (as_later - as_earlier));
        }
    };

    template <class Shared>
    KC_DEVICE static void run(Shared& shared, bool first) {
        auto& cta = shared.cta;
        using Cta = std::remove_reference_t<decltype(cta)>;
        using Part = Fragment<Cta, 64, WIDTH>;
        const Tokens<C>& tokens = shared.tokens;
        const auto& call = tokens.call;
        const int i = Part::row(cta);
        const float beta = cta.template shared_load<float>(G::BETA + 4 * i);
        const typename G::Triangle dp{G::DP}, dl{G::DM};
        const ChannelKeys<C> keys{G::LATER_Q, G::LATER_K, G::EARLIER};

        GDN_LOOP
        for (int part = 0; part < CHUNK / WIDTH; ++part) triangles(shared, part);
        GDN_LOOP
        for (int part = 0; part < C::K / WIDTH; ++part) states(shared, part, first, beta);
        cta.sync();
        // What the last row's sums get: from keys that decay to the chunk's end, and from the state.
        float end = 0.0f;
        if (cta.thread() < C::K) {
            const int d = cta.thread();
            end = exponential(tokens.sum(CHUNK - 1, d)) * cta.template shared_load<float>(G::OVERLAP + 4 * d);
            GDN_LOOP
            for (int t = 0; t < CHUNK; ++t) end += cta.template shared_load<float>(G::LATER_Q + 4 * (t * C::K + d));
        }
        cta.sync();

        keys.fill_later(cta, tokens);
        if constexpr (C::DELTA) {  // dM^T K = dL^T (beta K)
            gdn::fill(cta, keys.k(), [&](int t, int c, float(&x)[8]) {
                bool ignored = false;
                tokens.keys(call.k, t, c, x, ignored);
                const float factor = cta.template shared_load<float>(G::BETA + 4 * t);
                KC_UNROLL
                for (int d = 0; d < 8; ++d) x[d] *= factor * ChannelKeys<C>::later(tokens, t, c + d);
            });
        }
        block<1>(shared, keys, beta);
        block<2>(shared, keys, beta);
        block<3>(shared, keys, beta);
        GDN_LOOP
        for (int part = 0; part < C::K / WIDTH; ++part) diagonal(shared, dp, dl, part, beta);

        if constexpr (C::DELTA) {
            const float dbeta = shared.dbeta + cta.shuffle_xor(shared.dbeta, 16);
            if (cta.lane() < 16 && tokens.exists(i)) call.dbeta[tokens.scalar(i)] = dbeta;
        }
        cta.sync();
        if (cta.thread() < C::K) {  // a gate acts on the sums of the later rows too
            GDN_LOOP
            for (int t = tokens.span.length - 1; t >= 0; --t) {
                float& dg = call.dg[tokens.scalar(t) * C::K + cta.thread()];
                end += dg;
                dg = end;
            }
        }
    }

    // dP and dL as operands; their decay comes with the keys.
    template <class Shared>
    KC_DEVICE static void triangles(Shared& shared, int part) {
        auto& cta = shared.cta;
        using Cta = std::remove_reference_t<decltype(cta)>;
        using Part = Fragment<Cta, 64, WIDTH>;
        const int i = Part::row(cta);
        Part dp, dl;
        load(cta, moved<WIDTH>(shared.dp(), part), dp);
        if constexpr (C::DELTA) load(cta, moved<WIDTH>(shared.dl(), part), dl);
        cta.wait_load();
        float p[8], l[8];
        KC_UNROLL
        for (int y = 0; y < 8; ++y) {
            const int j = WIDTH * part + Part::column(cta, y);
            p[y] = j <= i ? shared.tokens.call.scale * dp.get(y) : 0.0f;
            l[y] = 0.0f;
            if constexpr (C::DELTA) l[y] = j < i ? -dl.get(y) : 0.0f;
        }
        typename G::Triangle{G::DP}.store(cta, i, WIDTH * part + Part::column(cta, 0), p);
        if constexpr (C::DELTA) typename G::Triangle{G::DM}.store(cta, i, WIDTH * part + Part::column(cta, 0), l);
    }

    // What comes through the states, for WIDTH key channels. The products that go to the last row's sums are left in shared memory.
    template <class Shared>
    KC_DEVICE static void states(Shared& shared, int part, bool first, float beta) {
        auto& cta = shared.cta;
        using Cta = std::remove_reference_t<decltype(cta)>;
        using Part = Fragment<Cta, 64, WIDTH>;
        const Tokens<C>& tokens = shared.tokens;
        const int i = Part::row(cta);
        Part read, recalled, written;
        load(cta, moved<WIDTH>(shared.read(), part), read);
        if constexpr (C::DELTA) load(cta, moved<WIDTH>(shared.recalled(), part), recalled);
        load(cta, moved<WIDTH>(shared.written(), part), written);
        cta.wait_load();
        const Eight<Shared> eight(shared, i, WIDTH * part + Part::column(cta, 0));
        KC_UNROLL
        for (int y = 0; y < 8; ++y) {
            const int d = eight.c + y;
            const float sum = tokens.sum(i, d), into = exponential(sum);
            const float as_earlier = exponential(tokens.sum(CHUNK - 1, d) - sum) * written.get(y);
            float as_later = 0.0f;
            if constexpr (C::DELTA) {
                as_later = -beta * into * recalled.get(y);
                shared.dbeta -= into * recalled.get(y) * eight.k[y];
            }
            eight.add(y, tokens.call.scale * into * read.get(y), as_later, as_earlier, first, true);
            cta.template shared_store<float>(G::LATER_Q + 4 * (i * C::K + d), eight.k[y] * as_earlier);
        }
    }

    // Pairs whose later token lies in a block of 16 rows and whose earlier token lies before it.
    template <int BLOCK_INDEX, class Shared>
    KC_DEVICE static void block(Shared& shared, const ChannelKeys<C>& keys, float beta) {
        auto& cta = shared.cta;
        using Cta = std::remove_reference_t<decltype(cta)>;
        using Part = Fragment<Cta, 64, WIDTH>;
        const Tokens<C>& tokens = shared.tokens;
        const int i = Part::row(cta);
        const auto to_q = shared.read(), by_later = shared.recalled(), by_earlier = shared.written();
        const typename G::Triangle dp{G::DP}, dl{G::DM};
        using Rows = ByColumnsOfBlock<BLOCK_INDEX * BLOCK, CHUNK>;
        using Channels = ByColumnsOfBlock<BLOCK_INDEX * BLOCK, C::K>;
        keys.fill_earlier(cta, tokens, BLOCK_INDEX);
        tensor::publish(cta);
        multiply<ByRows, ByColumns>(cta, to_q, dp, keys.earlier());
        multiply<Rows, Channels>(cta, by_earlier, dp, keys.q());
        if constexpr (C::DELTA) {
            multiply<ByRows, ByColumns>(cta, by_later, dl, keys.earlier());
            multiply<Rows, Channels>(cta, by_earlier, dl, keys.k(), true);
        }
        tensor::finish(cta, shared.done);
        GDN_LOOP
        for (int part = 0; part < C::K / WIDTH; ++part) {
            Part a, b, e;
            if (cta.warp() == BLOCK_INDEX) {
                load(cta, moved<WIDTH>(to_q, part), a);
                if constexpr (C::DELTA) load(cta, moved<WIDTH>(by_later, part), b);
            } else if (cta.warp() < BLOCK_INDEX) {
                load(cta, moved<WIDTH>(by_earlier, part), e);
            }
            cta.wait_load();
            if (cta.warp() > BLOCK_INDEX) continue;
            const bool later = cta.warp() == BLOCK_INDEX;  // the rows of this warp are the later tokens of the pairs, or the earlier ones
            const Eight<Shared> eight(shared, i, WIDTH * part + Part::column(cta, 0));
            KC_UNROLL
            for (int y = 0; y < 8; ++y) {
                const int d = eight.c + y;
                const float factor = later ? ChannelKeys<C>::later(tokens, i, d) : ChannelKeys<C>::earlier(tokens, i, d, BLOCK_INDEX);
                float recalled = 0.0f;
                if constexpr (C::DELTA) recalled = later ? factor * b.get(y) : 0.0f;
                shared.dbeta += recalled * eight.k[y];
                eight.add(y, later ? factor * a.get(y) : 0.0f, beta * recalled, later ? 0.0f : factor * e.get(y), false, false);
            }
        }
    }

    // Pairs inside a block, term by term.
    template <class Shared>
    KC_DEVICE static void diagonal(
        Shared& shared, const typename G::Triangle& dp, const typename G::Triangle& dl, int part, float beta) {
        auto& cta = shared.cta;
        using Cta = std::remove_reference_t<decltype(cta)>;
        using Part = Fragment<Cta, 64, WIDTH>;
        const Tokens<C>& tokens = shared.tokens;
        const auto& call = tokens.call;
        const int i = Part::row(cta), first = i / BLOCK * BLOCK;
        const Eight<Shared> eight(shared, i, WIDTH * part + Part::column(cta, 0));
        float to_q[8], by_later[8], by_earlier[8];
        zero(to_q);
        zero(by_later);
        zero(by_earlier);
        GDN_LOOP
        for (int j = first; j < first + BLOCK; ++j) {
            const int high = j < i ? i : j, low = j < i ? j : i;
            float q[8], k[8];
            bool ignored = false;
            tokens.keys(call.q, j, eight.c, q, ignored);
            tokens.keys(call.k, j, eight.c, k, ignored);
            const float p = at(cta, dp, high, low);
            const float l = C::DELTA && j != i ? at(cta, dl, high, low) : 0.0f;
            const float m = l * cta.template shared_load<float>(G::BETA + 4 * high);
            KC_UNROLL
            for (int y = 0; y < 8; ++y) {
                const float factor = exponential(tokens.sum(high, eight.c + y) - tokens.sum(low, eight.c + y));
                if (j <= i) {
                    to_q[y] += p * factor * k[y];
                    by_later[y] += l * factor * k[y];
                }
                if (j >= i) by_earlier[y] += factor * (p * q[y] + m * k[y]);
            }
        }
        KC_UNROLL
        for (int y = 0; y < 8; ++y) {
            shared.dbeta += by_later[y] * eight.k[y];
            eight.add(y, to_q[y], beta * by_later[y], by_earlier[y], false, false);
        }
    }

    // One element of a matrix in pieces.
    template <class Cta, class P>
    KC_FN static float at(Cta& cta, const P& matrix, int r, int c) {
        float sum = 0.0f;
        KC_UNROLL
        for (int piece = P::N - 1; piece >= 0; --piece) sum += tensor::to_float(matrix.piece(piece).load(cta, r, c));
        return sum;
    }
};

}  // namespace gdn
