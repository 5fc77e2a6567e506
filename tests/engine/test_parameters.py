"""A submission's parameters and the task's: what is redrawn where their names agree, and what where they do not."""

from __future__ import annotations

from kcbench.engine import Options, run
from kcbench.suites.folder import parse_submission

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


def test_an_honest_kernel_may_name_its_parameters_as_it_likes() -> None:
    labels = {"weight-bias": ("torch",), "weight-shift": ("torch", "seeded-weights"), "gain-shift": ("torch", "seeded-weights")}
    items = []
    for name in labels:
        weight, bias = name.split("-")
        source = LAYERNORM.format(weight=weight, bias=bias)
        items.append(parse_submission(source, path="<source>", id=name, task="level1/layernorm"))
    results = run(items, Options(seed="names", device="cpu", legacy=()))
    assert {result.id: (result.clean, result.codes, result.labels) for result in results} == {
        name: (True, (), expected) for name, expected in labels.items()
    }
