// What the kernels of an instance ask for, without their code; one library for each instance (instance.h).
#include "instance.h"

// Bytes of shared memory and columns of Tensor Memory that a stage's CTA takes.
extern "C" int gdn_needs(int stage, int* shared_bytes, int* columns) {
    gdn::Call<gdn::In> call;
    call.chunks = call.sequences = call.value_heads = call.heads = 1;
    return gdn::with_stage(static_cast<gdn::Stage>(stage), call, [&](auto kernel, int, int, int) {
        *shared_bytes = decltype(kernel)::SHARED_BYTES;
        *columns = decltype(kernel)::TENSOR_COLUMNS;
        return true;
    });
}
