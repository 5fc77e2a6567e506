// Matrix products, and what must stand between them and their neighbours. Every function here is called by all threads of the CTA.
#pragma once

#include "tiles.h"

namespace tensor {

struct Product {
    bool accumulate = false;  // false: D = A B^T; true: D += A B^T
    bool negate_a = false;
    bool negate_b = false;
};

// D (M x N, Tensor Memory) = A (M x K) times B (N x K, shared memory) over K, float32 sums:
//     D[m][n] = (accumulate ? D[m][n] : 0) + sum over k of A[m][k] B[n][k]
//   a  rows(x), columns(x) or a TensorOperand;  b  rows(y), columns(y)
// so that product(cta, d, rows(x), columns(y)) is x y, rows(x) with rows(y) is x y^T, and columns(x) with columns(y) is x^T y.
// Returns at once: products into the same accumulator run in order, everything else waits for finish(). Operands in shared memory must have
// been published (publish()) and may not be written before finish().
template <class Cta, int M, int N, class A, class B>
KC_FN void product(Cta& cta, Accumulator<M, N> d, A a, B b, Product how = {}, Place where = Place::here()) {
    static_assert(A::MN == M, "A must have the rows of D");
    static_assert(B::MN == N, "B must have the columns of D");
    static_assert(A::K == B::K, "A and B must agree in K");
    static_assert(B::IN_SHARED, "B lies in shared memory");
    using T = typename A::Element;
    static_assert(FormatOf<T>::VALUE == FormatOf<typename B::Element>::VALUE, "A and B must have one format");
    const uint32_t instruction =
        instruction_descriptor(FormatOf<T>::VALUE, M, N, A::MN_MAJOR, B::MN_MAJOR, how.negate_a, how.negate_b);
    if constexpr (Cta::ONE_THREAD_ISSUES) {
        if (cta.warp() == 0 && cta.elect(where)) {
            const uint32_t base = cta.shared_base();
            KC_UNROLL
            for (int step = 0; step < A::K / A::K_STEP; ++step) {
                const bool add = how.accumulate || step > 0;
                if constexpr (A::IN_SHARED)
                    cta.template mma<T>(d.address, a.descriptor(base, step), b.descriptor(base, step), instruction, add, where);
                else
                    cta.template mma_tensor<T>(d.address, a.start(step), b.descriptor(base, step), instruction, add, where);
            }
        }
    } else {
        cta.product(d, a, b, how.accumulate, how.negate_a != how.negate_b);
    }
}

// An mbarrier (8 bytes of shared memory, offset a multiple of 8) that says when products are done. Each thread keeps its own copy.
struct Completion {
    uint32_t offset;
    uint32_t parity = 0;
};

// Makes the mbarrier ready. A sync() must follow before the first commit().
template <class Cta>
KC_FN void prepare(Cta& cta, Completion& completion, Place where = Place::here()) {
    if (cta.thread() == 0) cta.barrier_init(completion.offset, where);
    completion.parity = 0;
}

// Asks for an arrival once all products issued so far are done.
template <class Cta>
KC_FN void commit(Cta& cta, Completion& completion, Place where = Place::here()) {
    if constexpr (Cta::ONE_THREAD_ISSUES) {
        if (cta.warp() == 0 && cta.elect(where)) cta.commit(completion.offset, where);
    } else {
        cta.commit(completion.offset, where);
    }
}

// Waits for the commit; then accumulators may be loaded and operands overwritten.
template <class Cta>
KC_FN void await(Cta& cta, Completion& completion, Place where = Place::here()) {
    cta.barrier_wait(completion.offset, completion.parity, where);
    completion.parity ^= 1;
    cta.fence_after(where);
}

// commit() and await(): the usual end of a group of products.
template <class Cta>
KC_FN void finish(Cta& cta, Completion& completion, Place where = Place::here()) {
    commit(cta, completion, where);
    await(cta, completion, where);
}

// Makes what all threads wrote (shared memory, Tensor Memory) and read (Tensor Memory) precede every later product of the CTA:
// the one barrier to put between filling operands, or reading accumulators that will be overwritten, and product().
template <class Cta>
KC_FN void publish(Cta& cta, Place where = Place::here()) {
    cta.wait_load(where);
    cta.wait_store(where);
    cta.fence_proxy_async(where);
    cta.fence_before(where);
    cta.sync(where);
    cta.fence_after(where);
}

// Allocates COLUMNS (a power of two, 32..512) of Tensor Memory, gives the right to allocate back at once, and returns the address of the
// first column. One call per CTA. slot: byte offset of 4 bytes of shared memory, a multiple of 4.
template <int COLUMNS, class Cta>
KC_FN uint32_t allocate(Cta& cta, uint32_t slot, Place where = Place::here()) {
    static_assert(COLUMNS >= 32 && COLUMNS <= 512 && (COLUMNS & (COLUMNS - 1)) == 0, "columns: a power of two, 32 to 512");
    if (cta.warp() == 0) {
        cta.allocate(slot, COLUMNS, where);
        cta.relinquish(where);
    }
    cta.fence_before(where);
    cta.sync(where);
    cta.fence_after(where);
    return cta.template shared_load<uint32_t>(slot, where);
}

// Frees what allocate() gave, after all use of it: every path out of a kernel must come here.
template <int COLUMNS, class Cta>
KC_FN void release(Cta& cta, uint32_t address, Place where = Place::here()) {
    cta.wait_load(where);
    cta.wait_store(where);
    cta.fence_before(where);
    cta.sync(where);
    cta.fence_after(where);
    if (cta.warp() == 0) cta.deallocate(address, COLUMNS, where);
}

}  // namespace tensor
