"""A problem at any sizes: its inputs, constructor arguments and model, made anew each time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from kcbench.errors import KcbenchError
from kcbench.infer.sites import Sites, find_sites
from kcbench.oracle.draw import MODEL_SEED
from kcbench.oracle.eager import as_tuple
from kcbench.oracle.module import problem_module
from kcbench.oracle.seeding import seeded

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Problem:
    """KernelBench-format source whose sizes can be set. Models are rebuilt from the source, never copied."""

    name: str
    sites: Sites
    _shapes: dict[tuple[int, ...], tuple[list[Any], list[Any]]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def parse(cls, code: str, *, name: str) -> Problem:
        """Read a problem; KcbenchError where it cannot be parsed."""
        return cls(name, find_sites(code, where=name))

    def holding(self, names: Collection[str]) -> Problem:
        """The same problem with some sizes held at their values."""
        constants = {name: value for name, value in self.constants.items() if name not in names}
        return Problem(self.name, Sites(self.sites.code, constants))

    @property
    def constants(self) -> dict[str, int]:
        """The sizes that the problem has, by name."""
        return self.sites.constants

    def module(self, sizes: Sizes) -> Any:
        """The problem's module at some sizes; the others keep their values."""
        return problem_module(self.sites.code, sizes, name=f"kcbench_problem_{self.name}", where=self.name)

    def interface(self, sizes: Sizes) -> tuple[list[Any], list[Any]]:
        """What ``get_inputs`` (on the meta device: shapes and dtypes only) and ``get_init_inputs`` return at some sizes."""
        key = tuple({**self.constants, **sizes}.values())
        if key not in self._shapes:
            module = self.module(sizes)
            try:
                with torch.device("meta"):
                    inputs = list(module.get_inputs())
            except Exception:  # A generator that reads a value cannot run without values.
                with seeded(0):
                    inputs = [value.to("meta") if isinstance(value, Tensor) else value for value in module.get_inputs()]
            self._shapes[key] = inputs, list(module.get_init_inputs())
        return self._shapes[key]

    def inputs(self, sizes: Sizes, *, seed: int = 0) -> list[Any]:
        """One draw of the problem's own inputs."""
        module = self.module(sizes)
        with seeded(seed):
            return list(module.get_inputs())

    def model(self, sizes: Sizes, *, meta: bool = False) -> nn.Module:
        """The model as KernelBench constructs it; on the meta device if wanted."""
        module = self.module(sizes)
        init = list(module.get_init_inputs())
        if meta:
            with torch.device("meta"):
                return module.Model(*init)  # type: ignore[no-any-return]
        with seeded(MODEL_SEED):
            return module.Model(*init)  # type: ignore[no-any-return]

    def check(self) -> None:
        """Run what is cheap at the problem's own sizes.

        Raises:
            KcbenchError: The module does not run, or its generators fail.
        """
        try:
            inputs, _ = self.interface({})
        except KcbenchError:
            raise
        except Exception as error:
            raise KcbenchError(f"get_inputs or get_init_inputs fails: {_line(error)}", where=self.name) from error
        if not any(isinstance(value, Tensor) for value in inputs):
            raise KcbenchError("get_inputs returns no tensor", where=self.name)


def run(model: nn.Module, inputs: list[Any]) -> tuple[Tensor, ...]:
    """Outputs without gradients.

    Raises:
        ValueError: Something else than tensors comes out.
    """
    with torch.no_grad():
        outputs = as_tuple(model(*inputs))
    for value in outputs:
        if not isinstance(value, Tensor):
            raise ValueError(f"the model returns a {type(value).__name__}, not a tensor")
    return outputs


def _line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:200]}" if text else type(error).__name__
