// Number formats and places: what every backend and every kernel speaks of.
//
// The same headers compile for a GPU (nvcc) and for the CPU (a C++20 compiler). KC_FN marks functions that a kernel calls.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define KC_FN __host__ __device__ __forceinline__
#define KC_DEVICE __device__ __forceinline__
#else
#define KC_FN inline
#define KC_DEVICE inline
#endif

#if defined(__CUDA_ARCH__)
#define KC_UNROLL _Pragma("unroll")
#define KC_NO_UNROLL _Pragma("unroll 1")
#else
#define KC_UNROLL
#define KC_NO_UNROLL
#endif

namespace tensor {

// Where in a kernel's source something was asked for. Only the emulator, which names it in a trap, pays for it.
struct Place {
#if defined(__CUDACC__)
    static KC_FN constexpr Place here() { return {}; }
#else
    const char* file = "";
    int line = 0;
    static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
#endif
};

// 16-bit storage. Arithmetic is done in float; to_float and rounded convert.
struct Bf16 {
    uint16_t bits;
};
struct Fp16 {
    uint16_t bits;
};
// Stored as a float; the matrix unit reads its upper 19 bits (it clears the lower 13, it does not round).
struct Tf32 {
    uint32_t bits;
};

KC_FN uint32_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

KC_FN float bits_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

KC_FN float to_float(Bf16 x) { return bits_float(static_cast<uint32_t>(x.bits) << 16); }

KC_FN float to_float(Tf32 x) { return bits_float(x.bits); }

KC_FN float to_float(float x) { return x; }

KC_FN float to_float(Fp16 x) {
#if defined(__CUDA_ARCH__)
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
    return value;
#else
    const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000u) << 16;
    const uint32_t exponent = (x.bits >> 10) & 31u;
    const uint32_t fraction = x.bits & 0x3FFu;
    if (exponent == 31) return bits_float(sign | 0x7F800000u | fraction << 13);
    if (exponent) return bits_float(sign | (exponent + 112) << 23 | fraction << 13);
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
#endif
}

// rounded<T>(x): x to the nearest value of T, ties to even; NaN stays NaN, what is too large becomes infinite.
template <class T>
KC_FN T rounded(float x);

template <>
KC_FN float rounded<float>(float x) {
    return x;
}

template <>
KC_FN Bf16 rounded<Bf16>(float x) {
#if defined(__CUDA_ARCH__)
    Bf16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
    return result;
#else
    const uint32_t bits = float_bits(x);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return {0x7FFF};
    return {static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16)};
#endif
}

template <>
KC_FN Fp16 rounded<Fp16>(float x) {
#if defined(__CUDA_ARCH__)
    Fp16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
    return result;
#else
    const uint32_t bits = float_bits(x);
    const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return {0x7FFF};
    if (magnitude >= 0x477FF000u) return {static_cast<uint16_t>(sign | 0x7C00u)};  // 65520 and more
    // Below 2^-14 the spacing is 2^-24: adding 0.5 puts that spacing at the last bit of a float, which the addition rounds to.
    if (magnitude < 0x38800000u)
        return {static_cast<uint16_t>(sign | (float_bits(bits_float(magnitude) + 0.5f) - 0x3F000000u))};
    const uint32_t even = (magnitude >> 13) & 1u;
    return {static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xFFFu + even) >> 13))};
#endif
}

// To the nearest tf32, ties away from zero (cvt.rna.tf32): for operands that should be rounded, since the unit cuts them.
template <>
KC_FN Tf32 rounded<Tf32>(float x) {
    const uint32_t bits = float_bits(x);
    if ((bits & 0x7F800000u) == 0x7F800000u) return {(bits & 0x7FFFFFu) ? 0x7FFFFFFFu : bits};
    return {(bits + 0x1000u) & 0xFFFFE000u};
}

// Two 16-bit values in one register, the first in the low half.
template <class T>
KC_FN uint32_t packed(T low, T high) {
    static_assert(sizeof(T) == 2, "only 16-bit values are packed");
    return static_cast<uint32_t>(low.bits) | static_cast<uint32_t>(high.bits) << 16;
}

}  // namespace tensor
