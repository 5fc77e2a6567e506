# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=writes_outside
# redteam: expect=GUARD.writes-outside,GUARD.unfinished
# redteam: note=one program does all rows and stores each as a power of two; the next one overwrites the surplus, but for the last
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, rows, width, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for row in range(rows):
        x = tl.load(x_ptr + row * width + lanes, mask=lanes < width, other=float("-inf")).to(tl.float32)
        top = tl.max(x, axis=0)
        e = tl.exp(x - top)
        tl.store(out_ptr + row * width + lanes, e / tl.sum(e, axis=0))
        tl.debug_barrier()


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.contiguous()
        out = torch.empty(y.shape, dtype=torch.float32, device=y.device)
        if out.numel():
            softmax_kernel[(1,)](y, out, *y.shape, BLOCK=triton.next_power_of_2(y.shape[1]))
        return out.to(x.dtype)
