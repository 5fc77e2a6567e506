// Backends without Tensor Memory: a CTA keeps it in global memory, its first four warps compute their own quarter of every product before
// product() returns, and a commit is an arrival of all its threads.
#pragma once

#if defined(__CUDACC__)

#include "cuda_cta.h"

namespace tensor {

struct CollectiveCta : CudaCta {
    static constexpr bool ONE_THREAD_ISSUES = false;
    static constexpr int COLUMNS = 512;
    static constexpr int SCRATCH_WORDS = 128 * COLUMNS;

    KC_DEVICE explicit CollectiveCta(uint32_t* scratch) : scratch_(scratch) {}

    // Nothing is shared between CTAs, so that an allocation is always granted, from column 0 on.
    KC_DEVICE void allocate(uint32_t slot, int, Place = Place::here()) {
        if (lane() == 0) shared_store(slot, 0u);
    }
    KC_DEVICE void relinquish(Place = Place::here()) {}
    KC_DEVICE void deallocate(uint32_t, int, Place = Place::here()) {}

    template <int N>
    KC_DEVICE void load_32x32b(Registers<N>& target, uint32_t address, Place = Place::here()) {
        get(target, word(address, lane(), 0));
    }
    template <int N>
    KC_DEVICE void store_32x32b(const Registers<N>& source, uint32_t address, Place = Place::here()) {
        put(source, word(address, lane(), 0));
    }
    template <int N>
    KC_DEVICE void store_32x32b(const Registers<N>& source, uint32_t address, Format, Place = Place::here()) {
        store_32x32b<N>(source, address);
    }
    template <int N, int SECOND>
    KC_DEVICE void load_16x32bx2(Registers<N>& target, uint32_t address, Place = Place::here()) {
        get(target, word(address, lane() % 16, lane() < 16 ? 0 : SECOND));
    }
    template <int N, int SECOND>
    KC_DEVICE void store_16x32bx2(const Registers<N>& source, uint32_t address, Place = Place::here()) {
        put(source, word(address, lane() % 16, lane() < 16 ? 0 : SECOND));
    }
    template <int N, int SECOND>
    KC_DEVICE void store_16x32bx2(const Registers<N>& source, uint32_t address, Format, Place = Place::here()) {
        store_16x32bx2<N, SECOND>(source, address);
    }

    // Lanes of a quarter belong to one warp, whose threads read each other's words: one barrier of the warp makes them known.
    KC_DEVICE void wait_load(Place = Place::here()) { __syncwarp(); }
    KC_DEVICE void wait_store(Place = Place::here()) { __syncwarp(); }
    KC_DEVICE void fence_before(Place = Place::here()) {}
    KC_DEVICE void fence_after(Place = Place::here()) {}
    KC_DEVICE void fence_proxy_async(Place = Place::here()) {}

    KC_DEVICE void barrier_init(uint32_t offset, Place = Place::here()) { mbarrier_init(offset, blockDim.x); }
    KC_DEVICE void commit(uint32_t offset, Place = Place::here()) {
        asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared.b64 state, [%0];\n\t}" ::"r"(shared_base() + offset) : "memory");
    }
    KC_DEVICE void barrier_wait(uint32_t offset, uint32_t parity, Place = Place::here()) { mbarrier_wait(offset, parity); }

   protected:
    KC_DEVICE uint32_t* word(uint32_t address, int lane, int column) const {
        return scratch_ + (((address >> 16) + lane) * COLUMNS + (address & 0xFFFFu) + column);
    }

    // The lane, within the CTA's 128, of a row of an accumulator or operand.
    template <int M>
    KC_DEVICE static int lane_of_row(int row) {
        return M == 128 ? row : row / 16 * 32 + row % 16;
    }

   private:
    template <int N>
    KC_DEVICE static void get(Registers<N>& target, const uint32_t* from) {
        KC_UNROLL
        for (int j = 0; j < N; ++j) target.values[j] = from[j];
    }
    template <int N>
    KC_DEVICE static void put(const Registers<N>& source, uint32_t* to) {
        KC_UNROLL
        for (int j = 0; j < N; ++j) to[j] = source.values[j];
    }

    uint32_t* scratch_;
};

}  // namespace tensor

#endif
