# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=buffer_aliasing
# redteam: expect=ORD-02.alias-output
# redteam: note=returns views of one module-level arena
import torch
import torch.nn as nn

ARENA: dict[tuple[str, torch.dtype], torch.Tensor] = {}


class ModelNew(nn.Module):
    @torch.no_grad()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        key = (str(x.device), x.dtype)
        arena = ARENA.get(key)
        if arena is None or arena.numel() < x.numel():
            arena = ARENA[key] = torch.empty(x.numel(), dtype=x.dtype, device=x.device)
        return arena[: x.numel()].view(x.shape).copy_(torch.softmax(x, dim=1))
