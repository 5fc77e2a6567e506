// Kernels for the tests that compile for a card: BACKEND is sm100, sm90 or software.
#include "../../../native_kernels/gdn/tensor/check_kernels.h"
#include "../../../native_kernels/gdn/tensor/cuda_launch.h"
#include "../../../native_kernels/gdn/tensor/sm100.h"
#include "../../../native_kernels/gdn/tensor/sm90.h"
#include "../../../native_kernels/gdn/tensor/software.h"

using namespace tensor;
using Half = check::ProductKernel<Bf16, 64, 64, 64, true, false>;
using Full = check::ProductKernel<Fp16, 128, 64, 64, false, true>;
using Wide = check::ProductKernel<Tf32, 64, 64, 64, true, true>;

template __global__ void tensor::entry<Half, BACKEND::Cta>(const __grid_constant__ check::Operands, uint32_t*, int);
template __global__ void tensor::entry<Full, BACKEND::Cta>(const __grid_constant__ check::Operands, uint32_t*, int);
template __global__ void tensor::entry<Wide, BACKEND::Cta>(const __grid_constant__ check::Operands, uint32_t*, int);
