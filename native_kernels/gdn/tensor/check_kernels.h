// Kernels by which a card's backends are compared with the emulator, bit for bit.
#pragma once

#include "api.h"

namespace tensor::check {

struct Operands {
    const float* a;   // M x K, or K x M if A is contracted over its rows
    const float* b;   // N x K, or K x N
    const float* d0;  // M x N
    float* d;         // M x N: A B + d0
    float* o;         // M x K: d, rounded and handed on in Tensor Memory, times B^T (16-bit formats)
};

// Layouts, transpositions, accumulation, and operand A in Tensor Memory. *_BY_ROWS: contracted over columns.
template <class T, int M, int N, int K, bool A_BY_ROWS, bool B_BY_ROWS>
struct ProductKernel {
    using Params = Operands;
    static constexpr bool WIDE = sizeof(T) == 4;
    static constexpr Swizzle swizzle(bool by_rows) { return WIDE && !by_rows ? Swizzle::B128_ATOM32 : Swizzle::B128; }
    using A = SharedMatrix<T, A_BY_ROWS ? M : K, A_BY_ROWS ? K : M, swizzle(A_BY_ROWS)>;
    using B = SharedMatrix<T, B_BY_ROWS ? N : K, B_BY_ROWS ? K : N, swizzle(B_BY_ROWS)>;
    static constexpr uint32_t B_OFFSET = A::BYTES, SLOT = B_OFFSET + B::BYTES, BARRIER = SLOT + 8;
    static constexpr int THREADS = 128;
    static constexpr int SHARED_BYTES = BARRIER + 8;
    static constexpr int TENSOR_COLUMNS = 256;
    static constexpr int PART = N < 64 ? N : 64;  // columns that a thread holds at once
    static_assert(B_OFFSET % 1024 == 0 && N <= 128 && K <= 64);

    template <class Cta, class Matrix>
    KC_DEVICE static void fill(Cta& cta, Matrix matrix, const float* source) {
        for (int i = cta.thread(); i < Matrix::ROWS * Matrix::COLS; i += cta.threads())
            matrix.store(cta, i / Matrix::COLS, i % Matrix::COLS, rounded<T>(source[i]));
    }

    template <bool BY_ROWS, class Matrix>
    KC_DEVICE static auto operand(Matrix matrix) {
        if constexpr (BY_ROWS)
            return rows(matrix);
        else
            return columns(matrix);
    }

    template <int FIRST, class Cta>
    KC_DEVICE static void begin(Cta& cta, Accumulator<M, N> d, const Params& params) {
        Fragment<Cta, M, PART> x;
        KC_UNROLL
        for (int j = 0; j < x.COUNT; ++j) x.set(j, params.d0[x.row(cta) * N + FIRST + x.column(cta, j)]);
        store(cta, d.template part<FIRST, PART>(), x);
    }

    template <int FIRST, class Cta>
    KC_DEVICE static void hand_on(Cta& cta, Accumulator<M, N> d, uint32_t base, const Params& params) {
        Fragment<Cta, M, PART> x;
        load(cta, d.template part<FIRST, PART>(), x);
        cta.wait_load();
        KC_UNROLL
        for (int j = 0; j < x.COUNT; ++j) params.d[x.row(cta) * N + FIRST + x.column(cta, j)] = x.get(j);
        if constexpr (!WIDE) store(cta, TensorOperand<T, M, PART>::at(base, 192 + FIRST / 2), x);
    }

    template <class Cta>
    KC_DEVICE static void run(Cta& cta, const Params& params) {
        const A a{0};
        const B b{B_OFFSET};
        const uint32_t base = allocate<TENSOR_COLUMNS>(cta, SLOT);
        Completion done{BARRIER};
        prepare(cta, done);
        fill(cta, a, params.a);
        fill(cta, b, params.b);
        const auto d = Accumulator<M, N>::at(base, 0);
        begin<0>(cta, d, params);
        if constexpr (N > PART) begin<PART>(cta, d, params);
        publish(cta);
        Product add;
        add.accumulate = true;
        product(cta, d, operand<A_BY_ROWS>(a), operand<B_BY_ROWS>(b), add);
        finish(cta, done);
        hand_on<0>(cta, d, base, params);
        if constexpr (N > PART) hand_on<PART>(cta, d, base, params);
        if constexpr (!WIDE) {
            publish(cta);
            const auto o = Accumulator<M, K>::at(base, 128);
            Product minus;
            minus.negate_a = true;
            product(cta, o, TensorOperand<T, M, N>::at(base, 192), operand<!B_BY_ROWS>(b), minus);
            finish(cta, done);
            Fragment<Cta, M, K> x;
            load(cta, o, x);
            cta.wait_load();
            KC_UNROLL
            for (int j = 0; j < x.COUNT; ++j) params.o[x.row(cta) * K + x.column(cta, j)] = x.get(j);
        }
        release<TENSOR_COLUMNS>(cta, base);
    }
};

// Calls f(name, kernel) for each kernel of the comparison.
template <class F>
void for_each_kernel(F f) {
    f("bf16 64x64x64 A rows, B rows", ProductKernel<Bf16, 64, 64, 64, true, true>{});
    f("bf16 64x64x64 A rows, B columns", ProductKernel<Bf16, 64, 64, 64, true, false>{});
    f("bf16 64x64x64 A columns, B rows", ProductKernel<Bf16, 64, 64, 64, false, true>{});
    f("bf16 128x128x64 A columns, B columns", ProductKernel<Bf16, 128, 128, 64, false, false>{});
    f("fp16 64x128x64 A rows, B columns", ProductKernel<Fp16, 64, 128, 64, true, false>{});
    f("fp16 128x64x64 A rows, B rows", ProductKernel<Fp16, 128, 64, 64, true, true>{});
    f("tf32 64x64x64 A rows, B rows", ProductKernel<Tf32, 64, 64, 64, true, true>{});
    f("tf32 128x32x32 A columns, B columns", ProductKernel<Tf32, 128, 32, 32, false, false>{});
}

}  // namespace tensor::check
