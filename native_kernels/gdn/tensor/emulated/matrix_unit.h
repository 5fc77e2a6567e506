// Whole tiles through the matrix unit (unit.h), with loops that compile to vector code.
#pragma once

#include <vector>

#include "../unit.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define KC_VECTORISED __attribute__((target_clones("avx2", "default"), optimize("O3")))
#else
#define KC_VECTORISED
#endif

namespace tensor::emulated {

// Elements of one operand, one array a field, so that loops over N become vector code.
struct Elements {
    std::vector<int32_t> magnitude, exponent, sign, special;
    bool any_special = false;

    void resize(size_t count) {
        for (auto* field : {&magnitude, &exponent, &sign, &special}) field->resize(count);
        any_special = false;
    }
    void set(size_t i, const unit::Element& x) {
        magnitude[i] = x.magnitude;
        exponent[i] = x.exponent;
        sign[i] = x.sign;
        special[i] = x.special;
        any_special |= x.special != 0;
    }
    unit::Element at(size_t i) const { return {magnitude[i], exponent[i], sign[i], special[i]}; }
};

namespace detail {

// The result when an infinite or NaN value is among the terms, or 0 when there is none.
inline uint32_t special_result(const Elements& a, size_t a_row, const Elements& b, size_t column, size_t n, int k, uint32_t d) {
    unit::Specials specials;
    specials.note_accumulator(d);
    for (int i = 0; i < k; ++i) {
        const unit::Element x = a.at(a_row + i), y = b.at(i * n + column);
        if (x.special || y.special) specials.note(x, y);
    }
    return specials.result();
}

// largest[n] = max over k of the exponents of the products; sum[n] = the cut products. k <= 16, so that the sum fits in 32 bits.
KC_VECTORISED inline void row_sums(const int32_t* a_magnitude, const int32_t* a_exponent, const int32_t* a_sign,
                                   const int32_t* __restrict b_magnitude, const int32_t* __restrict b_exponent,
                                   const int32_t* __restrict b_sign, int k, int n, int32_t* __restrict largest,
                                   int32_t* __restrict sum) {
    for (int i = 0; i < k; ++i) {
        if (a_magnitude[i] == 0) continue;
        const int32_t e = a_exponent[i];
        const int32_t* be = b_exponent + i * n;
        for (int j = 0; j < n; ++j) {
            const int32_t exponent = e + be[j];
            largest[j] = largest[j] < exponent ? exponent : largest[j];
        }
    }
    for (int j = 0; j < n; ++j) sum[j] = 0;
    for (int i = 0; i < k; ++i) {
        if (a_magnitude[i] == 0) continue;
        const int32_t m = a_magnitude[i] << (unit::KEPT_BITS - 20), e = a_exponent[i], s = a_sign[i];
        const int32_t *bm = b_magnitude + i * n, *be = b_exponent + i * n, *bs = b_sign + i * n;
        for (int j = 0; j < n; ++j) {
            int32_t distance = largest[j] - (e + be[j]);
            distance = distance > 31 ? 31 : distance;
            const int32_t term = (m * bm[j]) >> distance;
            const int32_t sign = s ^ bs[j];
            sum[j] += (term ^ sign) - sign;
        }
    }
}

}  // namespace detail

// D = A B (+ D). a: m x k, row by row; b: k x n, row by row; d: m x n float32 bits. k <= 16.
inline void multiply(const Elements& a, const Elements& b, int m, int n, int k, bool accumulate, uint32_t* d) {
    std::vector<int32_t> largest(n), sum(n);
    for (int i = 0; i < m; ++i) {
        uint32_t* row = d + static_cast<size_t>(i) * n;
        const size_t at = static_cast<size_t>(i) * k;
        if (!accumulate)
            for (int j = 0; j < n; ++j) row[j] = 0;
        for (int j = 0; j < n; ++j) largest[j] = unit::accumulator_exponent(row[j]);
        detail::row_sums(&a.magnitude[at], &a.exponent[at], &a.sign[at], b.magnitude.data(), b.exponent.data(), b.sign.data(), k, n,
                         largest.data(), sum.data());
        bool special = b.any_special;
        for (int t = 0; t < k; ++t) special |= a.special[at + t] != 0;
        for (int j = 0; j < n; ++j) {
            const bool d_special = (row[j] & 0x7F800000u) == 0x7F800000u;
            const uint32_t result = special || d_special ? detail::special_result(a, at, b, j, n, k, row[j]) : 0;
            row[j] = result ? result : unit::cut(sum[j] + unit::accumulator_term(row[j], largest[j]), largest[j]);
        }
    }
}

}  // namespace tensor::emulated
