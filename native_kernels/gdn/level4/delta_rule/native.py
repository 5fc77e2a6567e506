# kcbench: author=kcbench
from torch import Tensor, nn

from native_kernels.gdn.functional import chunk_delta_rule


class ModelNew(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor, beta: Tensor) -> Tensor:
        return chunk_delta_rule(q, k, v, beta=beta)[0]
