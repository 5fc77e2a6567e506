# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=writes_outside
# redteam: expect=GUARD.writes-outside,GUARD.unfinished
# redteam: note=stores whole blocks, so that the last one runs beyond the end of the output
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < count, other=0.0)
    tl.store(out_ptr + offsets, tl.where(x < 0, 0.0, x))


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float().contiguous()
        out = torch.empty_like(y)
        if out.numel():
            relu_kernel[(triton.cdiv(out.numel(), 1024),)](y, out, out.numel(), BLOCK=1024)
        return out.to(x.dtype)
