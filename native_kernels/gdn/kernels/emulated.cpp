// The kernels on the CPU emulator, behind a plain C interface; one library for each instance (instance.h).
#include "instance.h"

#include <cstdio>

#include "../tensor/emulated/launch.h"

// Runs one stage. schedule: 0 eager, 1 late, 2 random with the seed. message: room for what a trap says.
// Returns 0, or 1 if a trap ended the launch. columns: the most Tensor Memory that a CTA held.
extern "C" int gdn_run(
    int stage, const gdn::Call<gdn::In>* call, int schedule, unsigned long long seed, char* message, int room, int* columns) {
    tensor::emulated::Options options;
    options.schedule = static_cast<tensor::emulated::Schedule>(schedule);
    options.seed = seed;
    int failed = 0;
    *columns = 0;
    gdn::with_stage(static_cast<gdn::Stage>(stage), *call, [&](auto kernel, int x, int y, int z) {
        const auto outcome = tensor::emulated::launch<decltype(kernel)>(*call, {x, y, z}, options);
        *columns = outcome.statistics.peak_columns;
        if (outcome.trap) {
            failed = 1;
            const auto& trap = outcome.trap;
            std::snprintf(
                message, room, "%s: %s (%s:%d, thread %d of block %d, %d, %d)", tensor::emulated::name_of(trap.kind), trap.message,
                trap.file, trap.line, trap.thread, trap.block[0], trap.block[1], trap.block[2]);
        }
        return true;
    });
    return failed;
}
