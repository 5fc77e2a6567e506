// Stage 3: the gradient of the state from chunk to chunk, backwards, and the gradient of v.
#pragma once

#include "scan.h"

namespace gdn {

// For each chunk from the last to the first: dU = scale P^T dout + (R K) dS, lam = dU + strict(A)^T dU, dv = beta lam,
// dS = G_last dS + scale (G Q)^T dout - (G K)^T (beta lam).
// dS stays in Tensor Memory as float32. Grid: sequences, value heads, blocks of BV value columns.
template <class C>
struct ReverseScan {
    using Params = Call<typename C::In>;
    using Keys = ScanKeys<C>;
    using Triangle = Pieces<typename C::Operand, C::VALUES, CHUNK, CHUNK>;
    using Inputs = Pieces<typename C::Operand, C::INPUTS, CHUNK, C::BV>;
    using Values = Pieces<typename C::Operand, C::VALUES, CHUNK, C::BV>;
    using State = Pieces<typename C::Operand, C::VALUES, C::K, C::BV>;
    static constexpr uint32_t Q = 0;
    static constexpr uint32_t K = Q + Keys::BYTES;
    static constexpr uint32_t DO = K + Keys::BYTES;
    static constexpr uint32_t DO_START = DO + Inputs::BYTES;  // scale dout, decayed to the chunk's start
    static constexpr uint32_t DU = DO_START + Values::BYTES;
    static constexpr uint32_t LAM = DU + (C::DELTA ? Values::BYTES : 0);
    static constexpr uint32_t DS = LAM + (C::DELTA ? Values::BYTES : 0);
    static constexpr uint32_t P = DS + State::BYTES;
    static constexpr uint32_t A = P + Triangle::BYTES;
    static constexpr uint32_t DECAY = A + (C::DELTA ? Triangle::BYTES : 0);
    static constexpr uint32_t POISON = DECAY + Decay<C>::BYTES;
    static constexpr uint32_t BARRIER = POISON + Poison<C>::BYTES;
    static constexpr uint32_t SLOT = BARRIER + 8;
    static constexpr int SHARED_BYTES = SLOT + 8;
    static constexpr int THREADS = gdn::THREADS;
    static constexpr int SLICE = 32;  // columns of the state that a thread holds at a time
    static constexpr int SLICES = C::BV / SLICE;
    // dS, then P^T dout in the lower and (R K) dS in the upper lanes, then strict(A)^T dU.
    static constexpr int TENSOR_COLUMNS = C::BV == 64 ? 256 : 128;

    template <class Cta>
    KC_DEVICE static void run(Cta& cta, const Params& call) {
        using Part = Fragment<Cta, 64, C::BV>;
        using Slice = Fragment<Cta, C::K, SLICE>;
        const int sequence = cta.block(0), head = cta.block(1), column = cta.block(2) * C::BV;
        const int first_chunk = call.first_chunk[sequence], chunks = call.first_chunk[sequence + 1] - first_chunk;
        const Keys q{Q}, k{K};
        const Inputs dout{DO};
        const Values dout_start{DO_START}, du_operand{DU}, lam_operand{LAM};
        const State dstate{DS};
        const Triangle product{P}, inverse{A};
        const Decay<C> decay{DECAY};
        const Poison<C> poison{POISON};
        const uint32_t base = tensor::allocate<TENSOR_COLUMNS>(cta, SLOT);
        Completion done{BARRIER};
        tensor::prepare(cta, done);
        const auto carried = Accumulator<C::K, C::BV>::at(base, 0);
        const auto from_output = Accumulator<64, C::BV>::at(base, C::BV, 0), from_state = Accumulator<64, C::BV>::at(base, C::BV, 1);
        const auto solved = Accumulator<64, C::BV>::at(base, 2 * C::BV, 0);
        const int row = Part::row(cta), d = Slice::row(cta);

        // The state lives in Tensor Memory; registers hold a slice of it while it is read.
        GDN_LOOP
        for (int slice = 0; slice < SLICES; ++slice) {
            Slice held;
            KC_UNROLL
            for (int x = 0; x < Slice::COUNT; ++x) {
                const size_t place = outer_state<C>(call, sequence, head, d) + column + SLICE * slice + Slice::column(cta, x);
                held.set(x, call.dfinal == nullptr ? 0.0f : call.dfinal[place]);
            }
            store(cta, moved<SLICE>(carried, slice), held);
        }
        cta.wait_store();
        for (int index = chunks - 1; index >= 0; --index) {
            cta.sync();
            const Tokens<C> tokens{call, span_of(call, first_chunk + index), head};
            bool bad = false;
            decay.fill(cta, tokens, bad);
            cta.sync();
            const float beta = tokens.beta(row, bad);
            fill_keys<C>(cta, q, tokens, call.q, Toward::START, bad);
            fill_keys<C>(cta, k, tokens, call.k, Toward::END, bad);
            if constexpr (C::CHANNEL) {
                GDN_LOOP
                for (int t = 0; t < CHUNK; ++t) tokens.gate(t, d, bad);
            }
            fill_triangle<C>(cta, product, tokens, call.product);
            if constexpr (C::DELTA) fill_triangle<C>(cta, inverse, tokens, call.inverse);
            gdn::fill(cta, dout, [&](int t, int c, float(&x)[8]) { tokens.values(call.dout, t, column + c, x, bad); });
            gdn::fill(cta, dout_start, [&](int t, int c, float(&x)[8]) {
                tokens.values(call.dout, t, column + c, x, bad);
                const float factor = call.scale * decay.into(cta, t);
                KC_UNROLL
                for (int j = 0; j < 8; ++j) x[j] *= factor;
            });

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
                    call.dstates[tokens.state(d) + c] = held.get(x);
                }
                store_part(cta, dstate, held, [&](int x) { return finite(held.get(x)) ? held.get(x) : 0.0f; }, SLICE * slice);
            }
            const float across = C::CHANNEL ? exponential(tokens.sum(CHUNK - 1, d)) : decay.across(cta);

            const bool repair = cta.sync_or(bad || bad_state != 0);
            uint64_t lost = 0;        // of the thread's row of dv
            bool state_lost = false;  // all columns of the thread's row of the state
            if (repair) {
                poison.look_at_rows(cta, tokens);
                poison.look_at_columns(cta, tokens, call.dout, column, true);
                poison.look_at_keys(cta, tokens, call.q);
                bad_state = bad_columns<C::BV>(cta, bad_state);
                const int own = poison.last(cta, C::DELTA ? Q_BAD | K_BAD : Q_BAD);            // reaches its row and the rows before
                const int later = poison.last(cta, C::DELTA ? G_BAD | BETA_BAD : G_BAD);  // reaches the rows before it
                const bool row_lost = (poison.row(cta, row) & (C::DELTA ? BETA_BAD : K_BAD)) != 0 || row <= own || row < later;
                for (int c = 0; c < C::BV; ++c)
                    if (row_lost || row <= poison.column(cta, c) || (bad_state >> c & 1)) lost |= 1ull << c;
                state_lost = Poison<C>::gate_lost(tokens, 0, d);
                if (C::DELTA)
                    state_lost = state_lost || own >= 0 || later > 0 || (poison.row(cta, 0) & BETA_BAD) != 0;
                else
                    state_lost = state_lost || poison.key(cta, d);
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
                    if (repair && (state_lost || poison.column(cta, c) >= 0 || (C::DELTA && (bad_state >> c & 1)))) held.set(x, nan());
                }
                store(cta, moved<SLICE>(carried, slice), held);
            }
            tensor::publish(cta);

            multiply<ByColumns, ByColumns>(cta, from_output, product, dout);
            multiply<ByRows, ByColumns>(cta, from_state, k, dstate);
            multiply<ByColumns, ByColumns>(cta, carried, q, dout_start, true);
            tensor::finish(cta, done);
            Part part;
            float lam[Part::COUNT];
            const float into = decay.into(cta, row), out_of = decay.out_of(cta, row);
            load(cta, from_output, part);
            cta.wait_load();
            KC_UNROLL
            for (int x = 0; x < Part::COUNT; ++x) lam[x] = call.scale * part.get(x);
            load(cta, from_state, part);
            cta.wait_load();
            KC_UNROLL
            for (int x = 0; x < Part::COUNT; ++x) lam[x] += out_of * part.get(x);
            if constexpr (C::DELTA) {
                store_part(cta, du_operand, part, [&](int x) { return lam[x]; });
                tensor::publish(cta);
                multiply<ByColumns, ByColumns>(cta, solved, inverse, du_operand);
                tensor::finish(cta, done);
                load(cta, solved, part);
                cta.wait_load();
                KC_UNROLL
                for (int x = 0; x < Part::COUNT; ++x) lam[x] += part.get(x);
                if constexpr (C::CHANNEL) fill_keys<C>(cta, k, tokens, call.k, Toward::START, bad);
                store_part(cta, lam_operand, part, [&](int x) { return -beta * into * lam[x]; });
                tensor::publish(cta);
                multiply<ByColumns, ByColumns>(cta, carried, k, lam_operand, true);
                tensor::finish(cta, done);
            }
            if (tokens.exists(row)) {
                KC_UNROLL
                for (int x = 0; x < Part::COUNT; ++x) {
                    const int c = Part::column(cta, x);
                    call.adjoint[tokens.value(row) + column + c] = lam[x];
                    call.dv[tokens.value(row) + column + c] =
                        tensor::rounded<typename C::In>((lost >> c & 1) ? nan() : beta * lam[x]);
                }
            }
        }
        GDN_LOOP
        for (int slice = 0; call.dinitial != nullptr && slice < SLICES; ++slice) {
            Slice held;
            load(cta, moved<SLICE>(carried, slice), held);
            cta.wait_load();
            KC_UNROLL
            for (int x = 0; x < Slice::COUNT; ++x)
                call.dinitial[outer_state<C>(call, sequence, head, d) + column + SLICE * slice + Slice::column(cta, x)] = held.get(x);
        }
        tensor::release<TENSOR_COLUMNS>(cta, base);
    }
};

}  // namespace gdn
