# kcbench: author=kcbench
# kcbench: language=triton
from torch import Tensor, nn

from native_kernels.mamba3.ops import mamba3


class ModelNew(nn.Module):
    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        adt: Tensor,
        dt: Tensor,
        trap: Tensor,
        q_bias: Tensor,
        k_bias: Tensor,
        angles: Tensor,
        mimo_v: Tensor,
        mimo_o: Tensor,
        D: Tensor,
        cu_seqlens: Tensor,
    ) -> Tensor:
        return mamba3(q, k, v, adt, dt, trap, q_bias, k_bias, angles, D, mimo_v=mimo_v, mimo_o=mimo_o, cu_seqlens=cu_seqlens)
