// Shared memory as a checked array: bounds, alignment, races between threads, and how each element was stored.
#pragma once

#include <optional>
#include <vector>

#include "../descriptor.h"
#include "clock.h"

namespace tensor::emulated {

// What is wrong with an access.
struct Fault {
    TrapKind kind;
    char message[160];
};

template <class... Arguments>
Fault fault(TrapKind kind, const char* format, Arguments... arguments) {
    Fault result{kind, ""};
    snprintf(result.message, sizeof(result.message), format, arguments...);
    return result;
}

class SharedMemory {
   public:
    static constexpr uint32_t BASE = 0x400;  // absolute address of offset 0: the first KiB belongs to the system
    static constexpr int NO_LAYOUT = 0, BARRIER_LAYOUT = 1;

    // Shadow of two bytes.
    struct Granule {
        uint32_t write_time = 0;  // 0: never written
        uint32_t read_time = 0;
        int32_t product = -1;  // the last product that reads it as an operand
        uint16_t writer = 0;
        uint16_t reader = 0;  // a thread, WHOLE_WARP + warp, or MANY
        uint16_t layout = NO_LAYOUT;
    };

    SharedMemory(int bytes, const Clock& clock) : bytes_((bytes + 15) & ~15), granules_((bytes + 15) / 2), clock_(clock) {
        size_ = bytes;
        layouts_.resize(2);
    }

    int size() const { return size_; }
    uint8_t* data() { return bytes_.data(); }
    Granule& granule(uint32_t offset) { return granules_[offset / 2]; }
    const MatrixLayout& layout(int id) const { return layouts_[id]; }

    std::optional<Fault> check_place(uint32_t offset, int bytes) const {
        if (offset + static_cast<uint32_t>(bytes) > static_cast<uint32_t>(size_) || offset > static_cast<uint32_t>(size_))
            return fault(TrapKind::SHARED_BOUNDS, "%d bytes at offset %u of %d", bytes, offset, size_);
        if (offset % bytes) return fault(TrapKind::SHARED_ALIGNMENT, "%d bytes at offset %u", bytes, offset);
        return std::nullopt;
    }

    std::optional<Fault> load(uint32_t offset, int bytes, int thread) {
        if (auto wrong = check_place(offset, bytes)) return wrong;
        for (uint32_t o = offset; o < offset + bytes; o += 2) {
            Granule& g = granule(o);
            if (g.write_time == 0) return fault(TrapKind::SHARED_UNWRITTEN, "offset %u is read before anything was stored there", o);
            if (!clock_.precedes(g.writer, g.write_time, thread))
                return fault(TrapKind::SHARED_RACE, "offset %u: stored by thread %d, no barrier since", o, g.writer);
            note_reader(g, thread);
        }
        return std::nullopt;
    }

    // The products that may still read what is to be overwritten are the caller's matter.
    std::optional<Fault> store(uint32_t offset, int bytes, int thread, int layout) {
        if (auto wrong = check_place(offset, bytes)) return wrong;
        for (uint32_t o = offset; o < offset + bytes; o += 2) {
            Granule& g = granule(o);
            if (g.layout == BARRIER_LAYOUT) return fault(TrapKind::BARRIER_STATE, "offset %u lies in an mbarrier", o);
            if (g.write_time && !clock_.precedes(g.writer, g.write_time, thread))
                return fault(TrapKind::SHARED_RACE, "offset %u: stored by thread %d too, no barrier since", o, g.writer);
            if (g.read_time && !reads_precede(g, thread))
                return fault(TrapKind::SHARED_RACE, "offset %u: read by another thread, no barrier since", o);
            g.write_time = clock_.now;
            g.writer = static_cast<uint16_t>(thread);
            g.layout = static_cast<uint16_t>(layout);
        }
        return std::nullopt;
    }

    int intern(const MatrixLayout& x) {
        const auto same = [&](const MatrixLayout& y) {
            return x.offset == y.offset && x.rows == y.rows && x.columns == y.columns && x.swizzle == y.swizzle && x.format == y.format;
        };
        if (last_ > 1 && same(layouts_[last_])) return last_;
        for (last_ = 2; last_ < static_cast<int>(layouts_.size()); ++last_)
            if (same(layouts_[last_])) return last_;
        layouts_.push_back(x);
        return last_;
    }

    // Row and column of the element at a byte offset, in a matrix stored like that; nothing where it lies outside.
    static std::optional<std::pair<int, int>> position(const MatrixLayout& x, uint32_t offset) {
        const int size = x.format == Format::TF32 ? 4 : 2;
        const int panel = panel_bytes(x.swizzle);
        const uint32_t linear = swizzled(offset, x.swizzle) - x.offset;
        if (linear >= static_cast<uint32_t>(x.rows * x.columns * size)) return std::nullopt;
        const int within = static_cast<int>(linear) % (x.rows * panel);
        return std::pair{within / panel, (static_cast<int>(linear) / (x.rows * panel) * panel + within % panel) / size};
    }

   private:
    static constexpr uint16_t WHOLE_WARP = 0x8000, MANY = 0xFFFF;

    bool reads_precede(const Granule& g, int thread) const {
        if (g.read_time < clock_.sync || g.reader == thread) return true;
        const int warp = thread / WARP;
        const bool same_warp = g.reader < WHOLE_WARP ? g.reader / WARP == warp : g.reader == WHOLE_WARP + warp;
        return same_warp && g.read_time < clock_.warp_sync[warp];
    }

    void note_reader(Granule& g, int thread) const {
        if (g.read_time == 0 || reads_precede(g, thread)) {
            g.reader = static_cast<uint16_t>(thread);
        } else {
            const int warp = thread / WARP;
            const bool same_warp = g.reader < WHOLE_WARP ? g.reader / WARP == warp : g.reader == WHOLE_WARP + warp;
            g.reader = same_warp ? static_cast<uint16_t>(WHOLE_WARP + warp) : MANY;
        }
        g.read_time = clock_.now;
    }

    std::vector<uint8_t> bytes_;
    std::vector<Granule> granules_;
    std::vector<MatrixLayout> layouts_;
    const Clock& clock_;
    int size_ = 0;
    int last_ = 0;
};

}  // namespace tensor::emulated
