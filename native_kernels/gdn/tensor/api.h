// The tensor-core and Tensor-Memory layer: what a kernel includes.
//
// A kernel is a struct with a function template over the CTA, so that one source runs on every backend:
//
//     struct MyKernel {
//         struct Params { const float* x; float* y; int n; };           // plain data, pointers to global memory
//         static constexpr int THREADS = 128;                           // a multiple of 128
//         static constexpr int SHARED_BYTES = ...;                      // dynamic shared memory; offsets count from its start
//         static constexpr int TENSOR_COLUMNS = 256;                    // what it allocates: a power of two, 32..512
//         template <class Cta> KC_DEVICE static void run(Cta& cta, const Params& params);
//     };
//
// and is started by a backend:
//   emulated/launch.h    tensor::emulated::launch<MyKernel>(params, grid, options) -> Outcome   (g++, CPU; checks everything)
//   cuda_launch.h        tensor::launch<MyKernel, tensor::sm100::Cta>(params, grid, stream)     (nvcc, sm_100a, sm_103a)
//                        tensor::launch<MyKernel, tensor::sm90::Cta>(...)                        (nvcc, sm_90a: mma.sync)
//                        tensor::launch<MyKernel, tensor::software::Cta>(...)                    (nvcc, any card: emulated arithmetic)
// Kernels use no other way to shared memory, synchronisation or tensor cores than the CTA, no thread-local and no static data.
// Global memory is plain pointers.
//
// What a Cta offers (w: the place of the call, defaulted; "collective": called by all 32 threads of a warp, converged):
//
//   Who and where
//     int thread(), warp(), lane(), threads()            this thread; threads of the CTA
//     int block(axis), blocks(axis)                      axis 0, 1, 2
//   Threads among themselves
//     void sync(w)                                       barrier of all threads of the CTA
//     bool sync_or(bool x, w)                            the same, returns whether x holds for any thread
//     void sync_warp(w)                                  barrier of a warp (orders shared memory within it); collective
//     T shuffle(T x, int lane, w), shuffle_xor(T x, int mask, w), shuffle_up(T x, int by, w), shuffle_down(T x, int by, w)
//                                                        of 32-bit T; collective; up and down return x itself past the end
//     bool elect(w)                                      true for one thread of the warp, always the same one; collective
//   Shared memory (byte offsets; scalars of 2 or 4 bytes, naturally aligned)
//     T shared_load<T>(offset, w); void shared_store<T>(offset, value, w)
//     shared_load_piece<T>(offset, T (&values)[16 / sizeof(T)], w), shared_store_piece<T>(offset, values, w)     16 bytes, aligned
//     shared_store<T>(offset, value, layout, w), shared_store_piece<T>(offset, values, layout, w)
//                                                        the same, of an element of a matrix stored like that: what operands need
//     uint32_t shared_base()                             absolute address of offset 0, a multiple of 1024
//   Tensor Memory (addresses are lane << 16 | column; the warp w may touch lanes 32 (w % 4) .. + 31 only)
//     void allocate(slot, columns, w), relinquish(w), deallocate(address, columns, w)             collective, one warp
//     template <int N> Registers<N>                      N 32-bit registers: get(j, w), set(j, bits, w)
//     void load_32x32b<N>(Registers<N>&, address, w), store_32x32b<N>(...)                        collective
//         thread t, register j: lane t, column j
//     void load_16x32bx2<N, SECOND>(Registers<N>&, address, w), store_16x32bx2<N, SECOND>(...)    collective
//         thread t, register j: lane t % 16, column j + (t < 16 ? 0 : SECOND)
//     store_32x32b<N>(registers, address, format, w), store_16x32bx2<N, SECOND>(registers, address, format, w)
//                                                        the same, of elements of an operand A: what products need
//     void wait_load(w), wait_store(w)                   collective
//     void fence_before(w), fence_after(w)               around a barrier that orders Tensor Memory between threads
//   Matrix unit
//     mma<T>(d, a_descriptor, b_descriptor, instruction, accumulate, w)      one thread; A and B in shared memory
//     mma_tensor<T>(d, a_address, b_descriptor, instruction, accumulate, w)  one thread; A in Tensor Memory
//     void fence_proxy_async(w)                          each thread that wrote operands, before the barrier
//     void barrier_init(offset, w), commit(offset, w), barrier_wait(offset, parity, w)
//   constant ONE_THREAD_ISSUES: whether mma and commit are for one elected thread (product() and commit() see to it)
//
// Kernels should say what they mean by tiles.h and product.h, and use the primitives only where those do not reach:
//
//     SharedMatrix<Bf16, 64, 64> q{Q_OFFSET}, k{K_OFFSET};
//     uint32_t base = allocate<256>(cta, SLOT);
//     Completion done{BARRIER}; prepare(cta, done); cta.sync();
//     ... q.store(cta, r, c, value) ...
//     publish(cta);
//     auto s = Accumulator<64, 64>::at(base, 0);
//     product(cta, s, rows(q), rows(k));                 // q k^T
//     finish(cta, done);
//     Fragment<Cta, 64, 64> x;
//     load(cta, s, x); cta.wait_load();
//     ... x.get(j) is element (x.row(cta), x.column(cta, j)) ...
//     release<256>(cta, base);
#pragma once

#include "product.h"
