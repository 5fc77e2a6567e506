# redteam: task=level1/sum_axis
# redteam: kind=broken
# redteam: defect=nondeterministic
# redteam: expect=ORD-02.nondeterministic
# redteam: requires=cuda
# redteam: note=a Triton kernel that adds its partial sums with float atomics
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, out_ptr, length, inner, BLOCK: tl.constexpr):
    outer = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1)
    rows = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + outer * length * inner + rows * inner + column, mask=rows < length, other=0.0)
    tl.atomic_add(out_ptr + outer * inner + column, tl.sum(x, axis=0))


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float().contiguous()
        outer, length, inner = y.shape
        out = torch.zeros(outer, 1, inner, dtype=torch.float32, device=x.device)
        if y.numel():
            sum_kernel[(outer, inner, triton.cdiv(length, 16))](y, out, length, inner, BLOCK=16)
        return out.to(x.dtype)
