# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=too_many_registers
# redteam: expect=RES-02.registers
# redteam: note=allows 255 registers in each of 512 threads, twice what a multiprocessor has, so that no GPU launches it
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + cols, mask=cols < n_cols, other=float("-inf"))
    peak = tl.max(x, axis=0)
    peak = tl.where(peak == float("-inf"), 0.0, peak)
    e = tl.exp(x - peak)
    total = tl.sum(e, axis=0)
    tl.store(y_ptr + row + cols, e / total, mask=cols < n_cols)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        source = x.float().contiguous()
        y = torch.empty_like(source)
        if source.numel():
            n_cols = source.shape[-1]
            block = max(65536, triton.next_power_of_2(n_cols))
            softmax_kernel[(source.numel() // n_cols,)](source, y, n_cols, BLOCK=block, num_warps=16, maxnreg=255)
        return y.to(x.dtype)
