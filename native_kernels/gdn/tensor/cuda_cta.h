// What the CTAs of all CUDA backends share: threads, shuffles and shared memory.
#pragma once

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#include "product.h"

namespace tensor {

// N registers of a thread.
template <int N>
struct CudaRegisters {
    uint32_t values[N];

    KC_FN uint32_t get(int j, Place = Place::here()) const { return values[j]; }
    KC_FN void set(int j, uint32_t bits, Place = Place::here()) { values[j] = bits; }
};

struct CudaCta {
    template <int N>
    using Registers = CudaRegisters<N>;

    KC_DEVICE int thread() const { return static_cast<int>(threadIdx.x); }
    KC_DEVICE int warp() const { return static_cast<int>(threadIdx.x) / 32; }
    KC_DEVICE int lane() const { return static_cast<int>(threadIdx.x) % 32; }
    KC_DEVICE int threads() const { return static_cast<int>(blockDim.x); }
    KC_DEVICE int block(int axis) const {
        return static_cast<int>(axis == 0 ? blockIdx.x : axis == 1 ? blockIdx.y : blockIdx.z);
    }
    KC_DEVICE int blocks(int axis) const { return static_cast<int>(axis == 0 ? gridDim.x : axis == 1 ? gridDim.y : gridDim.z); }

    KC_DEVICE void sync(Place = Place::here()) { __syncthreads(); }
    KC_DEVICE bool sync_or(bool x, Place = Place::here()) { return __syncthreads_or(x) != 0; }
    KC_DEVICE void sync_warp(Place = Place::here()) { __syncwarp(); }

    template <class T>
    KC_DEVICE T shuffle(T x, int from, Place = Place::here()) {
        return __shfl_sync(0xFFFFFFFFu, x, from);
    }
    template <class T>
    KC_DEVICE T shuffle_xor(T x, int mask, Place = Place::here()) {
        return __shfl_xor_sync(0xFFFFFFFFu, x, mask);
    }
    template <class T>
    KC_DEVICE T shuffle_up(T x, int by, Place = Place::here()) {
        return __shfl_up_sync(0xFFFFFFFFu, x, by);
    }
    template <class T>
    KC_DEVICE T shuffle_down(T x, int by, Place = Place::here()) {
        return __shfl_down_sync(0xFFFFFFFFu, x, by);
    }

    KC_DEVICE bool elect(Place = Place::here()) {
#if __CUDA_ARCH__ >= 900
        uint32_t elected;
        asm volatile(
            "{\n\t.reg .pred p;\n\telect.sync _|p, 0xFFFFFFFF;\n\tselp.b32 %0, 1, 0, p;\n\t}"
            : "=r"(elected)
            :
            : "memory");
        return elected != 0;
#else
        return lane() == 0;
#endif
    }

    KC_DEVICE static unsigned char* shared_bytes() {
        extern __shared__ __align__(1024) unsigned char bytes[];
        return bytes;
    }
    KC_DEVICE static uint32_t shared_base() { return static_cast<uint32_t>(__cvta_generic_to_shared(shared_bytes())); }

    template <class T>
    KC_DEVICE T shared_load(uint32_t offset, Place = Place::here()) {
        return *reinterpret_cast<const T*>(shared_bytes() + offset);
    }
    template <class T>
    KC_DEVICE void shared_store(uint32_t offset, T value, Place = Place::here()) {
        *reinterpret_cast<T*>(shared_bytes() + offset) = value;
    }
    template <class T>
    KC_DEVICE void shared_store(uint32_t offset, T value, const MatrixLayout&, Place = Place::here()) {
        shared_store(offset, value);
    }
    template <class T>
    KC_DEVICE void shared_load_piece(uint32_t offset, T (&values)[16 / sizeof(T)], Place = Place::here()) {
        const uint4 piece = *reinterpret_cast<const uint4*>(shared_bytes() + offset);
        memcpy(values, &piece, 16);
    }
    template <class T>
    KC_DEVICE void shared_store_piece(uint32_t offset, const T (&values)[16 / sizeof(T)], Place = Place::here()) {
        uint4 piece;
        memcpy(&piece, values, 16);
        *reinterpret_cast<uint4*>(shared_bytes() + offset) = piece;
    }
    template <class T>
    KC_DEVICE void shared_store_piece(uint32_t offset, const T (&values)[16 / sizeof(T)], const MatrixLayout&, Place = Place::here()) {
        shared_store_piece(offset, values);
    }

   protected:
    KC_DEVICE static void mbarrier_init(uint32_t offset, uint32_t count) {
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_base() + offset), "r"(count) : "memory");
#if __CUDA_ARCH__ >= 900
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
    }

    KC_DEVICE static void mbarrier_wait(uint32_t offset, uint32_t parity) {
#if __CUDA_ARCH__ >= 900
#define KC_WAIT "mbarrier.try_wait.parity.shared.b64"
#else
#define KC_WAIT "mbarrier.test_wait.parity.shared.b64"
#endif
        asm volatile("{\n\t.reg .pred done;\n\tagain:\n\t" KC_WAIT " done, [%0], %1;\n\t@!done bra again;\n\t}" ::"r"(shared_base() + offset),
                     "r"(parity)
                     : "memory");
#undef KC_WAIT
    }
};

}  // namespace tensor

#endif
