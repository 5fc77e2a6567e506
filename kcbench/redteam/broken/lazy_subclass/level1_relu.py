# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=lazy_subclass
# redteam: expect=GUARD.subclass
# redteam: note=returns a tensor subclass that computes when its values are looked at, after the timer has stopped
import torch
import torch.nn as nn


class Later(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function(*(now(value) for value in args), **{key: now(value) for key, value in (kwargs or {}).items()})


def now(value):
    if isinstance(value, Later):
        with torch._C.DisableTorchFunctionSubclass():
            return torch.relu(value.as_subclass(torch.Tensor))
    return value


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.detach().clone().as_subclass(Later)
