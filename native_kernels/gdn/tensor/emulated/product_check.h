// Reading and checking the descriptors of a product: every field, the shapes, and whether they find the operands as they were stored.
#pragma once

#include "operations.h"

namespace tensor::emulated {

struct SharedDescriptor {
    uint32_t start, leading, stride;  // bytes
    Swizzle swizzle;

    static std::optional<Fault> read(uint64_t bits, SharedDescriptor& result) {
        const auto field = [bits](int first, int count) { return static_cast<uint32_t>(bits >> first & ((1ull << count) - 1)); };
        if (field(46, 3) != 1) return fault(TrapKind::DESCRIPTOR_FIELD, "bits 46-48 are %u, must be 1", field(46, 3));
        if (field(49, 3)) return fault(TrapKind::DESCRIPTOR_FIELD, "base offset %u: only 0 is understood", field(49, 3));
        if (field(52, 1)) return fault(TrapKind::DESCRIPTOR_FIELD, "absolute leading stride (bit 52) is not understood");
        if (field(14, 2) || field(30, 2) || field(53, 8))
            return fault(TrapKind::DESCRIPTOR_FIELD, "reserved bits are set in 0x%016llx", static_cast<unsigned long long>(bits));
        const uint32_t code = field(61, 3);
        if (code == 3 || code == 5 || code == 7) return fault(TrapKind::DESCRIPTOR_FIELD, "swizzle code %u does not exist", code);
        result = {field(0, 14) << 4, field(16, 14) << 4, field(32, 14) << 4, static_cast<Swizzle>(code)};
        const uint32_t row = result.start % pattern_bytes(result.swizzle) / panel_bytes(result.swizzle);
        if (row && result.swizzle != Swizzle::NONE)
            return fault(TrapKind::DESCRIPTOR_FIELD, "start 0x%x is row %u of a pattern, which needs a base offset: only 0 is understood",
                         result.start, row);
        return std::nullopt;
    }

    // Absolute byte address of the element (mn, k) of size bytes.
    uint32_t address(bool mn_major, int mn, int k, int size) const {
        const uint32_t s = panel_bytes(swizzle);
        uint32_t linear = start;
        if (!mn_major) {
            const uint32_t kb = k * size;
            linear += mn % 8 * s + mn / 8 * stride;
            linear += swizzle == Swizzle::NONE ? kb / 16 * leading + kb % 16 : kb;
        } else {
            const uint32_t mb = mn * size;
            const uint32_t group = swizzle == Swizzle::B128_ATOM32 ? 4 : 8;
            if (swizzle == Swizzle::NONE)
                linear += k % 8 * 16 + mb / 16 * stride + k / 8 * leading + mb % 16;
            else
                linear += k % group * s + mb / s * leading + k / group * stride + mb % s;
        }
        return swizzled(linear, swizzle);
    }
};

struct InstructionDescriptor {
    Format format;
    int m, n;
    bool a_mn_major, b_mn_major, negate_a, negate_b;

    static std::optional<Fault> read(uint32_t bits, bool tf32_kind, InstructionDescriptor& result) {
        const auto field = [bits](int first, int count) { return bits >> first & ((1u << count) - 1); };
        constexpr TrapKind KIND = TrapKind::INSTRUCTION_FIELD;
        if (field(0, 4)) return fault(KIND, "sparsity and saturation (bits 0-3) are not understood");
        if (field(4, 2) != 1) return fault(KIND, "accumulator format %u: only 1 (float32) is understood", field(4, 2));
        if (field(6, 1) || field(23, 1) || field(29, 1)) return fault(KIND, "reserved bits are set in 0x%08x", bits);
        if (field(30, 2)) return fault(KIND, "a maximal shift is for .ws alone");
        if (field(7, 3) != field(10, 3)) return fault(KIND, "A has format %u and B format %u: they must agree", field(7, 3), field(10, 3));
        if (tf32_kind ? field(7, 3) != 2 : field(7, 3) > 1)
            return fault(KIND, "format %u does not belong to kind %s", field(7, 3), tf32_kind ? "tf32" : "f16");
        result = {static_cast<Format>(field(7, 3)), static_cast<int>(field(24, 5)) << 4, static_cast<int>(field(17, 6)) << 3,
                  field(15, 1) != 0, field(16, 1) != 0, field(13, 1) != 0, field(14, 1) != 0};
        if (result.m != 64 && result.m != 128) return fault(KIND, "M is %d: 64 or 128 with one CTA", result.m);
        const int step = result.m == 64 ? 8 : 16;
        if (result.n < step || result.n > 256 || result.n % step)
            return fault(KIND, "N is %d: %d to 256 in steps of %d when M is %d", result.n, step, step, result.m);
        return std::nullopt;
    }
};

// The byte offsets of an operand of mn x k elements, checked piece by piece (16 bytes) against how they were stored. k_first: order of
// offsets, (mn, k) or (k, mn).
inline std::optional<Fault> find_operand(SharedMemory& memory, const Clock& clock, const char* name, const SharedDescriptor& descriptor,
                                         bool mn_major, Format format, int mn, int k, int thread, int product, bool k_first,
                                         std::vector<uint32_t>& offsets) {
    const int size = format == Format::TF32 ? 4 : 2;
    const int piece = 16 / size;
    if (descriptor.swizzle == Swizzle::B128_ATOM32 && (!mn_major || size == 2))
        return fault(TrapKind::DESCRIPTOR_FIELD, "%s: the 32-byte atom is for MN-major tf32 alone", name);
    if (size == 4 && mn_major && descriptor.swizzle != Swizzle::B128_ATOM32)
        return fault(TrapKind::DESCRIPTOR_FIELD, "%s: MN-major tf32 needs the 32-byte atom", name);
    offsets.resize(static_cast<size_t>(mn) * k);
    const int outer = mn_major ? k : mn, inner = mn_major ? mn : k;
    int layout = -1, first_row = 0, first_column = 0;
    for (int i = 0; i < outer; ++i)
        for (int j = 0; j < inner; j += piece) {
            const int at_mn = mn_major ? j : i, at_k = mn_major ? i : j;
            const uint32_t address = descriptor.address(mn_major, at_mn, at_k, size);
            const uint32_t offset = address - SharedMemory::BASE;
            if (address < SharedMemory::BASE || offset + 16 > static_cast<uint32_t>(memory.size()))
                return fault(TrapKind::SHARED_BOUNDS, "%s: element (%d, %d) is at offset %d of %d", name, at_mn, at_k,
                             static_cast<int>(offset), memory.size());
            for (uint32_t o = offset; o < offset + 16; o += 2) {
                SharedMemory::Granule& g = memory.granule(o);
                if (!g.write_time)
                    return fault(TrapKind::SHARED_UNWRITTEN, "%s: element (%d, %d) at offset %u was never stored", name, at_mn, at_k, o);
                if (!clock.visible_to_proxy(g.writer, g.write_time, thread)) {
                    if (clock.precedes(g.writer, g.write_time, thread))
                        return fault(TrapKind::MISSING_PROXY_FENCE, "%s: thread %d stored offset %u without fence_proxy_async", name,
                                     g.writer, o);
                    return fault(TrapKind::MISSING_BARRIER, "%s: thread %d stored offset %u, no barrier since", name, g.writer, o);
                }
                if (layout < 0) layout = g.layout;
                if (g.layout != layout || layout <= SharedMemory::BARRIER_LAYOUT)
                    return fault(TrapKind::DESCRIPTOR_LAYOUT, "%s: element (%d, %d) at offset %u was not stored as one of its matrix", name,
                                 at_mn, at_k, o);
                g.product = product;
            }
            const MatrixLayout& matrix = memory.layout(layout);
            if (matrix.format != format) return fault(TrapKind::DESCRIPTOR_LAYOUT, "%s: the matrix was stored in another format", name);
            const auto place = SharedMemory::position(matrix, offset);
            if (!place) return fault(TrapKind::DESCRIPTOR_LAYOUT, "%s: element (%d, %d) lies outside its matrix", name, at_mn, at_k);
            if (i == 0 && j == 0) {
                first_row = place->first;
                first_column = place->second;
            }
            if (place->first != first_row + i || place->second != first_column + j)
                return fault(TrapKind::DESCRIPTOR_LAYOUT, "%s: element (%d, %d) was expected at row %d, column %d, found at row %d, column %d",
                             name, at_mn, at_k, first_row + i, first_column + j, place->first, place->second);
            for (int e = 0; e < piece; ++e) {
                const int x = mn_major ? j + e : i, y = mn_major ? i : j + e;
                offsets[k_first ? static_cast<size_t>(y) * mn + x : static_cast<size_t>(x) * k + y] = offset + e * size;
            }
        }
    return std::nullopt;
}

}  // namespace tensor::emulated
