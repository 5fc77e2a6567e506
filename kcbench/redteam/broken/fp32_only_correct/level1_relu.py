# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=fp32_only_correct
# redteam: expect=PRC-01.value
# redteam: note=counts elements as bytes over four, so that half of a 16-bit tensor is never processed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.flatten()
        count = flat.numel() * flat.element_size() // 4
        done = torch.relu(flat[:count])
        return torch.cat((done, torch.zeros_like(flat[count:]))).view(x.shape)
