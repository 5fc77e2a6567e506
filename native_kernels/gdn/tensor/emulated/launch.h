// Starts a kernel on the emulator: CTA after CTA, on the calling thread.
#pragma once

#include "cta.h"

namespace tensor::emulated {

struct Grid {
    int x = 1, y = 1, z = 1;
};

struct Outcome {
    Trap trap;
    Statistics statistics;
};

// Runs every CTA of the grid, or up to the first trap. shared_bytes, seed and schedule: see Options; threads is the kernel's.
template <class Kernel>
Outcome launch(const typename Kernel::Params& params, Grid grid = {}, Options options = {}) {
    options.threads = Kernel::THREADS;
    if (options.shared_bytes == 0) options.shared_bytes = Kernel::SHARED_BYTES;
    std::deque<Fiber> fibers(options.threads);
    Outcome outcome;
    const int blocks[3] = {grid.x, grid.y, grid.z};
    const uint64_t seed = options.seed;
    uint64_t number = 0;
    for (int z = 0; z < grid.z; ++z)
        for (int y = 0; y < grid.y; ++y)
            for (int x = 0; x < grid.x; ++x) {
                const int block[3] = {x, y, z};
                options.seed = seed + 0x9E3779B9u * number++;
                auto machine = std::make_unique<Machine>(options);
                auto body = [&](int thread) {
                    Cta cta(*machine, thread, block, blocks);
                    Kernel::run(cta, params);
                };
                outcome.trap = machine->run(fibers, block, body);
                const Statistics mine = machine->statistics();
                outcome.statistics.products += mine.products;
                outcome.statistics.barriers += mine.barriers;
                outcome.statistics.peak_columns = std::max(outcome.statistics.peak_columns, mine.peak_columns);
                if (outcome.trap) return outcome;
            }
    return outcome;
}

}  // namespace tensor::emulated
