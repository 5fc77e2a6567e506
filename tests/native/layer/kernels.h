// Small kernels for the tests of the tensor layer, and a table by which Python finds them.
#pragma once

#include <cstring>
#include <map>
#include <string>

#include "../../../native_kernels/gdn/tensor/api.h"
#include "../../../native_kernels/gdn/tensor/emulated/launch.h"

namespace layer_tests {

using namespace tensor;

// What a launch tells Python.
struct Result {
    int kind;
    char name[40];
    char message[240];
    char file[240];
    int line;
    int thread;
    int block[3];
    long long products;
    long long barriers;
    int peak_columns;
};

inline void report(const emulated::Outcome& outcome, Result* result) {
    result->kind = static_cast<int>(outcome.trap.kind);
    snprintf(result->name, sizeof(result->name), "%s", emulated::name_of(outcome.trap.kind));
    snprintf(result->message, sizeof(result->message), "%s", outcome.trap.message);
    snprintf(result->file, sizeof(result->file), "%s", outcome.trap.file);
    result->line = outcome.trap.line;
    result->thread = outcome.trap.thread;
    for (int i = 0; i < 3; ++i) result->block[i] = outcome.trap.block[i];
    result->products = outcome.statistics.products;
    result->barriers = outcome.statistics.barriers;
    result->peak_columns = outcome.statistics.peak_columns;
}

// What every small kernel gets: operands and room for results in global memory.
struct Data {
    const float* a;
    const float* b;
    float* d;
};

using Body = void (*)(emulated::Cta&, const Data&);

// Threads that run one of the bodies below.
template <int THREADS_>
struct SmallKernel {
    struct Params {
        Body body;
        Data data;
    };
    static constexpr int THREADS = THREADS_;
    static constexpr int SHARED_BYTES = 33000;
    static void run(emulated::Cta& cta, const Params& params) { params.body(cta, params.data); }
};

struct Case {
    Body body;
    int threads;
};

inline std::map<std::string, Case>& cases() {
    static std::map<std::string, Case> table;
    return table;
}

// Offsets in shared memory that the small kernels use.
constexpr uint32_t A_OFFSET = 0, B_OFFSET = 16384, SLOT = 32768, BARRIER = 32776;

}  // namespace layer_tests

// CASE(name) { body } defines a kernel of 128 threads whose body sees `cta` and `data`, and enters it in the table.
#define CASE(NAME) CASE_OF(NAME, 128)
#define CASE_OF(NAME, THREADS)                                                                           \
    void NAME(emulated::Cta& cta, const Data& data);                                                     \
    [[maybe_unused]] const bool NAME##_entered = cases().try_emplace(#NAME, Case{NAME, THREADS}).second; \
    void NAME([[maybe_unused]] emulated::Cta& cta, [[maybe_unused]] const Data& data)
