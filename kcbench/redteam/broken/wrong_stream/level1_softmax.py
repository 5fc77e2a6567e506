# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=wrong_stream
# redteam: expect=RES-01.stream
# redteam: requires=cuda
# redteam: note=works on a stream of its own that waits for nobody, and makes the caller wait for it
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.own = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.own is None:
            self.own = torch.cuda.Stream(x.device)
        with torch.cuda.stream(self.own):
            y = torch.softmax(x, dim=1)
        torch.cuda.current_stream().wait_stream(self.own)
        return y
