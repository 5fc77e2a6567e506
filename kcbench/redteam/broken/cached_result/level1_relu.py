# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=cached_result
# redteam: expect=GUARD.stateful,CMP-01.value,EXC-01.absorbed
# redteam: note=caches results by the input's address, which other tensors get later
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.results = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        key = (x.data_ptr(), tuple(x.shape), x.stride(), x.dtype)
        if key not in self.results:
            self.results[key] = torch.relu(x.detach())
        return self.results[key].clone()
