// Stage 2: the state from chunk to chunk, and the output.
#pragma once

#include "poison.h"

namespace gdn {

// A key- or query-like operand that the scans multiply with a state: with a channel gate it has decayed, otherwise rows of the result do.
template <class C>
using ScanKeys = Pieces<typename C::Operand, C::CHANNEL ? C::VALUES : C::INPUTS, CHUNK, C::K>;

enum class Toward { START, END };  // how far a row has decayed: from the chunk's start to it, or from it to the chunk's end

template <class C, class Cta>
KC_FN void fill_keys(Cta& cta, ScanKeys<C> target, const Tokens<C>& tokens, const typename C::In* source, Toward toward, bool& bad) {
    fill(cta, target, [&](int row, int c, float(&x)[8]) {
        tokens.keys(source, row, c, x, bad);
        if constexpr (C::CHANNEL) {
            KC_UNROLL
            for (int d = 0; d < 8; ++d) {
                const float sum = tokens.sum(row, c + d);
                x[d] *= exponential(toward == Toward::START ? sum : tokens.sum(CHUNK - 1, c + d) - sum);
            }
        }
    });
}

// A 64 x 64 matrix of the chunk, as stage 1 left it.
template <class C, class Cta, class P>
KC_FN void fill_triangle(Cta& cta, P target, const Tokens<C>& tokens, const float* source) {
    fill(cta, target, [&](int row, int c, float(&x)[8]) {
        KC_UNROLL
        for (int j = 0; j < 8; ++j) x[j] = source[tokens.triangle(row) + c + j];
    });
}

// Stores a thread's part of a matrix from column first on, eight columns at a time.
template <class Cta, class P, class Part, class Value>
KC_FN void store_part(Cta& cta, P target, const Part&, Value value, int first = 0) {
    KC_UNROLL
    for (int x = 0; x < Part::COUNT; x += 8) {
        float values[8];
        KC_UNROLL
        for (int j = 0; j < 8; ++j) values[j] = value(x + j);
        target.store(cta, Part::row(cta), first + Part::column(cta, x), values);
    }
}

// Where the state of a sequence lies that comes from outside or goes there; d: key channel.
template <class C>
KC_FN size_t outer_state(const Call<typename C::In>& call, int sequence, int head, int d) {
    return ((static_cast<size_t>(sequence) * call.value_heads + head) * C::K + d) * call.value_dim;
}

// For each chunk in order: W = V - (G K) S, U = beta W + strict(A) (beta W), o = scale ((G Q) S + P U), S = G_last S + (R K)^T U.
// The state stays in Tensor Memory as float32. Grid: sequences, value heads, blocks of BV value columns.
template <class C>
struct Scan {
    using Params = Call<typename C::In>;
    using Keys = ScanKeys<C>;
    using Triangle = Pieces<typename C::Operand, C::VALUES, CHUNK, CHUNK>;
    using Values = Pieces<typename C::Operand, C::VALUES, CHUNK, C::BV>;
    using State = Pieces<typename C::Operand, C::VALUES, C::K, C::BV>;
    static constexpr uint32_t Q = 0;
    static constexpr uint32_t K = Q + Keys::BYTES;
    // Without a channel gate it is U, not K, that decays to the chunk's end.
    static constexpr uint32_t U_END = K + Keys::BYTES;
    static constexpr uint32_t U = U_END + (C::CHANNEL ? 0 : Values::BYTES);
    static constexpr uint32_t W = U + Values::BYTES;
    static constexpr uint32_t S = W + (C::DELTA ? Values::BYTES : 0);
    static constexpr uint32_t P = S + State::BYTES;
    static constexpr uint32_t A = P + Triangle::BYTES;
    static constexpr uint32_t DECAY = A + (C::DELTA ? Triangle::BYTES : 0);
    static constexpr uint32_t POISON = DECAY + Decay<C>::BYTES;
    static constexpr uint32_t BARRIER = POISON + Poison<C>::BYTES;
    static constexpr uint32_t SLOT = BARRIER + 8;
    static constexpr int SHARED_BYTES = SLOT + 8;
    static constexpr int THREADS = gdn::THREADS;
    static constexpr int SLICE = 32;  // columns of the state that a thread holds at a time
    static constexpr int SLICES = C::BV / SLICE;
    // The state, then (G K) S in the lower and (G Q) S in the upper lanes, then strict(A) W and P U alike.
    static constexpr int TENSOR_COLUMNS = C::BV == 64 ? 256 : 128;

    template <class Cta>
    KC_DEVICE static void run(Cta& cta, const Params& call) {
        using Part = Fragment<Cta, 64, C::BV>;
        using Slice = Fragment<Cta, C::K, SLICE>;
        const int sequence = cta.block(0), head = cta.block(1), column = cta.block(2) * C::BV;
        const int first_chunk = call.first_chunk[sequence], chunks = call.first_chunk[sequence + 1] - first_chunk;
        const Keys q{Q}, k{K};
        const Values u_operand{U}, u_end{C::CHANNEL ? U : U_END}, w_operand{W};
        const State state{S};
        const Triangle product{P}, inverse{A};
        const Decay<C> decay{DECAY};
        const Poison<C> poison{POISON};
        const uint32_t base = tensor::allocate<TENSOR_COLUMNS>(cta, SLOT);
        Completion done{BARRIER};
        tensor::prepare(cta, done);
        const auto carried = Accumulator<C::K, C::BV>::at(base, 0);
        const auto recalled = Accumulator<64, C::BV>::at(base, C::BV, 0), read = Accumulator<64, C::BV>::at(base, C::BV, 1);
        const auto solved = Accumulator<64, C::BV>::at(base, 2 * C::BV, 0), mixed = Accumulator<64, C::BV>::at(base, 2 * C::BV, 1);
        const int row = Part::row(cta), d = Slice::row(cta);

        // The state lives in Tensor Memory; registers hold a slice of it while it is read.
        GDN_LOOP
        for (int slice = 0; slice < SLICES; ++slice) {
            Slice held;
            KC_UNROLL
            for (int x = 0; x < Slice::COUNT; ++x) {
                const size_t place = outer_state<C>(call, sequence, head, d) + column + SLICE * slice + Slice::column(cta, x);
                held.set(x, call.initial == nullptr ? 0.0f : call.initial[place]);
            }
            store(cta, moved<SLICE>(carried, slice), held);
        }
        cta.wait_store();
        for (int index = 0; index < chunks; ++index) {
            cta.sync();  // all threads are done with the vectors of the chunk before
            const Tokens<C> tokens{call, span_of(call, first_chunk + index), head};
            bool bad = false;
            decay.fill(cta, tokens, bad);
            const float beta = tokens.beta(row, bad);
            fill_keys<C>(cta, q, tokens, call.q, Toward::START, bad);
            fill_keys<C>(cta, k, tokens, call.k, C::DELTA ? Toward::START : Toward::END, bad);
            if constexpr (C::CHANNEL) {
                GDN_LOOP
                for (int t = 0; t < CHUNK; ++t) tokens.gate(t, d, bad);
            }
            fill_triangle<C>(cta, product, tokens, call.product);
            if constexpr (C::DELTA) fill_triangle<C>(cta, inverse, tokens, call.inverse);
            // Whether v is finite; it is read again where it is needed, since there are no registers to keep it in until then.
            GDN_LOOP
            for (int x = 0; x < Part::COUNT; x += 8) {
                float v[8];
                tokens.values(call.v, row, column + Part::column(cta, x), v, bad);
            }
            cta.sync();

            // The state: as it is to memory, as operand to shared memory, decayed back to Tensor Memory.
            uint64_t bad_state = 0;
            GDN_LOOP
            for (int slice = 0; slice < SLICES; ++slice) {
                Slice held;
                load(cta, moved<SLICE>(carried, slice), held);
                cta.wait_load();
                KC_UNROLL
                for (int x = 0; x < Slice::COUNT; ++x) {
                    const int c = column + SLICE * slice + Slice::column(cta, x);
                    if (!finite(held.get(x))) bad_state |= 1ull << (c - column);
                    if (call.states != nullptr) call.states[tokens.state(d) + c] = held.get(x);
                }
                store_part(cta, state, held, [&](int x) { return finite(held.get(x)) ? held.get(x) : 0.0f; }, SLICE * slice);
            }
            const float across = C::CHANNEL ? exponential(tokens.sum(CHUNK - 1, d)) : decay.across(cta);

            const bool repair = cta.sync_or(bad || bad_state != 0);
            uint64_t lost = 0;       // of the thread's row of the output
            bool rest_lost = false;  // all columns of the thread's row of the state
            if (repair) {
                poison.look_at_rows(cta, tokens);
                poison.look_at_columns(cta, tokens, call.v, column, false);
                poison.look_at_keys(cta, tokens, call.k);
                bad_state = bad_columns<C::BV>(cta, bad_state);
                const int first = poison.first(cta, C::DELTA ? K_BAD | G_BAD | BETA_BAD : K_BAD | G_BAD);
                const bool own = (poison.row(cta, row) & Q_BAD) != 0;
                for (int c = 0; c < C::BV; ++c) {
                    const int from = poison.column(cta, c) < first ? poison.column(cta, c) : first;
                    if (own || (bad_state >> c & 1) || row >= from) lost |= 1ull << c;
                }
                rest_lost = C::DELTA ? first < CHUNK : poison.key(cta, d);
            }
            GDN_LOOP
            for (int slice = 0; slice < SLICES; ++slice) {
                Slice held;
                load(cta, moved<SLICE>(carried, slice), held);
                cta.wait_load();
                KC_UNROLL
                for (int x = 0; x < Slice::COUNT; ++x) {
                    const int c = SLICE * slice + Slice::column(cta, x);
                    held.set(x, across * held.get(x));
                    if (repair && (rest_lost || poison.column(cta, c) < CHUNK || (C::DELTA && (bad_state >> c & 1)))) held.set(x, nan());
                }
                store(cta, moved<SLICE>(carried, slice), held);
            }
            tensor::publish(cta);

            if constexpr (C::DELTA) multiply<ByRows, ByColumns>(cta, recalled, k, state);
            multiply<ByRows, ByColumns>(cta, read, q, state);
            tensor::finish(cta, done);
            Part part;
            float u[Part::COUNT];
            KC_UNROLL
            for (int x = 0; x < Part::COUNT; x += 8) {
                float v[8];
                tokens.values(call.v, row, column + Part::column(cta, x), v, bad);
                KC_UNROLL
                for (int j = 0; j < 8; ++j) u[x + j] = v[j];
            }
            const float into = decay.into(cta, row), out_of = decay.out_of(cta, row);
            if constexpr (C::DELTA) {
                load(cta, recalled, part);
                cta.wait_load();
                KC_UNROLL
                for (int x = 0; x < Part::COUNT; ++x) u[x] = beta * (u[x] - into * part.get(x));
                store_part(cta, w_operand, part, [&](int x) { return u[x]; });
                tensor::publish(cta);
                multiply<ByRows, ByColumns>(cta, solved, inverse, w_operand);
                tensor::finish(cta, done);
                load(cta, solved, part);
                cta.wait_load();
                KC_UNROLL
                for (int x = 0; x < Part::COUNT; ++x) u[x] += part.get(x);
            }
            if constexpr (C::CHANNEL && C::DELTA) fill_keys<C>(cta, k, tokens, call.k, Toward::END, bad);
            store_part(cta, u_operand, part, [&](int x) { return u[x]; });
            if constexpr (!C::CHANNEL) store_part(cta, u_end, part, [&](int x) { return out_of * u[x]; });
            if (call.written != nullptr && tokens.exists(row)) {
                KC_UNROLL
                for (int x = 0; x < Part::COUNT; ++x) call.written[tokens.value(row) + column + Part::column(cta, x)] = u[x];
            }
            tensor::publish(cta);
            multiply<ByColumns, ByColumns>(cta, carried, k, u_end, true);
            multiply<ByRows, ByColumns>(cta, mixed, product, u_operand);
            tensor::finish(cta, done);

            Part more;
            load(cta, read, part);
            load(cta, mixed, more);
            cta.wait_load();
            if (call.out != nullptr && tokens.exists(row)) {
                KC_UNROLL
                for (int x = 0; x < Part::COUNT; ++x) {
                    const int c = Part::column(cta, x);
                    const float o = call.scale * (into * part.get(x) + more.get(x));
                    call.out[tokens.value(row) + column + c] = tensor::rounded<typename C::In>((lost >> c & 1) ? nan() : o);
                }
            }
        }
        GDN_LOOP
        for (int slice = 0; call.final != nullptr && slice < SLICES; ++slice) {
            Slice held;
            load(cta, moved<SLICE>(carried, slice), held);
            cta.wait_load();
            KC_UNROLL
            for (int x = 0; x < Slice::COUNT; ++x)
                call.final[outer_state<C>(call, sequence, head, d) + column + SLICE * slice + Slice::column(cta, x)] = held.get(x);
        }
        tensor::release<TENSOR_COLUMNS>(cta, base);
    }
};

}  // namespace gdn
