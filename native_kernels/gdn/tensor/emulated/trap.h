// What the emulator finds wrong with a kernel. A trap ends the launch and is returned to the caller; it never ends the process.
#pragma once

#include <cstdarg>
#include <cstdio>

#include "../types.h"

namespace tensor::emulated {

enum class TrapKind : int {
    NONE,
    ALLOC_SIZE,
    ALLOC_EXCEEDS,
    ALLOC_INCREASES,
    ALLOC_AFTER_RELINQUISH,
    ALLOC_OTHER_WARP,
    ALLOC_LEAK,
    DEALLOC_MISMATCH,
    USE_AFTER_DEALLOC,
    COLUMNS_NOT_ALLOCATED,
    COLUMNS_OUT_OF_RANGE,
    READ_UNWRITTEN,
    LANE_PARTITION,
    MISSING_WAIT,
    MISSING_FENCE,
    MISSING_BARRIER,
    MISSING_PROXY_FENCE,
    MISSING_COMMIT,
    BARRIER_STATE,
    DESCRIPTOR_FIELD,
    DESCRIPTOR_LAYOUT,
    INSTRUCTION_FIELD,
    OPERAND_OVERWRITTEN,
    SHARED_BOUNDS,
    SHARED_ALIGNMENT,
    SHARED_RACE,
    SHARED_UNWRITTEN,
    DIVERGENT_COLLECTIVE,
    DEADLOCK,
    COUNT,
};

// The name by which tests and callers know a trap.
inline const char* name_of(TrapKind kind) {
    static constexpr const char* NAMES[] = {
        "none",
        "alloc-size",              // columns are no power of two from 32 to 512
        "alloc-exceeds",           // more than 512 columns in all
        "alloc-increases",         // a later allocation of the CTA is larger than an earlier one
        "alloc-after-relinquish",  // the CTA gave its right to allocate back
        "alloc-other-warp",        // two warps of a CTA allocate
        "alloc-leak",              // columns still allocated when the CTA ends
        "dealloc-mismatch",        // what is freed was not allocated so
        "use-after-dealloc",
        "columns-not-allocated",
        "columns-out-of-range",  // past column 511
        "read-unwritten",        // Tensor Memory that nothing was written to
        "lane-partition",        // a warp reaches for lanes of another one, or A and D lie in different halves
        "missing-wait",          // load, store or product not waited for
        "missing-fence",         // waited for, but not fenced at the barrier between two threads
        "missing-barrier",       // waited for, but no barrier between two threads
        "missing-proxy-fence",   // operands written without fence.proxy.async before the barrier
        "missing-commit",        // a wait for an mbarrier at which nothing will arrive
        "barrier-state",         // mbarrier not initialised, initialised twice, or overwritten
        "descriptor-field",
        "descriptor-layout",  // the descriptor does not find the matrix as it was stored
        "instruction-field",
        "operand-overwritten",  // shared memory written while a product may still read it
        "shared-bounds",
        "shared-alignment",
        "shared-race",  // two threads at one address without a barrier between them
        "shared-unwritten",
        "divergent-collective",  // threads of a warp call different collectives
        "deadlock",
    };
    static_assert(sizeof(NAMES) / sizeof(NAMES[0]) == static_cast<int>(TrapKind::COUNT), "a name for each kind");
    return NAMES[static_cast<int>(kind)];
}

struct Trap {
    TrapKind kind = TrapKind::NONE;
    char message[240] = "";  // what, with its numbers
    const char* file = "";   // the kernel's line
    int line = 0;
    int thread = -1;
    int block[3] = {0, 0, 0};

    explicit operator bool() const { return kind != TrapKind::NONE; }
};

}  // namespace tensor::emulated
