// The backend for any CUDA card: products by the emulated arithmetic of unit.h, bit for bit what the matrix unit gives. It checks nothing;
// the emulator on the host does that.
#pragma once

#if defined(__CUDACC__)

#include "collective.h"
#include "unit.h"

namespace tensor::software {

struct Cta : CollectiveCta {
    using CollectiveCta::CollectiveCta;

    // Each thread computes what it would hold as a Fragment: one row, all or half of its columns.
    template <int M, int N, class A, class B>
    KC_DEVICE void product(Accumulator<M, N> d, A a, B b, bool accumulate, bool negate) {
        if (thread() >= 128) return;
        using T = typename A::Element;
        constexpr int K = A::K_STEP;
        const int row = M == 128 ? thread() : thread() / 32 * 16 + thread() % 16;
        const int first = M == 128 || lane() < 16 ? 0 : N / 2, count = M == 128 ? N : N / 2;
        const int d_lane = lane_of_row<M>(row);
        __syncwarp();
        KC_NO_UNROLL
        for (int step = 0; step < A::K / K; ++step) {
            unit::Element left[K];
            KC_UNROLL
            for (int k = 0; k < K; ++k) {
                left[k] = element(a, row, step * K + k);
                if (negate) left[k].sign = ~left[k].sign;
            }
            KC_NO_UNROLL
            for (int j = first; j < first + count; ++j) {
                unit::Element right[K];
                KC_UNROLL
                for (int k = 0; k < K; ++k) right[k] = unit::decoded(FormatOf<T>::VALUE, bits_of(shared_load<T>(b.at(j, step * K + k))));
                uint32_t& cell = *word(d.address, d_lane, j);
                cell = unit::sum_of_products(left, right, accumulate || step ? cell : 0u);
            }
        }
        __syncwarp();
    }

   private:
    template <class T>
    KC_DEVICE static uint32_t bits_of(T x) {
        return x.bits;
    }

    template <class A>
    KC_DEVICE unit::Element element(A a, int row, int k) {
        using T = typename A::Element;
        if constexpr (A::IN_SHARED) {
            return unit::decoded(FormatOf<T>::VALUE, bits_of(shared_load<T>(a.at(row, k))));
        } else {
            const uint32_t bits = *word(a.address, lane_of_row<A::M>(row), sizeof(T) == 4 ? k : k / 2);
            return unit::decoded(FormatOf<T>::VALUE, sizeof(T) == 4 ? bits : k % 2 ? bits >> 16 : bits & 0xFFFFu);
        }
    }
};

}  // namespace tensor::software

#endif
