# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=nan_to_num
# redteam: expect=EXC-01.absorbed
# redteam: note=a Triton kernel with tl.maximum, which drops NaN unless told to propagate it
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float().contiguous()
        out = torch.empty_like(y)
        if out.numel():
            relu_kernel[(triton.cdiv(out.numel(), 256),)](y, out, out.numel(), BLOCK=256)
        return out.to(x.dtype)
