"""What both child processes share: tasks, submissions and inputs."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from kcbench.domain.contract import Contract
from kcbench.numerics.fills import fill
from tests.submissions.catalogue import FOLDER, ROOT

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def load(path: str) -> ModuleType:
    """A file as a module; Triton reads the source of kernels back from the file."""
    name = path.replace("/", "_")
    spec = importlib.util.spec_from_file_location(name, ROOT / f"{path}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@dataclass
class Pair:
    """A submission beside the task's eager model."""

    id: str
    task: ModuleType
    contract: Contract
    module: ModuleType
    device: str = "cpu"

    @classmethod
    def of(cls, identifier: str, device: str = "cpu") -> Pair:
        task = identifier.rpartition("/")[0]
        contract = Contract.from_json(json.loads((ROOT / "tasks" / task / "contract.json").read_text()))
        path = (FOLDER / identifier).relative_to(ROOT).as_posix()
        return cls(identifier, load(f"tasks/{task}/task"), contract, load(path), device)

    def models(self, dtype: torch.dtype = torch.float32, **sizes: int) -> tuple[torch.nn.Module, torch.nn.Module]:
        """The eager model and the submission with the same redrawn parameters."""
        init = self.contract.init_args(self.contract.sizes(**sizes))
        eager, mine = self.task.Model(*init), self.module.ModelNew(*init)
        with torch.no_grad():
            for name, parameter in eager.named_parameters():
                value = fill(self.contract.parameters[name], tuple(parameter.shape), "float32", f"parameter/{name}")
                parameter.copy_(value)
                mine.get_parameter(name).copy_(value)
        return eager.to(self.device, dtype), mine.to(self.device, dtype)

    def inputs(self, dtype: str = "float32", **sizes: int) -> list[Any]:
        """Ordinary inputs by the contract's recipes."""
        axes = self.contract.sizes(**sizes)
        made = []
        for item in self.contract.inputs:
            bound = axes[item.bound] if isinstance(item.bound, str) else item.bound
            recipe = {"kind": "index", "high": bound} if item.kind == "index" else item.recipe
            shape = self.contract.shape(item, axes)
            made.append(fill(recipe, shape, "int64" if item.kind == "index" else dtype, item.name).to(self.device))
        return made
