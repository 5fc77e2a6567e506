// The two descriptors that a tcgen05 matrix product takes: of an operand in shared memory (64 bits) and of the instruction (32 bits).
#pragma once

#include "types.h"

namespace tensor {

// How the 16-byte pieces of a pattern are exchanged (bits 61-63 of a descriptor). B128_ATOM32 exchanges pieces of 32 bytes instead;
// it is the only one that a tf32 operand may have whose K index is a row of the stored matrix.
enum class Swizzle : uint32_t { NONE = 0, B128_ATOM32 = 1, B128 = 2, B64 = 4, B32 = 6 };

// Bytes of a row of one panel: the width that is contiguous in shared memory.
KC_FN constexpr int panel_bytes(Swizzle swizzle) {
    return swizzle == Swizzle::NONE ? 16 : swizzle == Swizzle::B32 ? 32 : swizzle == Swizzle::B64 ? 64 : 128;
}

// What a start address must be a multiple of, in bytes, for a base offset of 0.
KC_FN constexpr int pattern_bytes(Swizzle swizzle) { return swizzle == Swizzle::NONE ? 128 : 8 * panel_bytes(swizzle); }

// The exchange itself: a function of the absolute byte address in shared memory.
KC_FN constexpr uint32_t swizzled(uint32_t address, Swizzle swizzle) {
    switch (swizzle) {
        case Swizzle::B128: return address ^ ((address >> 7 & 7u) << 4);
        case Swizzle::B64: return address ^ ((address >> 7 & 3u) << 4);
        case Swizzle::B32: return address ^ ((address >> 7 & 1u) << 4);
        case Swizzle::B128_ATOM32: return address ^ ((address >> 7 & 3u) << 5);
        default: return address;
    }
}

// The 64-bit descriptor. All three sizes are in bytes and multiples of 16.
//   leading, stride: LBO and SBO in NVIDIA's documents; their roles depend on swizzle and major-ness, see SharedOperand.
KC_FN constexpr uint64_t shared_descriptor(uint32_t start, uint32_t leading, uint32_t stride, Swizzle swizzle) {
    return static_cast<uint64_t>((start & 0x3FFFFu) >> 4) | static_cast<uint64_t>((leading & 0x3FFFFu) >> 4) << 16 |
           static_cast<uint64_t>((stride & 0x3FFFFu) >> 4) << 32 | 1ull << 46 | static_cast<uint64_t>(swizzle) << 61;
}

// Element formats of the kinds f16 (FP16, BF16) and tf32.
enum class Format : uint32_t { FP16 = 0, BF16 = 1, TF32 = 2 };

template <class T>
struct FormatOf;
template <>
struct FormatOf<Fp16> {
    static constexpr Format VALUE = Format::FP16;
};
template <>
struct FormatOf<Bf16> {
    static constexpr Format VALUE = Format::BF16;
};
template <>
struct FormatOf<Tf32> {
    static constexpr Format VALUE = Format::TF32;
};

// How a matrix lies in shared memory (see SharedMatrix): what its stores tell the emulator.
struct MatrixLayout {
    uint32_t offset;
    int rows, columns;
    Swizzle swizzle;
    Format format;
};

// The 32-bit instruction descriptor: D is float32, A and B have one format.
//   a_mn, b_mn: true where M (N) is the index that is contiguous in shared memory ("MN-major").
KC_FN constexpr uint32_t instruction_descriptor(Format format, int m, int n, bool a_mn, bool b_mn, bool negate_a, bool negate_b) {
    return 1u << 4 | static_cast<uint32_t>(format) << 7 | static_cast<uint32_t>(format) << 10 | (negate_a ? 1u << 13 : 0u) |
           (negate_b ? 1u << 14 : 0u) | (a_mn ? 1u << 15 : 0u) | (b_mn ? 1u << 16 : 0u) | static_cast<uint32_t>(n >> 3) << 17 |
           static_cast<uint32_t>(m >> 4) << 24;
}

}  // namespace tensor
