// Stage 1, for each chunk and value head by itself: gated products of queries and keys, and the triangular inverse.
#pragma once

#include "channel.h"
#include "inverse.h"

namespace gdn {

// Writes product = tril(Q K^T, gated) and, with the delta rule, inverse = strict part of (I + beta strict(K K^T, gated))^-1; with a channel
// gate also its running sums. Grid: chunks, value heads.
template <class C>
struct Prepare {
    using Params = Call<typename C::In>;
    using Keys = Pieces<typename C::Operand, C::CHANNEL ? C::VALUES : C::INPUTS, CHUNK, C::K>;
    static constexpr uint32_t Q = 0;
    static constexpr uint32_t K = Q + Keys::BYTES;
    // With a channel gate: keys that have decayed to the row before a block.
    static constexpr uint32_t EARLIER = K + Keys::BYTES;
    static constexpr uint32_t STRICT = EARLIER + (C::CHANNEL ? Keys::BYTES : 0);
    static constexpr uint32_t RESULT = STRICT + Square::BYTES;
    static constexpr uint32_t WORK = RESULT + Square::BYTES;
    static constexpr uint32_t DECAY = WORK + Square::BYTES;
    static constexpr uint32_t BETA = DECAY + Decay<C>::BYTES;
    static constexpr uint32_t BARRIER = BETA + 4 * CHUNK;
    static constexpr uint32_t SLOT = BARRIER + 8;
    static constexpr int SHARED_BYTES = SLOT + 8;
    static constexpr int THREADS = gdn::THREADS;
    static constexpr int TENSOR_COLUMNS = 64;  // Q K^T in the upper lanes, K K^T in the lower ones

    template <class Cta>
    KC_DEVICE static void run(Cta& cta, const Params& call) {
        const Tokens<C> tokens{call, span_of(call, cta.block(0)), cta.block(1)};
        const Decay<C> decay{DECAY};
        const Square strict{STRICT}, result{RESULT}, work{WORK};
        const uint32_t base = tensor::allocate<TENSOR_COLUMNS>(cta, SLOT);
        Completion done{BARRIER};
        tensor::prepare(cta, done);
        const auto kk = Accumulator<64, 64>::at(base, 0, 0), qk = Accumulator<64, 64>::at(base, 0, 1);
        bool bad = false;  // what is not finite counts as 0 here; the kernels that write results see to it
        decay.fill(cta, tokens, bad);
        if (cta.thread() < CHUNK) cta.template shared_store<float>(BETA + 4 * cta.thread(), tokens.beta(cta.thread(), bad));

        if constexpr (C::CHANNEL) {
            running_sums(cta, tokens);
            const ChannelKeys<C> keys{Q, K, EARLIER};
            keys.fill_later(cta, tokens);
            diagonal(cta, tokens, strict);
            for (int block = 1; block < CHUNK / BLOCK; ++block) {
                keys.fill_earlier(cta, tokens, block);
                tensor::publish(cta);
                multiply<ByRows, ByRows>(cta, qk, keys.q(), keys.earlier());
                if constexpr (C::DELTA) multiply<ByRows, ByRows>(cta, kk, keys.k(), keys.earlier());
                tensor::finish(cta, done);
                if (cta.warp() == block) write(cta, tokens, decay, strict, kk, qk, 0, block * BLOCK);
                cta.sync();
            }
        } else {
            const Keys q{Q}, k{K};
            gdn::fill(cta, q, [&](int row, int c, float(&x)[8]) { tokens.keys(call.q, row, c, x, bad); });
            gdn::fill(cta, k, [&](int row, int c, float(&x)[8]) { tokens.keys(call.k, row, c, x, bad); });
            tensor::publish(cta);
            multiply<ByRows, ByRows>(cta, qk, q, k);
            if constexpr (C::DELTA) multiply<ByRows, ByRows>(cta, kk, k, k);
            tensor::finish(cta, done);
            write(cta, tokens, decay, strict, kk, qk, 0, CHUNK);
        }
        tensor::release<TENSOR_COLUMNS>(cta, base);

        if constexpr (C::DELTA) {
            cta.sync();
            invert(cta, strict, result, work);
            for (int index = cta.thread(); index < CHUNK * CHUNK; index += THREADS) {
                const int i = index / CHUNK, j = index % CHUNK;
                call.inverse[tokens.triangle(i) + j] = j < i ? result.get(cta, i, j) : 0.0f;
            }
        }
    }

    // A thread's part of the two products, gated. With a channel gate the columns before a block of rows alone are meant, and the rest of
    // the row is left to diagonal().
    template <class Cta>
    KC_DEVICE static void write(
        Cta& cta, const Tokens<C>& tokens, const Decay<C>& decay, Square strict, Accumulator<64, 64> kk, Accumulator<64, 64> qk, int first,
        int last) {
        using Part = Fragment<Cta, 64, 64>;
        const int i = Part::row(cta);
        const float beta = cta.template shared_load<float>(BETA + 4 * i);
        Part a, b;
        if constexpr (C::DELTA) load(cta, kk, a);
        load(cta, qk, b);
        cta.wait_load();
        KC_UNROLL
        for (int x = 0; x < Part::COUNT; ++x) {
            const int j = Part::column(cta, x);
            if (j < first || j >= last) continue;
            const float factor = j <= i ? (C::CHANNEL ? 1.0f : decay.between(cta, i, j)) : 0.0f;
            tokens.call.product[tokens.triangle(i) + j] = j <= i ? b.get(x) * factor : 0.0f;
            if constexpr (C::DELTA) {
                if (j < i) strict.set(cta, i, j, beta * a.get(x) * factor);
            }
        }
    }

    // With a channel gate: running sums, in double so that their rounding is that of the result.
    template <class Cta>
    KC_DEVICE static void running_sums(Cta& cta, const Tokens<C>& tokens) {
        bool bad = false;
        if (cta.thread() < C::K) {
            double sum = 0.0;
            for (int row = 0; row < tokens.span.length; ++row) {
                sum += tokens.gate(row, cta.thread(), bad);
                tokens.call.sums[tokens.scalar(row) * C::K + cta.thread()] = static_cast<float>(sum);
            }
        }
        cta.sync();
    }

    // With a channel gate: the blocks on the diagonal, term by term, and zeros to the right of them. Two threads a row.
    template <class Cta>
    KC_DEVICE static void diagonal(Cta& cta, const Tokens<C>& tokens, Square strict) {
        const int i = Fragment<Cta, 64, 64>::row(cta), side = cta.lane() / 16, first = i / BLOCK * BLOCK;
        const float beta = cta.template shared_load<float>(BETA + 4 * i);
        bool bad = false;
        for (int j = first + 8 * side; j < first + 8 * side + 8; ++j) {
            float qk = 0.0f, kk = 0.0f;
            for (int c = 0; j <= i && c < C::K; c += 8) {
                float q[8], k[8], earlier[8];
                tokens.keys(tokens.call.q, i, c, q, bad);
                tokens.keys(tokens.call.k, i, c, k, bad);
                tokens.keys(tokens.call.k, j, c, earlier, bad);
                KC_UNROLL
                for (int d = 0; d < 8; ++d) {
                    const float term = earlier[d] * exponential(tokens.sum(i, c + d) - tokens.sum(j, c + d));
                    qk += q[d] * term;
                    kk += k[d] * term;
                }
            }
            tokens.call.product[tokens.triangle(i) + j] = qk;
            if (C::DELTA && j < i) strict.set(cta, i, j, beta * kk);
        }
        for (int j = first + BLOCK + side; j < CHUNK; j += 2) tokens.call.product[tokens.triangle(i) + j] = 0.0f;
    }
};

}  // namespace gdn
