"""A submission's parameters and the task's: what is redrawn where their names agree, and what where they do not."""

from __future__ import annotations

import pytest

from kcbench.engine import Options, evaluate

LAYERNORM = """
import torch, torch.nn as nn, torch.nn.functional as F

class Norm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.{weight} = nn.Parameter(torch.ones(dim))
        self.{bias} = nn.Parameter(torch.zeros(dim))

class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = Norm(dim)

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.norm.{weight}, self.norm.{bias}, eps=1e-5)
"""


@pytest.mark.parametrize(
    ("weight", "bias", "labels"),
    [
        ("weight", "bias", ("torch",)),
        ("weight", "shift", ("torch", "seeded-weights")),
        ("gain", "shift", ("torch", "seeded-weights")),
    ],
)
def test_an_honest_kernel_may_name_its_parameters_as_it_likes(weight: str, bias: str, labels: tuple[str, ...]) -> None:
    source = LAYERNORM.format(weight=weight, bias=bias)
    result = evaluate("level1/layernorm", source, options=Options(seed="names", device="cpu", legacy=()))
    assert (result.clean, result.codes, result.labels) == (True, (), labels)
