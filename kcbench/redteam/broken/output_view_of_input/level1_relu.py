# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=output_view_of_input
# redteam: expect=ORD-02.alias-input
# redteam: note=returns the input itself when nothing in it is negative
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if bool((x >= 0).all()) else torch.relu(x)
