// Tensor Memory as a checked array of 128 lanes x 512 columns x 32 bits, and its allocator.
#pragma once

#include <array>

#include "shared_memory.h"

namespace tensor::emulated {

constexpr int LANES = 128;
constexpr int COLUMNS = 512;

// A rectangle: lanes in units of sixteen (bit i: lanes 16 i to 16 i + 15), columns [begin, end).
struct Area {
    uint8_t lanes = 0;
    int begin = 0, end = 0;

    bool overlaps(const Area& other) const { return (lanes & other.lanes) && begin < other.end && other.begin < end; }
    bool operator==(const Area&) const = default;
};

constexpr uint8_t ALL_LANES = 0xFF;

// The lanes of an accumulator or of operand A: all (M = 128), or the lower or upper sixteen of each 32 (M = 64).
inline uint8_t lanes_of(int m, int first_lane) { return m == 128 ? ALL_LANES : first_lane == 0 ? 0x55 : 0xAA; }

inline int lane_of_row(int m, int row, int first_lane) { return m == 128 ? row : first_lane + row / 16 * 32 + row % 16; }

// The data movement shapes of tcgen05.ld and tcgen05.st.
enum class Shape { S32X32B, S16X64B, S16X128B, S16X256B, S16X32BX2 };

struct Cell {
    int lane, column;
};

// Where thread t (0..31) finds its register r, relative to the address; second: the column of the upper half of 16x32bx2.
inline Cell cell_of(Shape shape, int t, int r, int second) {
    switch (shape) {
        case Shape::S32X32B: return {t, r};
        case Shape::S16X64B: return {t / 4 + 8 * (t % 2), t / 2 % 2 + 2 * r};
        case Shape::S16X128B: return {t / 4 + 8 * (r % 2), t % 4 + 4 * (r / 2)};
        case Shape::S16X256B: return {t / 4 + 8 * (r / 2 % 2), r % 2 + 2 * (t % 4) + 8 * (r / 4)};
        default: return {t % 16, r + (t < 16 ? 0 : second)};
    }
}

class TensorMemory {
   public:
    explicit TensorMemory(int first_free) : first_free_(first_free), cells_(LANES * COLUMNS), written_(LANES * COLUMNS) {}

    uint32_t& cell(int lane, int column) { return cells_[lane * COLUMNS + column]; }
    int peak_columns() const { return peak_; }

    // The address of the first column, or what is wrong.
    std::optional<Fault> allocate(int columns, int warp, uint32_t& address) {
        if (columns < 32 || columns > COLUMNS || (columns & (columns - 1)))
            return fault(TrapKind::ALLOC_SIZE, "%d columns: a power of two from 32 to 512 is needed", columns);
        if (relinquished_) return fault(TrapKind::ALLOC_AFTER_RELINQUISH, "%d columns asked for after relinquish", columns);
        if (warp_ >= 0 && warp_ != warp) return fault(TrapKind::ALLOC_OTHER_WARP, "warp %d allocates after warp %d", warp, warp_);
        if (last_ && columns > last_)
            return fault(TrapKind::ALLOC_INCREASES, "%d columns after %d: a CTA may not ask for more than before", columns, last_);
        if (live_ + columns > COLUMNS)
            return fault(TrapKind::ALLOC_EXCEEDS, "%d columns while %d of 512 are held: the kernel would wait for ever", columns, live_);
        const int begin = place(columns);
        if (begin < 0) return fault(TrapKind::ALLOC_EXCEEDS, "no %d neighbouring columns are free", columns);
        for (int c = begin; c < begin + columns; ++c) {
            owner_[c] = begin;
            for (int lane = 0; lane < LANES; ++lane) written_[lane * COLUMNS + c] = UNWRITTEN;
        }
        size_[begin] = columns;
        warp_ = warp;
        last_ = columns;
        live_ += columns;
        peak_ = live_ > peak_ ? live_ : peak_;
        address = static_cast<uint32_t>(begin);
        return std::nullopt;
    }

    std::optional<Fault> deallocate(uint32_t address, int columns) {
        if (address >= COLUMNS || owner_[address] != static_cast<int>(address) || size_[address] != columns) {
            if (address < COLUMNS && owner_[address] == FREED)
                return fault(TrapKind::USE_AFTER_DEALLOC, "column %u was freed before", address);
            return fault(TrapKind::DEALLOC_MISMATCH, "%d columns at 0x%x were not allocated so", columns, address);
        }
        for (int c = static_cast<int>(address); c < static_cast<int>(address) + columns; ++c) owner_[c] = FREED;
        live_ -= columns;
        return std::nullopt;
    }

    void relinquish() { relinquished_ = true; }

    std::optional<Fault> at_exit() const {
        if (live_) return fault(TrapKind::ALLOC_LEAK, "%d columns are still allocated", live_);
        return std::nullopt;
    }

    // Are the columns in range and allocated, and, if they are to be read, was every cell written?
    std::optional<Fault> check(const Area& area, bool reads) const {
        if (area.begin < 0 || area.end > COLUMNS)
            return fault(TrapKind::COLUMNS_OUT_OF_RANGE, "columns %d to %d of 512", area.begin, area.end - 1);
        for (int c = area.begin; c < area.end; ++c) {
            if (owner_[c] == FREED) return fault(TrapKind::USE_AFTER_DEALLOC, "column %d was freed", c);
            if (owner_[c] == NEVER) return fault(TrapKind::COLUMNS_NOT_ALLOCATED, "column %d is not allocated", c);
        }
        if (reads)
            for (int lane = 0; lane < LANES; ++lane)
                if (area.lanes >> (lane / 16) & 1)
                    for (int c = area.begin; c < area.end; ++c)
                        if (!written_[lane * COLUMNS + c])
                            return fault(TrapKind::READ_UNWRITTEN, "lane %d, column %d was never written", lane, c);
        return std::nullopt;
    }

    // format: where the cells hold elements of an operand.
    void mark_written(const Area& area, std::optional<Format> format) {
        const uint8_t mark = format ? OPERAND + static_cast<uint8_t>(*format) : WRITTEN;
        for (int lane = 0; lane < LANES; ++lane)
            if (area.lanes >> (lane / 16) & 1)
                for (int c = area.begin; c < area.end; ++c) written_[lane * COLUMNS + c] = mark;
    }

    // Were all cells, which check() has found written, stored as an operand of the format?
    std::optional<Fault> check_operand(const Area& area, Format format) const {
        for (int lane = 0; lane < LANES; ++lane)
            if (area.lanes >> (lane / 16) & 1)
                for (int c = area.begin; c < area.end; ++c)
                    if (written_[lane * COLUMNS + c] != OPERAND + static_cast<uint8_t>(format))
                        return fault(TrapKind::DESCRIPTOR_LAYOUT, "A: lane %d, column %d was not stored as an operand of this format", lane, c);
        return std::nullopt;
    }

   private:
    static constexpr int NEVER = -1, FREED = -2;
    static constexpr uint8_t UNWRITTEN = 0, WRITTEN = 1, OPERAND = 2;  // OPERAND + its format

    bool free_at(int begin, int columns) const {
        for (int c = begin; c < begin + columns; ++c)
            if (owner_[c] >= 0) return false;
        return true;
    }

    // The first room from first_free_ on, else the first at all: the base is not always column 0. Multiples of the size, so that sizes
    // that do not increase always fit.
    int place(int columns) const {
        for (int i = 0; i < COLUMNS / columns; ++i) {
            const int begin = (first_free_ / columns + i) * columns % COLUMNS;
            if (free_at(begin, columns)) return begin;
        }
        return -1;
    }

    static std::array<int, COLUMNS> filled(int value) {
        std::array<int, COLUMNS> result;
        result.fill(value);
        return result;
    }

    int first_free_;
    std::vector<uint32_t> cells_;
    std::vector<uint8_t> written_;
    std::array<int, COLUMNS> owner_ = filled(NEVER);  // first column of the allocation that holds the column
    std::array<int, COLUMNS> size_{};
    bool relinquished_ = false;
    int warp_ = -1, last_ = 0, live_ = 0, peak_ = 0;
};

}  // namespace tensor::emulated
