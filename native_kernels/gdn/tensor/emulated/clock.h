// What happened before what: a clock of events, and what each barrier of the CTA made known.
#pragma once

#include <vector>

#include "trap.h"

namespace tensor::emulated {

constexpr int WARP = 32;

// Every access gets a time. An access of thread t at time s precedes what thread u does now, if t is u, if a barrier of the CTA completed
// after s (no thread runs between its arrival and the completion), or if t and u share a warp that had its own barrier after s.
struct Clock {
    explicit Clock(int threads)
        : proxy_fence(threads), proxy_at_sync(threads), proxy_at_warp_sync(threads), warp_sync(threads / WARP),
          fence_before(threads), fence_after(threads), acquired(threads, -1) {}

    uint32_t now = 1;
    uint32_t sync = 0;        // time of the last CTA barrier
    int generation = -1;      // CTA barriers completed, less one
    std::vector<uint32_t> proxy_fence;         // by thread: time of its last fence.proxy.async
    std::vector<uint32_t> proxy_at_sync;       // the same, as it stood at the last CTA barrier
    std::vector<uint32_t> proxy_at_warp_sync;  // the same, at the last barrier of the thread's warp
    std::vector<uint32_t> warp_sync;           // by warp: time of its last barrier
    std::vector<uint32_t> fence_before, fence_after;  // by thread: times of the last tcgen05 fences
    std::vector<int> acquired;                        // by thread: generation of the barrier that its last fence_after came after

    bool precedes(int thread, uint32_t time, int observer) const {
        return thread == observer || time < sync || (thread / WARP == observer / WARP && time < warp_sync[observer / WARP]);
    }

    // The same for what the asynchronous proxy (the matrix unit) reads on behalf of observer.
    bool visible_to_proxy(int thread, uint32_t time, int observer) const {
        if (thread == observer) return time < proxy_fence[thread];
        return time < proxy_at_sync[thread] ||
               (thread / WARP == observer / WARP && time < proxy_at_warp_sync[thread]);
    }

    void complete_sync() {
        sync = ++now;
        ++generation;
        proxy_at_sync = proxy_fence;
    }

    void complete_warp_sync(int warp) {
        warp_sync[warp] = ++now;
        for (int t = warp * WARP; t < (warp + 1) * WARP; ++t) proxy_at_warp_sync[t] = proxy_fence[t];
    }
};

}  // namespace tensor::emulated
