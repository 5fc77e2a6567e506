// Starts a kernel on a CUDA card by one of the CUDA backends.
#pragma once

#include <cuda_runtime.h>

#include "cuda_cta.h"

namespace tensor {

// Without Tensor Memory a CTA keeps it in a slot of global memory, taken at its start and given back at its end: as many slots as CTAs run
// at once, not as the grid has, so that they stay in the L2 cache. The pool begins with a table of one bit a slot.
constexpr int SLOT_TABLE_WORDS = 256;
constexpr int SLOTS_PER_MULTIPROCESSOR = 8;

namespace detail {

// A free slot; waits for one if all are taken, which ends since those that hold them run.
KC_DEVICE int take_slot(uint32_t* table, int slots) {
    for (int word = 0;; word = (word + 1) % ((slots + 31) / 32)) {
        const int here = slots - 32 * word;
        const uint32_t valid = here >= 32 ? 0xFFFFFFFFu : (1u << here) - 1;
        uint32_t free = ~atomicOr(&table[word], 0u) & valid;
        while (free) {
            const uint32_t bit = free & (0u - free);
            const uint32_t taken = atomicOr(&table[word], bit);
            if (!(taken & bit)) return 32 * word + __ffs(static_cast<int>(bit)) - 1;
            free = ~taken & ~bit & valid;
        }
    }
}

KC_DEVICE void give_slot_back(uint32_t* table, int slot) {
    __threadfence();
    atomicAnd(&table[slot / 32], ~(1u << slot % 32));
}

// Where a CTA keeps the number of its slot: after the kernel's shared memory.
template <class Kernel>
constexpr int SLOT_OFFSET = (Kernel::SHARED_BYTES + 15) / 16 * 16;

template <class Cta>
int slots(dim3 grid) {
    int device = 0, multiprocessors = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    const size_t ctas = static_cast<size_t>(grid.x) * grid.y * grid.z;
    const size_t most = static_cast<size_t>(multiprocessors) * SLOTS_PER_MULTIPROCESSOR;
    const size_t wanted = ctas < most ? ctas : most;
    return static_cast<int>(wanted < 32u * SLOT_TABLE_WORDS ? wanted : 32u * SLOT_TABLE_WORDS);
}

}  // namespace detail

template <class Kernel, class Cta>
__global__ void __launch_bounds__(Kernel::THREADS, 1)
    entry(const __grid_constant__ typename Kernel::Params params, uint32_t* scratch, int slots) {
    if constexpr (Cta::SCRATCH_WORDS == 0) {
        Cta cta(nullptr);
        Kernel::run(cta, params);
    } else {
        int* const mine = reinterpret_cast<int*>(CudaCta::shared_bytes() + detail::SLOT_OFFSET<Kernel>);
        if (threadIdx.x == 0) *mine = detail::take_slot(scratch, slots);
        __syncthreads();
        Cta cta(scratch + SLOT_TABLE_WORDS + static_cast<size_t>(*mine) * Cta::SCRATCH_WORDS);
        Kernel::run(cta, params);
        __syncthreads();
        if (threadIdx.x == 0) detail::give_slot_back(scratch, *mine);
    }
}

// Bytes of global memory that launch() needs as scratch for such a grid; 0 where the card has Tensor Memory.
template <class Cta>
size_t scratch_bytes(dim3 grid) {
    if (Cta::SCRATCH_WORDS == 0) return 0;
    return (SLOT_TABLE_WORDS + static_cast<size_t>(detail::slots<Cta>(grid)) * Cta::SCRATCH_WORDS) * sizeof(uint32_t);
}

// Starts the kernel on the stream; scratch: scratch_bytes() of device memory that no other launch uses meanwhile.
template <class Kernel, class Cta>
cudaError_t launch(const typename Kernel::Params& params, dim3 grid, cudaStream_t stream, uint32_t* scratch = nullptr) {
    const auto function = entry<Kernel, Cta>;
    constexpr int SHARED_BYTES = Cta::SCRATCH_WORDS == 0 ? Kernel::SHARED_BYTES : detail::SLOT_OFFSET<Kernel> + 16;
    cudaError_t error = cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES);
    if (error == cudaSuccess && Cta::SCRATCH_WORDS != 0)
        error = cudaMemsetAsync(scratch, 0, SLOT_TABLE_WORDS * sizeof(uint32_t), stream);
    if (error != cudaSuccess) return error;
    function<<<grid, Kernel::THREADS, SHARED_BYTES, stream>>>(params, scratch, Cta::SCRATCH_WORDS == 0 ? 0 : detail::slots<Cta>(grid));
    return cudaGetLastError();
}

}  // namespace tensor
