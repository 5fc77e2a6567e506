// The backend for Blackwell (sm_100a, sm_103a): tcgen05 instructions, one to a primitive. It has not run on such a card.
#pragma once

#if defined(__CUDACC__)

#include <type_traits>

#include "cuda_cta.h"

namespace tensor::sm100 {

namespace detail {

// Register lists of the moves between registers and Tensor Memory: their text ("%0, %1, ...") and their constraints.
#define KC_TEXT_1 "%0"
#define KC_TEXT_2 KC_TEXT_1 ", %1"
#define KC_TEXT_4 KC_TEXT_2 ", %2, %3"
#define KC_TEXT_8 KC_TEXT_4 ", %4, %5, %6, %7"
#define KC_TEXT_16 KC_TEXT_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define KC_TEXT_32 KC_TEXT_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define KC_LIST_1(c, i) c(values[i])
#define KC_LIST_2(c, i) KC_LIST_1(c, i), KC_LIST_1(c, i + 1)
#define KC_LIST_4(c, i) KC_LIST_2(c, i), KC_LIST_2(c, i + 2)
#define KC_LIST_8(c, i) KC_LIST_4(c, i), KC_LIST_4(c, i + 4)
#define KC_LIST_16(c, i) KC_LIST_8(c, i), KC_LIST_8(c, i + 8)
#define KC_LIST_32(c, i) KC_LIST_16(c, i), KC_LIST_16(c, i + 16)

// N columns by one instruction; NEXT is N + 1, the number of the operand after the address.
#define KC_MOVES(N, NEXT)                                                                                                    \
    KC_DEVICE void load_32x32b(uint32_t (&values)[N], uint32_t address) {                                                    \
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x" #N ".b32 {" KC_TEXT_##N "}, [%" #N "];"                              \
                     : KC_LIST_##N("=r", 0)                                                                                  \
                     : "r"(address));                                                                                        \
    }                                                                                                                        \
    KC_DEVICE void store_32x32b(const uint32_t (&values)[N], uint32_t address) {                                             \
        asm volatile("tcgen05.st.sync.aligned.32x32b.x" #N ".b32 [%" #N "], {" KC_TEXT_##N "};" ::KC_LIST_##N("r", 0),       \
                     "r"(address)                                                                                            \
                     : "memory");                                                                                            \
    }                                                                                                                        \
    template <int SECOND>                                                                                                    \
    KC_DEVICE void load_16x32bx2(uint32_t (&values)[N], uint32_t address) {                                                  \
        asm volatile("tcgen05.ld.sync.aligned.16x32bx2.x" #N ".b32 {" KC_TEXT_##N "}, [%" #N "], %" #NEXT ";"                \
                     : KC_LIST_##N("=r", 0)                                                                                  \
                     : "r"(address), "n"(SECOND));                                                                           \
    }                                                                                                                        \
    template <int SECOND>                                                                                                    \
    KC_DEVICE void store_16x32bx2(const uint32_t (&values)[N], uint32_t address) {                                           \
        asm volatile("tcgen05.st.sync.aligned.16x32bx2.x" #N ".b32 [%" #N "], %" #NEXT ", {" KC_TEXT_##N "};" ::KC_LIST_##N("r", 0), \
                     "r"(address), "n"(SECOND)                                                                               \
                     : "memory");                                                                                            \
    }

KC_MOVES(1, 2)
KC_MOVES(2, 3)
KC_MOVES(4, 5)
KC_MOVES(8, 9)
KC_MOVES(16, 17)
KC_MOVES(32, 33)

#undef KC_MOVES
#undef KC_LIST_1
#undef KC_LIST_2
#undef KC_LIST_4
#undef KC_LIST_8
#undef KC_LIST_16
#undef KC_LIST_32
#undef KC_TEXT_1
#undef KC_TEXT_2
#undef KC_TEXT_4
#undef KC_TEXT_8
#undef KC_TEXT_16
#undef KC_TEXT_32

// 32 of the registers, as the array that one instruction moves.
template <int COUNT, int N>
KC_DEVICE auto chunk(CudaRegisters<N>& registers, int first) -> uint32_t (&)[COUNT] {
    return reinterpret_cast<uint32_t(&)[COUNT]>(registers.values[first]);
}
template <int COUNT, int N>
KC_DEVICE auto chunk(const CudaRegisters<N>& registers, int first) -> const uint32_t (&)[COUNT] {
    return reinterpret_cast<const uint32_t(&)[COUNT]>(registers.values[first]);
}

}  // namespace detail

struct Cta : CudaCta {
    static constexpr bool ONE_THREAD_ISSUES = true;
    static constexpr int SCRATCH_WORDS = 0;  // of global memory that a CTA needs in place of Tensor Memory

    KC_DEVICE explicit Cta(uint32_t*) {}  // what the backends without Tensor Memory need

    KC_DEVICE void allocate(uint32_t slot, int columns, Place = Place::here()) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_base() + slot), "r"(columns)
                     : "memory");
    }
    KC_DEVICE void relinquish(Place = Place::here()) {
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
    }
    KC_DEVICE void deallocate(uint32_t address, int columns, Place = Place::here()) {
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
    }

    // More than 32 registers go by several instructions of 32.
    template <int N>
    KC_DEVICE void load_32x32b(Registers<N>& target, uint32_t address, Place = Place::here()) {
        constexpr int STEP = N < 32 ? N : 32;
        KC_UNROLL
        for (int i = 0; i < N; i += STEP) detail::load_32x32b(detail::chunk<STEP>(target, i), address + i);
    }
    template <int N>
    KC_DEVICE void store_32x32b(const Registers<N>& source, uint32_t address, Place = Place::here()) {
        constexpr int STEP = N < 32 ? N : 32;
        KC_UNROLL
        for (int i = 0; i < N; i += STEP) detail::store_32x32b(detail::chunk<STEP>(source, i), address + i);
    }
    template <int N>
    KC_DEVICE void store_32x32b(const Registers<N>& source, uint32_t address, Format, Place = Place::here()) {
        store_32x32b<N>(source, address);
    }
    template <int N, int SECOND>
    KC_DEVICE void load_16x32bx2(Registers<N>& target, uint32_t address, Place = Place::here()) {
        constexpr int STEP = N < 32 ? N : 32;
        KC_UNROLL
        for (int i = 0; i < N; i += STEP) detail::load_16x32bx2<SECOND>(detail::chunk<STEP>(target, i), address + i);
    }
    template <int N, int SECOND>
    KC_DEVICE void store_16x32bx2(const Registers<N>& source, uint32_t address, Place = Place::here()) {
        constexpr int STEP = N < 32 ? N : 32;
        KC_UNROLL
        for (int i = 0; i < N; i += STEP) detail::store_16x32bx2<SECOND>(detail::chunk<STEP>(source, i), address + i);
    }
    template <int N, int SECOND>
    KC_DEVICE void store_16x32bx2(const Registers<N>& source, uint32_t address, Format, Place = Place::here()) {
        store_16x32bx2<N, SECOND>(source, address);
    }

    KC_DEVICE void wait_load(Place = Place::here()) { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
    KC_DEVICE void wait_store(Place = Place::here()) { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }
    KC_DEVICE void fence_before(Place = Place::here()) { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
    KC_DEVICE void fence_after(Place = Place::here()) { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
    KC_DEVICE void fence_proxy_async(Place = Place::here()) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

    template <class T>
    KC_DEVICE void mma(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, bool accumulate, Place = Place::here()) {
        if constexpr (std::is_same_v<T, Tf32>)
            asm volatile(
                "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %4, 0;\n\t"
                "tcgen05.mma.cta_group::1.kind::tf32 [%0], %1, %2, %3, p;\n\t}" ::"r"(d),
                "l"(a), "l"(b), "r"(instruction), "r"(static_cast<uint32_t>(accumulate))
                : "memory");
        else
            asm volatile(
                "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %4, 0;\n\t"
                "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n\t}" ::"r"(d),
                "l"(a), "l"(b), "r"(instruction), "r"(static_cast<uint32_t>(accumulate))
                : "memory");
    }
    template <class T>
    KC_DEVICE void mma_tensor(uint32_t d, uint32_t a, uint64_t b, uint32_t instruction, bool accumulate, Place = Place::here()) {
        if constexpr (std::is_same_v<T, Tf32>)
            asm volatile(
                "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %4, 0;\n\t"
                "tcgen05.mma.cta_group::1.kind::tf32 [%0], [%1], %2, %3, p;\n\t}" ::"r"(d),
                "r"(a), "l"(b), "r"(instruction), "r"(static_cast<uint32_t>(accumulate))
                : "memory");
        else
            asm volatile(
                "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %4, 0;\n\t"
                "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;\n\t}" ::"r"(d),
                "r"(a), "l"(b), "r"(instruction), "r"(static_cast<uint32_t>(accumulate))
                : "memory");
    }
    KC_DEVICE void barrier_init(uint32_t offset, Place = Place::here()) { mbarrier_init(offset, 1); }
    KC_DEVICE void commit(uint32_t offset, Place = Place::here()) {
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_base() + offset)
                     : "memory");
    }
    KC_DEVICE void barrier_wait(uint32_t offset, uint32_t parity, Place = Place::here()) { mbarrier_wait(offset, parity); }
};

}  // namespace tensor::sm100

#endif
