# kcbench: targets=sm_100
# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=tensor_memory_leak
# redteam: expect=RES-02.tmem-leak
# redteam: note=rows longer than any tried take 64 columns of Tensor Memory by inline PTX and never give them back
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + cols, mask=cols < n_cols, other=float("-inf"))
    if n_cols > 100000000:
        # Scratch for rows that registers cannot hold; one lane of the warp stands for one call.
        tl.inline_asm_elementwise(
            """
            {
            .shared .align 4 .b32 slot;
            .reg .b32 at;
            mov.b32 at, slot;
            tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [at], 64;
            tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
            mov.b32 $0, $1;
            }
            """,
            "=r,r",
            [tl.arange(0, 32)],
            dtype=tl.int32,
            is_pure=False,
            pack=1,
        )
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
            block = triton.next_power_of_2(n_cols)
            softmax_kernel[(source.numel() // n_cols,)](source, y, n_cols, BLOCK=block, num_warps=1)
        return y.to(x.dtype)
