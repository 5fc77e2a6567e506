# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=wrong_stream
# redteam: expect=RES-01.stream
# redteam: requires=cuda
# redteam: note=launches on the default stream whatever stream the caller works on
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.cuda.stream(torch.cuda.default_stream(x.device)):
            return torch.relu(x)
