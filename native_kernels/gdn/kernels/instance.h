// The one instance of the kernels that a library is built for, from macros:
//   GDN_IN, GDN_OPERAND    Bf16, Fp16 or float; Bf16 or Fp16
//   GDN_INPUTS, GDN_VALUES operands for one value of an input, for one computed value
//   GDN_K, GDN_BV          key dimension; value columns at a time
//   GDN_GATE, GDN_DELTA    NONE, SCALAR or CHANNEL; true or false
#pragma once

#include "gradients.h"
#include "prepare.h"
#include "reverse_scan.h"
#include "scan.h"

namespace gdn {

using In = GDN_IN;
using Instance = Config<In, GDN_OPERAND, GDN_INPUTS, GDN_VALUES, GDN_K, GDN_BV, Gate::GDN_GATE, GDN_DELTA>;

enum class Stage : int { PREPARE, SCAN, REVERSE_SCAN, GRADIENTS };

// Calls start(kernel, x, y, z) with the kernel of a stage (a value of its type) and its grid; false if nothing is to be done.
template <class Start>
bool with_stage(Stage stage, const Call<In>& call, Start start) {
    const int blocks = call.value_dim / Instance::BV;
    switch (stage) {
        case Stage::PREPARE: return call.chunks > 0 && start(Prepare<Instance>{}, call.chunks, call.value_heads, 1);
        case Stage::SCAN: return call.sequences > 0 && start(Scan<Instance>{}, call.sequences, call.value_heads, blocks);
        case Stage::REVERSE_SCAN: return call.sequences > 0 && start(ReverseScan<Instance>{}, call.sequences, call.value_heads, blocks);
        case Stage::GRADIENTS: return call.chunks > 0 && start(Gradients<Instance>{}, call.chunks, call.heads, 1);
    }
    return false;
}

}  // namespace gdn
