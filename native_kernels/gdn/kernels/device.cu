// The kernels on a GPU, behind a plain C interface like that of the emulator; one library for each instance (instance.h).
//   GDN_BACKEND  sm100 (Tensor Memory), sm90 (mma.sync) or software (the emulated arithmetic, on any card)
#include "instance.h"

#include "../tensor/cuda_launch.h"

#define GDN_QUOTED(path) #path
#define GDN_HEADER(path) GDN_QUOTED(path)
#include GDN_HEADER(../tensor/GDN_BACKEND.h)

using Cta = tensor::GDN_BACKEND::Cta;

// Bytes of device memory that gdn_launch() needs as scratch for a stage; 0 where the card has Tensor Memory.
extern "C" unsigned long long gdn_scratch(int stage, const gdn::Call<gdn::In>* call) {
    unsigned long long bytes = 0;
    gdn::with_stage(static_cast<gdn::Stage>(stage), *call, [&](auto, int x, int y, int z) {
        bytes = tensor::scratch_bytes<Cta>(dim3(x, y, z));
        return true;
    });
    return bytes;
}

// Starts one stage on a stream. Returns 0, or a cudaError_t.
extern "C" int gdn_launch(int stage, const gdn::Call<gdn::In>* call, void* stream, void* scratch) {
    cudaError_t error = cudaSuccess;
    gdn::with_stage(static_cast<gdn::Stage>(stage), *call, [&](auto kernel, int x, int y, int z) {
        error = tensor::launch<decltype(kernel), Cta>(
            *call, dim3(x, y, z), static_cast<cudaStream_t>(stream), static_cast<uint32_t*>(scratch));
        return true;
    });
    return static_cast<int>(error);
}

extern "C" const char* gdn_error(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }
