# kcbench: author=kcbench
# kcbench: language=triton
from torch import Tensor, nn

from native_kernels.mamba3.ops import mamba3_step


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
        state: Tensor,
        angle: Tensor,
        prev_k: Tensor,
        prev_v: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return mamba3_step(
            q, k, v, adt, dt, trap, q_bias, k_bias, angles, D, state, angle, prev_k, prev_v, mimo_v=mimo_v, mimo_o=mimo_o
        )
