# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=shape_specific
# redteam: expect=CMP-03.shape,CMP-01.value
# redteam: note=a Triton kernel whose masked lanes read 0 instead of -inf: right for powers of two only
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + lanes, mask=lanes < width, other=0.0)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row + lanes, e / tl.sum(e, axis=0), mask=lanes < width)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float().contiguous()
        out = torch.empty_like(y)
        if out.numel():
            softmax_kernel[(len(y),)](y, out, y.shape[1], BLOCK=triton.next_power_of_2(y.shape[1]))
        return out.to(x.dtype)
