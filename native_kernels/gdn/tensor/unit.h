// The arithmetic of one tcgen05.mma with float32 accumulators: a sum of all products of an instruction and the old accumulator, cut to 25
// bits below the largest exponent, then cut to float32.
//
// For one output: each product has the exponent raw(a) + raw(b), where raw() of a subnormal is the least normal exponent; a zero term is
// left out. With e the largest exponent among the products and the accumulator, every term is cut toward zero to a multiple of 2^(e-25),
// the sum is exact, and the result is cut toward zero to float32 with subnormals kept. An exact zero is +0. What is not a number gives
// 0x7FFFFFFF; a result too large is infinite.
#pragma once

#include "descriptor.h"

namespace tensor::unit {

constexpr uint32_t CANONICAL_NAN = 0x7FFFFFFFu;
constexpr uint32_t INFINITE = 0x7F800000u;
constexpr int KEPT_BITS = 25;  // below the largest exponent
constexpr int NO_EXPONENT = -100000;

// One operand element: (-1)^sign * magnitude * 2^(exponent - 10), or a special value.
struct Element {
    int32_t magnitude = 0;  // 11 bits, 0 for zero
    int32_t exponent = NO_EXPONENT;
    int32_t sign = 0;     // 0 or -1
    int32_t special = 0;  // 0 finite, 1 infinite, 2 not a number
};

// bits: the element as stored (16 bits, or 32 for tf32, whose lower 13 bits are not read).
KC_FN Element decoded(Format format, uint32_t bits) {
    const int fraction_bits = format == Format::BF16 ? 7 : 10;
    const int exponent_bits = format == Format::FP16 ? 5 : 8;
    if (format == Format::TF32) bits >>= 13;
    const int exponent_mask = (1 << exponent_bits) - 1;
    const int field = static_cast<int>(bits >> fraction_bits) & exponent_mask;
    const int fraction = static_cast<int>(bits) & ((1 << fraction_bits) - 1);
    Element x;
    x.sign = -static_cast<int>(bits >> (fraction_bits + exponent_bits) & 1u);
    if (field == exponent_mask) {
        x.special = fraction ? 2 : 1;
        return x;
    }
    x.magnitude = (field ? fraction | 1 << fraction_bits : fraction) << (10 - fraction_bits);
    if (x.magnitude) x.exponent = (field ? field : 1) - (exponent_mask >> 1);
    return x;
}

// The float32 sum * 2^(exponent - KEPT_BITS), cut toward zero.
KC_FN uint32_t cut(int64_t sum, int exponent) {
    if (sum == 0) return 0;
    const uint32_t sign = sum < 0 ? 0x80000000u : 0u;
    const uint64_t magnitude = static_cast<uint64_t>(sum < 0 ? -sum : sum);
    const int scale = exponent - KEPT_BITS;  // of the last bit of magnitude
#if defined(__CUDA_ARCH__)
    const int top = 63 - __clzll(static_cast<long long>(magnitude));
#else
    const int top = 63 - __builtin_clzll(magnitude);
#endif
    if (top + scale > 127) return sign | INFINITE;
    const int last = top + scale < -126 ? -149 : top + scale - 23;  // of the last bit of the result
    const int shift = scale - last;
    const uint64_t fraction = shift >= 0 ? magnitude << shift : -shift > 63 ? 0 : magnitude >> -shift;
    if (fraction == 0) return 0;
    const uint32_t field = top + scale < -126 ? 0u : static_cast<uint32_t>(top + scale + 127);
    return sign | field << 23 | (static_cast<uint32_t>(fraction) & 0x7FFFFFu);
}

// The accumulator as a term: value = mantissa * 2^(exponent - 23).
KC_FN int accumulator_exponent(uint32_t d) {
    if ((d & 0x7FFFFFFFu) == 0) return NO_EXPONENT;
    const int field = static_cast<int>(d >> 23 & 255u);
    return (field ? field : 1) - 127;
}

KC_FN int64_t accumulator_term(uint32_t d, int largest) {
    const int exponent = accumulator_exponent(d);
    if (exponent == NO_EXPONENT) return 0;
    const int64_t mantissa = (d & 0x7FFFFFu) | ((d >> 23 & 255u) ? 0x800000u : 0u);
    const int distance = largest - exponent;
    const int64_t term = distance > 62 ? 0 : mantissa << (KEPT_BITS - 23) >> distance;
    return d >> 31 ? -term : term;
}

// Infinite and NaN values among the terms of one output.
struct Specials {
    bool nan = false, positive = false, negative = false;

    // A product of which at least one factor is special.
    KC_FN void note(const Element& a, const Element& b) {
        const bool a_zero = !a.special && a.magnitude == 0, b_zero = !b.special && b.magnitude == 0;
        if (a.special == 2 || b.special == 2 || a_zero || b_zero)
            nan = true;
        else
            (a.sign != b.sign ? negative : positive) = true;
    }

    KC_FN void note_accumulator(uint32_t d) {
        if ((d & INFINITE) != INFINITE) return;
        if (d & 0x7FFFFFu)
            nan = true;
        else
            (d >> 31 ? negative : positive) = true;
    }

    // The result that they force, or 0 where there is none.
    KC_FN uint32_t result() const {
        if (nan || (positive && negative)) return CANONICAL_NAN;
        return positive ? INFINITE : negative ? 0x80000000u | INFINITE : 0;
    }
};

// One output of one instruction: float32 bits of sum over k of a[k] b[k] + d.
template <int K>
KC_FN uint32_t sum_of_products(const Element (&a)[K], const Element (&b)[K], uint32_t d) {
    int largest = accumulator_exponent(d);
    Specials specials;
    specials.note_accumulator(d);
    KC_UNROLL
    for (int k = 0; k < K; ++k) {
        const int exponent = a[k].exponent + b[k].exponent;
        largest = exponent > largest ? exponent : largest;
        if (a[k].special || b[k].special) specials.note(a[k], b[k]);
    }
    if (const uint32_t result = specials.result()) return result;
    int64_t sum = accumulator_term(d, largest);
    KC_UNROLL
    for (int k = 0; k < K; ++k) {
        const int distance = largest - (a[k].exponent + b[k].exponent);
        const int32_t term = (a[k].magnitude << (KEPT_BITS - 20)) * b[k].magnitude >> (distance > 31 ? 31 : distance);
        sum += a[k].sign == b[k].sign ? term : -term;
    }
    return cut(sum, largest);
}

}  // namespace tensor::unit
