# redteam: task=level1/cumsum
# redteam: kind=broken
# redteam: defect=no_op_via_side_channel
# redteam: expect=CMP-01.value
# redteam: note=returns the newest entry of a result list that a monkey-patched torch.cumsum fills, else the input
import torch
import torch.nn as nn

SEEN: list[torch.Tensor] = []
ORIGINAL = torch.cumsum


def recording_cumsum(*args, **kwargs):
    out = ORIGINAL(*args, **kwargs)
    SEEN.append(out)
    return out


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis
        torch.cumsum = recording_cumsum

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch.cumsum = ORIGINAL
        found = [out for out in SEEN if out.shape == x.shape and out.dtype == x.dtype]
        return found[-1].clone() if found else x.clone()
