// The emulator's side of agree.cu: compiled without CUDA.
#include "check_kernels.h"
#include "emulated/launch.h"

using namespace tensor;

// d[m x n] = a[m x k] b[k x n] + d, one instruction; everything as stored bits.
void emulated_tile(int format, int m, int n, int k, const uint32_t* a, const uint32_t* b, uint32_t* d) {
    static emulated::Elements left, right;
    left.resize(static_cast<size_t>(m) * k);
    right.resize(static_cast<size_t>(k) * n);
    for (int i = 0; i < m * k; ++i) left.set(i, unit::decoded(static_cast<Format>(format), a[i]));
    for (int i = 0; i < k * n; ++i) right.set(i, unit::decoded(static_cast<Format>(format), b[i]));
    emulated::multiply(left, right, m, n, k, true, d);
}

// Kernel number `index` on the emulator; false, with the reason on stderr, where it traps.
bool emulated_kernel(int index, const check::Operands& operands) {
    int number = 0;
    bool clean = true;
    check::for_each_kernel([&](const char* name, auto kernel) {
        if (number++ != index) return;
        const auto outcome = emulated::launch<decltype(kernel)>(operands);
        clean = !outcome.trap;
        if (!clean) fprintf(stderr, "%s: %s: %s\n", name, emulated::name_of(outcome.trap.kind), outcome.trap.message);
    });
    return clean;
}
