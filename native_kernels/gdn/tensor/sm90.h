// The backend for Hopper (sm_90a; sm_80 and later compile it too): products by mma.sync, which sums as tcgen05.mma does. Each of the first
// four warps computes the rows of its own quarter. Tensor Memory is global memory, which for one CTA fits in the L2 cache.
#pragma once

#if defined(__CUDACC__)

#include <type_traits>

#include "collective.h"

namespace tensor::sm90 {

// d (16 x 8) += a (16 x 16, or x 8 for tf32) b, in the fragments of mma.sync.
template <class T>
KC_DEVICE void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    if constexpr (std::is_same_v<T, Tf32>)
        asm volatile(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else if constexpr (std::is_same_v<T, Bf16>)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

struct Cta : CollectiveCta {
    using CollectiveCta::CollectiveCta;

    template <int M, int N, class A, class B>
    KC_DEVICE void product(Accumulator<M, N> d, A a, B b, bool accumulate, bool negate) {
        if (thread() >= 128) return;
        __syncwarp();
        KC_NO_UNROLL
        for (int half = 0; half < M / 64; ++half) {
            const int row = warp() * (M / 4) + half * 16;
            KC_NO_UNROLL
            for (int n = 0; n + BLOCK <= N; n += BLOCK) slab<M, BLOCK>(d.address, a, b, row, n, accumulate, negate);
            if constexpr (N % BLOCK != 0) slab<M, N % BLOCK>(d.address, a, b, row, N / BLOCK * BLOCK, accumulate, negate);
        }
        __syncwarp();
    }

   private:
    static constexpr int BLOCK = 64;  // columns at a time: half as many registers

    // Rows first_row to first_row + 15, columns n to n + COUNT - 1.
    template <int M, int COUNT, class A, class B>
    KC_DEVICE void slab(uint32_t d, A a, B b, int first_row, int n, bool accumulate, bool negate) {
        using T = typename A::Element;
        const int group = lane() / 4, pair = lane() % 4;
        uint32_t* const rows[2] = {word(d, lane_of_row<M>(first_row + group), n + 2 * pair),
                                   word(d, lane_of_row<M>(first_row + group + 8), n + 2 * pair)};
        float sums[COUNT / 8][4];
        KC_UNROLL
        for (int i = 0; i < COUNT / 8; ++i)
            KC_UNROLL
            for (int j = 0; j < 4; ++j)
                sums[i][j] = accumulate ? bits_float(rows[j / 2][8 * i + j % 2]) : 0.0f;
        KC_NO_UNROLL
        for (int step = 0; step < A::K / A::K_STEP; ++step) {
            uint32_t left[4];
            load_left<M>(a, first_row, step * A::K_STEP, left);
            if (negate) {
                KC_UNROLL
                for (uint32_t& x : left) x ^= sizeof(T) == 4 ? 0x80000000u : 0x80008000u;
            }
            KC_UNROLL
            for (int i = 0; i < COUNT / 8; ++i) {
                uint32_t right[2];
                load_right(b, n + 8 * i, step * A::K_STEP, right);
                multiply<T>(sums[i], left, right);
            }
        }
        KC_UNROLL
        for (int i = 0; i < COUNT / 8; ++i)
            KC_UNROLL
            for (int j = 0; j < 4; ++j)
                rows[j / 2][8 * i + j % 2] = float_bits(sums[i][j]);
    }

    // A's 16 rows of one K step as mma.sync wants them: rows g and g + 8, the first and the second half of K.
    template <int M, class A>
    KC_DEVICE void load_left(A a, int first_row, int k, uint32_t (&left)[4]) {
        using T = typename A::Element;
        const int group = lane() / 4, pair = lane() % 4;
        if constexpr (!A::IN_SHARED) {
            const int column = k * static_cast<int>(sizeof(T)) / 4 + pair;
            KC_UNROLL
            for (int i = 0; i < 4; ++i) left[i] = *word(a.address, lane_of_row<M>(first_row + group + i % 2 * 8), column + i / 2 * 4);
        } else if constexpr (sizeof(T) == 4) {
            KC_UNROLL
            for (int i = 0; i < 4; ++i) left[i] = shared_load<uint32_t>(a.at(first_row + group + i % 2 * 8, k + pair + i / 2 * 4));
        } else {
            const int part = lane() / 8, line = lane() % 8;
            const int row = first_row + part % 2 * 8 + (A::MN_MAJOR ? 0 : line), column = k + part / 2 * 8 + (A::MN_MAJOR ? line : 0);
            const uint32_t address = shared_base() + a.at(row, column);
            if constexpr (A::MN_MAJOR)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(left[0]), "=r"(left[1]), "=r"(left[2]), "=r"(left[3])
                             : "r"(address));
            else
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(left[0]), "=r"(left[1]), "=r"(left[2]), "=r"(left[3])
                             : "r"(address));
        }
    }

    // B's 8 columns of one K step.
    template <class B>
    KC_DEVICE void load_right(B b, int n, int k, uint32_t (&right)[2]) {
        using T = typename B::Element;
        if constexpr (sizeof(T) == 4) {
            KC_UNROLL
            for (int i = 0; i < 2; ++i) right[i] = shared_load<uint32_t>(b.at(n + lane() / 4, k + lane() % 4 + 4 * i));
        } else {
            const int part = lane() / 8 % 2, line = lane() % 8;
            const uint32_t address = shared_base() + b.at(n + (B::MN_MAJOR ? 0 : line), k + part * 8 + (B::MN_MAJOR ? line : 0));
            if constexpr (B::MN_MAJOR)
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                             : "=r"(right[0]), "=r"(right[1])
                             : "r"(address));
            else
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                             : "=r"(right[0]), "=r"(right[1])
                             : "r"(address));
        }
    }
};

}  // namespace tensor::sm90

#endif
