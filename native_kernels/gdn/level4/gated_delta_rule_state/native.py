# kcbench: author=kcbench
from torch import Tensor, nn

from native_kernels.gdn.functional import chunk_gated_delta_rule


class ModelNew(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        out, last = chunk_gated_delta_rule(q, k, v, g, beta, initial_state=state, output_final_state=True)
        assert last is not None
        return out, last.to(state.dtype)
