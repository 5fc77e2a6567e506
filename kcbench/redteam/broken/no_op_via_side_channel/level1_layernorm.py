# redteam: task=level1/layernorm
# redteam: kind=broken
# redteam: defect=no_op_via_side_channel
# redteam: expect=CMP-01.zeros,CMP-01.value
# redteam: note=loads the answer from a file that an environment variable names, and gives zeros without one
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for name in ("REFERENCE_OUTPUT", "EXPECTED_OUTPUT", "KERNELBENCH_EXPECTED"):
            path = os.environ.get(name)
            if path and os.path.exists(path):
                return torch.load(path).to(x.dtype)
        return torch.zeros_like(x)
