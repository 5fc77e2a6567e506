// Stage 4, for each chunk by itself: gradients of q, k, the gates and beta.
#pragma once

#include "channel_gradients.h"
#include "scan.h"

namespace gdn {

// Grid: chunks, key heads. The value heads of a key head are taken one after the other, and their dq and dk are summed in that order.
//     dP = scale tril(dout U^T)    dL = -strict(lam U^T)    dM = beta dL
//     dq = scale G (dout S^T) + dP K
//     dk = R (U dS^T) - G ((beta lam) S^T) + dP^T Q + dM K + dM^T K
//     dbeta = lam . V - (G lam S^T) . K + sum_j dL M
// with dP and dM gated; the gates' gradients are row and column sums, of unrounded values.
template <class C>
struct Gradients {
    using Params = Call<typename C::In>;
    using Keys = Pieces<typename C::Operand, C::CHANNEL ? C::VALUES : C::INPUTS, CHUNK, C::K>;
    using Triangle = Pieces<typename C::Operand, C::VALUES, CHUNK, CHUNK>;
    using Inputs = Pieces<typename C::Operand, C::INPUTS, CHUNK, C::BV>;
    using Values = Pieces<typename C::Operand, C::VALUES, CHUNK, C::BV>;
    using State = Pieces<typename C::Operand, C::VALUES, C::K, C::BV>;
    // Without a channel gate q and k stay; with one, three matrices of decayed keys come after the products over value columns.
    static constexpr uint32_t Q = 0;
    static constexpr uint32_t K = Q + (C::CHANNEL ? 0 : Keys::BYTES);
    static constexpr uint32_t AREA = K + (C::CHANNEL ? 0 : Keys::BYTES);
    static constexpr uint32_t DO = AREA;
    static constexpr uint32_t U = DO + Inputs::BYTES;
    static constexpr uint32_t LAM = U + Values::BYTES;
    static constexpr uint32_t S = LAM + (C::DELTA ? Values::BYTES : 0);
    static constexpr uint32_t DS = S + State::BYTES;
    static constexpr uint32_t DP = AREA;
    static constexpr uint32_t DM = DP + Triangle::BYTES;
    static constexpr uint32_t WEIGHT = DM + (C::DELTA ? Triangle::BYTES : 0);  // and the decayed keys, and one float for each key and row
    static constexpr uint32_t LATER_Q = WEIGHT, LATER_K = LATER_Q + Keys::BYTES, EARLIER = LATER_K + Keys::BYTES;
    static constexpr uint32_t FIRST_END = DS + State::BYTES;
    static constexpr uint32_t SECOND_END = C::CHANNEL ? EARLIER + Keys::BYTES : WEIGHT + Square::BYTES;
    static constexpr uint32_t DECAY = FIRST_END > SECOND_END ? FIRST_END : SECOND_END;
    static constexpr uint32_t BETA = DECAY + Decay<C>::BYTES;
    static constexpr uint32_t ROWS = BETA + 4 * CHUNK;     // a float for each row
    static constexpr uint32_t ENDS = ROWS + 4 * CHUNK;     // the same
    static constexpr uint32_t OVERLAP = ENDS + 4 * CHUNK;  // <S, dS> of each key channel
    static constexpr uint32_t SPOIL = OVERLAP + 4 * C::K;
    static constexpr uint32_t BARRIER = SPOIL + Spoil<C>::BYTES;
    static constexpr uint32_t SLOT = BARRIER + 8;
    static constexpr int SHARED_BYTES = SLOT + 8;
    static constexpr int THREADS = gdn::THREADS;
    static constexpr int WIDTH = 16;  // key channels at a time: eight a thread
    // Columns 0..63: K K^T in the lower and Q K^T in the upper lanes; 64..127: lam U^T and dout U^T; then K columns with lam S^T and
    // dout S^T, and K columns with U dS^T. Once read, the first 128 hold dM K + dM^T K + dP^T Q (lower) and dP K (upper).
    static constexpr int TENSOR_COLUMNS = C::K == 64 ? 256 : 512;

    template <class Cta>
    struct Shared {  // what the steps of one value head share
        Cta& cta;
        const Tokens<C> tokens;
        uint32_t base;
        Completion& done;
        float dbeta = 0.0f;  // the thread's part of its row's
        bool bad = false;

        KC_FN auto kk() const { return Accumulator<64, 64>::at(base, 0, 0); }
        KC_FN auto qk() const { return Accumulator<64, 64>::at(base, 0, 1); }
        KC_FN auto dl() const { return Accumulator<64, 64>::at(base, 64, 0); }
        KC_FN auto dp() const { return Accumulator<64, 64>::at(base, 64, 1); }
        KC_FN auto recalled() const { return Accumulator<64, C::K>::at(base, 128, 0); }
        KC_FN auto read() const { return Accumulator<64, C::K>::at(base, 128, 1); }
        KC_FN auto written() const { return Accumulator<64, C::K>::at(base, 128 + C::K, 0); }
        KC_FN auto dk() const { return Accumulator<64, C::K>::at(base, 0, 0); }
        KC_FN auto dq() const { return Accumulator<64, C::K>::at(base, 0, 1); }
    };

    template <class Cta>
    KC_DEVICE static void run(Cta& cta, const Params& call) {
        const Span span = span_of(call, cta.block(0));
        const int group = call.value_heads / call.heads;
        const uint32_t base = tensor::allocate<TENSOR_COLUMNS>(cta, SLOT);
        Completion done{BARRIER};
        tensor::prepare(cta, done);
        for (int member = 0; member < group; ++member) {
            Shared<Cta> shared{cta, {call, span, cta.block(1) * group + member}, base, done};
            cta.sync();
            const Tokens<C>& tokens = shared.tokens;
            Decay<C>{DECAY}.fill(cta, tokens, shared.bad);
            if (cta.thread() < CHUNK) cta.template shared_store<float>(BETA + 4 * cta.thread(), tokens.beta(cta.thread(), shared.bad));
            for (int d = cta.thread(); d < C::K; d += THREADS) {
                cta.template shared_store<float>(OVERLAP + 4 * d, 0.0f);
                Spoil<C>{SPOIL}.clear(cta, d);
                if constexpr (C::CHANNEL) {
                    GDN_LOOP
                    for (int t = 0; t < CHUNK; ++t) tokens.gate(t, d, shared.bad);
                }
            }
            if constexpr (!C::CHANNEL) {
                gdn::fill(cta, Keys{Q}, [&](int t, int c, float(&x)[8]) { tokens.keys(call.q, t, c, x, shared.bad); });
                gdn::fill(cta, Keys{K}, [&](int t, int c, float(&x)[8]) { tokens.keys(call.k, t, c, x, shared.bad); });
            }
            cta.sync();
            over_values(shared);
            if constexpr (C::CHANNEL)
                ChannelGradients<C>::run(shared, member == 0);
            else
                scalar(shared, member == 0);
            if (cta.sync_or(shared.bad)) Spoil<C>{SPOIL}.run(cta, tokens);
        }
        tensor::release<TENSOR_COLUMNS>(cta, base);
    }

    // The products that contract over value columns, BV at a time.
    template <class Cta>
    KC_DEVICE static void over_values(Shared<Cta>& shared) {
        Cta& cta = shared.cta;
        const Tokens<C>& tokens = shared.tokens;
        const Params& call = tokens.call;
        const Inputs dout{DO};
        const Values u{U}, lam{LAM};
        const State state{S}, dstate{DS};
        for (int column = 0; column < call.value_dim; column += C::BV) {
            gdn::fill(cta, dout, [&](int t, int c, float(&x)[8]) { tokens.values(call.dout, t, column + c, x, shared.bad); });
            gdn::fill(cta, u, [&](int t, int c, float(&x)[8]) { raw(tokens, call.written, t, column + c, x); });
            if constexpr (C::DELTA) gdn::fill(cta, lam, [&](int t, int c, float(&x)[8]) { raw(tokens, call.adjoint, t, column + c, x); });
            for (int index = cta.thread(); index < C::K * C::BV / 8; index += THREADS) {
                const int d = index / (C::BV / 8), c = index % (C::BV / 8) * 8;
                float a[8], b[8], overlap = 0.0f;
                bool bad_a = false, bad_b = false;
                gdn::read(call.states + tokens.state(d) + column + c, a, bad_a);
                gdn::read(call.dstates + tokens.state(d) + column + c, b, bad_b);
                state.store(cta, d, c, a);
                dstate.store(cta, d, c, b);
                KC_UNROLL
                for (int j = 0; j < 8; ++j) overlap += a[j] * b[j];
                uint32_t bits = (bad_a ? 1u : 0u) | (bad_b ? 2u : 0u);
                KC_UNROLL
                for (int mask = 1; mask < C::BV / 8; mask *= 2) {
                    overlap += cta.shuffle_xor(overlap, mask);
                    bits |= cta.shuffle_xor(bits, mask);
                }
                if (c == 0) {
                    const uint32_t place = OVERLAP + 4 * d;
                    cta.template shared_store<float>(place, cta.template shared_load<float>(place) + overlap);
                    Spoil<C>{SPOIL}.note(cta, d, bits);
                    shared.bad = shared.bad || bits != 0;
                }
            }
            // lam . V, and whether v is finite: the row of the thread, its half of the columns.
            using Part = Fragment<Cta, 64, C::BV>;
            const int row = Part::row(cta);
            for (int x = 0; x < Part::COUNT; x += 8) {
                float v[8], l[8];
                tokens.values(call.v, row, column + Part::column(cta, x), v, shared.bad);
                if constexpr (C::DELTA) {
                    raw(tokens, call.adjoint, row, column + Part::column(cta, x), l);
                    KC_UNROLL
                    for (int j = 0; j < 8; ++j) shared.dbeta += l[j] * v[j];
                }
            }
            const bool add = column > 0;
            tensor::publish(cta);
            if constexpr (!C::CHANNEL) {
                if (!add) {
                    multiply<ByRows, ByRows>(cta, shared.qk(), Keys{Q}, Keys{K});
                    if constexpr (C::DELTA) multiply<ByRows, ByRows>(cta, shared.kk(), Keys{K}, Keys{K});
                }
            }
            multiply<ByRows, ByRows>(cta, shared.dp(), dout, u, add);
            multiply<ByRows, ByRows>(cta, shared.read(), dout, state, add);
            multiply<ByRows, ByRows>(cta, shared.written(), u, dstate, add);
            if constexpr (C::DELTA) {
                multiply<ByRows, ByRows>(cta, shared.dl(), lam, u, add);
                multiply<ByRows, ByRows>(cta, shared.recalled(), lam, state, add);
            }
            tensor::finish(cta, shared.done);
        }
        cta.sync();
    }

    KC_FN static void raw(const Tokens<C>& tokens, const float* source, int row, int c, float (&x)[8]) {
        KC_UNROLL
        for (int j = 0; j < 8; ++j) x[j] = tokens.exists(row) ? source[tokens.value(row) + c + j] : 0.0f;
    }

    // The rest, where all channels decay alike.
    template <class Cta>
    KC_DEVICE static void scalar(Shared<Cta>& shared, bool first) {
        using Part = Fragment<Cta, 64, WIDTH>;
        Cta& cta = shared.cta;
        const Tokens<C>& tokens = shared.tokens;
        const Params& call = tokens.call;
        const Decay<C> decay{DECAY};
        const Triangle dp{DP}, dm{DM};
        const Square weight{WEIGHT};
        const int i = Part::row(cta);
        const float beta = cta.template shared_load<float>(BETA + 4 * i);

        // Tiles dP and dM, gated, and what each pair of rows weighs in the gradient of their decay.
        float row_weight = 0.0f;
        GDN_LOOP
        for (int part = 0; part < CHUNK / WIDTH; ++part) triangles(shared, part, decay, beta, row_weight);
        tensor::publish(cta);
        multiply<ByRows, ByColumns>(cta, shared.dq(), dp, Keys{K});
        multiply<ByColumns, ByColumns>(cta, shared.dk(), dp, Keys{Q});
        if constexpr (C::DELTA) {
            multiply<ByRows, ByColumns>(cta, shared.dk(), dm, Keys{K}, true);
            multiply<ByColumns, ByColumns>(cta, shared.dk(), dm, Keys{K}, true);
        }
        tensor::finish(cta, shared.done);

        float dc = row_weight, end = 0.0f;
        const float into = decay.into(cta, i), out_of = decay.out_of(cta, i);
        GDN_LOOP
        for (int part = 0; part < C::K / WIDTH; ++part) keys(shared, part, first, beta, into, out_of, dc, end);
        dc += cta.shuffle_xor(dc, 16);
        end += cta.shuffle_xor(end, 16);
        const float dbeta = shared.dbeta + cta.shuffle_xor(shared.dbeta, 16);
        if (cta.lane() < 16) {
            cta.template shared_store<float>(ROWS + 4 * i, dc);
            cta.template shared_store<float>(ENDS + 4 * i, end);
            if (C::DELTA && tokens.exists(i)) call.dbeta[tokens.scalar(i)] = dbeta;
        }
        if constexpr (C::GATE == Gate::SCALAR) {
            cta.sync();
            const int t = cta.thread();
            float own = 0.0f;
            if (t < CHUNK) {
                own = cta.template shared_load<float>(ROWS + 4 * t);
                for (int x = t; x < CHUNK; ++x) own -= weight.get(cta, x, t);
            }
            cta.sync();
            if (t < CHUNK) cta.template shared_store<float>(ROWS + 4 * t, own);
            cta.sync();
            if (t < CHUNK && tokens.exists(t)) {
                // The chunk's own decay acts through its last row, and so on every gate.
                float sum = 0.0f;
                for (int d = 0; d < C::K; ++d) sum += cta.template shared_load<float>(OVERLAP + 4 * d);
                sum *= decay.across(cta);
                for (int x = 0; x < CHUNK; ++x) sum += cta.template shared_load<float>(ENDS + 4 * x);
                for (int x = CHUNK - 1; x >= t; --x) sum += cta.template shared_load<float>(ROWS + 4 * x);
                call.dg[tokens.scalar(t)] = sum;
            }
        }
    }

    // WIDTH columns of the triangles.
    template <class Cta>
    KC_DEVICE static void triangles(Shared<Cta>& shared, int part, const Decay<C>& decay, float beta, float& row_weight) {
        using Part = Fragment<Cta, 64, WIDTH>;
        Cta& cta = shared.cta;
        const Square weight{WEIGHT};
        const int i = Part::row(cta);
        Part kk, qk, dl, dp;
        load(cta, moved<WIDTH>(shared.qk(), part), qk);
        load(cta, moved<WIDTH>(shared.dp(), part), dp);
        if constexpr (C::DELTA) {
            load(cta, moved<WIDTH>(shared.kk(), part), kk);
            load(cta, moved<WIDTH>(shared.dl(), part), dl);
        }
        cta.wait_load();
        float p[8], m[8];
        KC_UNROLL
        for (int y = 0; y < 8; ++y) {
            const int j = WIDTH * part + Part::column(cta, y);
            const float factor = j <= i ? decay.between(cta, i, j) : 0.0f;
            const float gradient = j <= i ? shared.tokens.call.scale * dp.get(y) : 0.0f;
            p[y] = gradient * factor;
            float sum = p[y] * (j <= i ? qk.get(y) : 0.0f);
            m[y] = 0.0f;
            if constexpr (C::DELTA) {
                const float solved = j < i ? -dl.get(y) * factor : 0.0f;
                m[y] = beta * solved;
                const float through = solved * (j < i ? kk.get(y) : 0.0f);
                sum += beta * through;
                shared.dbeta += through;
            }
            row_weight += sum;
            weight.set(cta, i, j, sum);
        }
        Triangle{DP}.store(cta, i, WIDTH * part + Part::column(cta, 0), p);
        if constexpr (C::DELTA) Triangle{DM}.store(cta, i, WIDTH * part + Part::column(cta, 0), m);
    }

    // WIDTH key channels of dq and dk.
    template <class Cta>
    KC_DEVICE static void keys(Shared<Cta>& shared, int part, bool first, float beta, float into, float out_of, float& dc, float& end) {
        using Part = Fragment<Cta, 64, WIDTH>;
        Cta& cta = shared.cta;
        const Tokens<C>& tokens = shared.tokens;
        const Params& call = tokens.call;
        const int i = Part::row(cta);
        Part read, recalled, written, dq, dk;
        load(cta, moved<WIDTH>(shared.read(), part), read);
        if constexpr (C::DELTA) load(cta, moved<WIDTH>(shared.recalled(), part), recalled);
        load(cta, moved<WIDTH>(shared.written(), part), written);
        load(cta, moved<WIDTH>(shared.dq(), part), dq);
        load(cta, moved<WIDTH>(shared.dk(), part), dk);
        cta.wait_load();
        const int c = WIDTH * part + Part::column(cta, 0);
        float q[8], k[8];
        bool ignored = false;
        tokens.keys(call.q, i, c, q, ignored);
        tokens.keys(call.k, i, c, k, ignored);
        KC_UNROLL
        for (int y = 0; y < 8; ++y) {
            const float dq_read = call.scale * into * read.get(y);
            const float dk_written = out_of * written.get(y);
            float dk_recalled = 0.0f;
            if constexpr (C::DELTA) {
                dk_recalled = -beta * into * recalled.get(y);
                shared.dbeta -= into * recalled.get(y) * k[y];
            }
            dc += q[y] * dq_read + k[y] * (dk_recalled - dk_written);
            end += k[y] * dk_written;
            if (!tokens.exists(i)) continue;
            float& to_q = call.dq[tokens.key(i) + c + y];
            float& to_k = call.dk[tokens.key(i) + c + y];
            to_q = (first ? 0.0f : to_q) + (dq_read + dq.get(y));
            to_k = (first ? 0.0f : to_k) + (dk_written + dk_recalled + dk.get(y));
        }
    }
};

}  // namespace gdn
