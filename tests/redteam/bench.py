"""The probes of a task in plain torch, with the answers of the task's own model: what red-team kernels are checked against."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).parents[2]
TINY = {torch.float32: 2.0**-126, torch.bfloat16: 2.0**-126, torch.float16: 2.0**-14}
UNIT = {torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}

# Sizes by task: the usual ones, then others in the class. They stay off the multiples of the usual tiles.
SIZES: dict[str, list[dict[str, int]]] = {
    "level1/relu": [{"batch_size": 5, "dim": 130}, {"batch_size": 1}, {"dim": 1}, {"dim": 64}, {"dim": 1500}, {"batch_size": 0}],
    "level1/layernorm": [
        {"batch_size": 2, "seq_len": 3, "dim": 130},
        {"batch_size": 1},
        {"dim": 33},
        {"dim": 1500},
        {"batch_size": 0},
    ],
    "level1/rmsnorm": [{"batch_size": 5, "dim": 130}, {"batch_size": 1}, {"dim": 33}, {"dim": 1500}, {"batch_size": 0}],
    "level1/matmul": [{"M": 19, "K": 70, "N": 37}, {"M": 1}, {"K": 1}, {"K": 64}, {"N": 257}, {"M": 0}],
    "level1/batched_matmul": [
        {"batch_size": 3, "M": 5, "K": 70, "N": 21},
        {"batch_size": 1},
        {"K": 1},
        {"M": 33},
        {"batch_size": 0},
    ],
    "level1/conv2d": [
        {"batch_size": 2, "in_channels": 3, "out_channels": 4, "height": 11, "width": 7},
        {"batch_size": 1},
        {"height": 7},
        {"width": 1},
        {"in_channels": 33},
        {"batch_size": 0},
    ],
    "level1/maxpool2d": [
        {"batch_size": 2, "channels": 3, "height": 11, "width": 8},
        {"batch_size": 1},
        {"height": 2, "width": 2},
        {"width": 33},
        {"batch_size": 0},
    ],
    "level1/sum_axis": [
        {"batch_size": 3, "dim1": 130, "dim2": 7},
        {"batch_size": 1},
        {"dim1": 64},
        {"dim1": 1500},
        {"dim1": 1},  # after a longer one: what a workspace still holds must not matter
        {"dim1": 0},
        {"batch_size": 0},
    ],
    "level1/cross_entropy": [{"batch_size": 21, "num_classes": 67}, {"batch_size": 1}, {"num_classes": 1}, {"num_classes": 1500}],
    "level1/attention": [
        {"batch_size": 2, "num_heads": 3, "seq_len": 37, "head_dim": 32},
        {"batch_size": 1},
        {"seq_len": 1},
        {"head_dim": 64},
        {"batch_size": 0},
    ],
    "level2/linear_bias_gelu": [
        {"batch_size": 19, "in_features": 70, "out_features": 37},
        {"batch_size": 1},
        {"in_features": 1},
        {"batch_size": 0},
    ],
    "level4/gated_delta_rule": [
        {"batch_size": 2, "seq_len": 37, "num_heads": 2, "key_dim": 64, "value_dim": 64},
        {"batch_size": 1},
        {"seq_len": 1},
        {"seq_len": 400, "batch_size": 1, "num_heads": 1},
        {"batch_size": 0},
    ],
}
for name in ("gelu", "logsumexp", "cumsum"):
    SIZES[f"level1/{name}"] = SIZES["level1/relu"]
SIZES["level1/softmax"] = [*SIZES["level1/relu"], {"batch_size": 1, "dim": 16384}]  # the benchmarked width

AT_LEAST = {"level1/conv2d", "level1/cross_entropy", "level1/cumsum", "level4/gated_delta_rule"}
FIXED_INPUTS = {"level4/gated_delta_rule": {1, 3, 4}}
"""Positions of inputs that only mean something as ``get_inputs`` draws them: unit keys, decays, rates."""
LINEAR = {"level1/matmul", "level1/batched_matmul", "level1/sum_axis", "level1/cumsum", "level1/conv2d"}
FAMILIES = {
    "normal": lambda shape: torch.randn(shape),
    "uniform": lambda shape: torch.rand(shape),
    "negative": lambda shape: -2 * torch.rand(shape),
    "zeros": lambda shape: torch.zeros(shape),
    "constant": lambda shape: torch.full(shape, 0.75),
    "x1e-2": lambda shape: 1e-2 * torch.randn(shape),
    "x1e-3": lambda shape: 1e-3 * torch.randn(shape),
    "x1e3": lambda shape: 1e3 * torch.randn(shape),
}


def namespace(source: str, name: str) -> dict[str, Any]:
    # Triton reads a kernel's source text through its code object, so the text must be found under the file's name.
    values: dict[str, Any] = {"__name__": name}
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), values)
    return values


@dataclass
class Probe:
    label: str
    inputs: tuple[Any, ...]
    init: list[Any]
    parameters: dict[str, Any]
    truth: Any
    eager: Any
    eager_gradients: dict[str, Any] = field(default_factory=dict)
    truth_gradients: dict[str, Any] = field(default_factory=dict)
    flushed: Any = None


class Bench:
    """The probes of one task, with the answers of the task's own model in float64 and at the same dtype."""

    def __init__(self, task: str) -> None:
        self.task = task
        source = (ROOT / "tasks" / task / "task.py").read_text(encoding="utf-8")
        self.values = namespace(source, f"<{task}>")
        torch.manual_seed(7)
        self.families = [self.probe(label, fill=fill) for label, fill in FAMILIES.items()]
        self.main = self.families[0]
        self.other = self.probe("other inputs", parameters=self.main.parameters)
        self.integers = self.probe("integers", fill=lambda shape: torch.randint(-4, 5, shape).float())
        self.shapes = [(sizes, self.probe(str(sizes), sizes=sizes)) for sizes in SIZES[task][1:]]
        self.layouts = [
            self.layout(kind, dtype) for dtype in (torch.float32, torch.bfloat16) for kind in ("transposed", "strided", "offset")
        ]
        self.half = [
            self.probe(str(dtype), dtype=dtype, fill=fill)
            for dtype in (torch.bfloat16, torch.float16)
            for fill in (torch.randn, torch.rand)
        ]
        self.far = self.probe("mean/std 100", fill=lambda shape: 100 + torch.randn(shape))
        self.gradients = [self.probe("gradient", gradient=True)]
        if not task.startswith("level4"):
            # More rows than one program of a backward pass takes.
            many = {next(iter(SIZES[task][0])): 129}
            self.gradients.append(self.probe("gradient, many rows", sizes=many, gradient=True))
        self.updated = self.probe("updated weights", inputs=self.main.inputs)
        self.poisons = list(self.poisoned())
        self.subnormal = self.flushing()
        self.identity = self.identities()
        self.absorption = self.absorbing()

    def sizes(self, sizes: dict[str, int]) -> None:
        self.values.update({"kernel_size": 3, **SIZES[self.task][0], **sizes})

    def shapes_at(self, sizes: dict[str, int]) -> list[Any]:
        self.sizes(sizes)
        return self.values["get_inputs"]()

    def floats(self) -> list[int]:
        return [i for i, x in enumerate(self.main.inputs) if x.is_floating_point()]

    def real(self) -> list[int]:
        return [i for i in self.floats() if i not in FIXED_INPUTS.get(self.task, set())]

    def probe(
        self,
        label: str,
        *,
        fill: Any = torch.randn,
        sizes: dict[str, int] | None = None,
        dtype: Any = torch.float32,
        inputs: tuple[Any, ...] | None = None,
        parameters: dict[str, Any] | None = None,
        gradient: bool = False,
    ) -> Probe:
        if inputs is None:
            fixed = FIXED_INPUTS.get(self.task, set())
            made = self.shapes_at(sizes or {})
            inputs = tuple(
                x if not x.is_floating_point() else x.to(dtype) if i in fixed else fill(tuple(x.shape)).to(dtype)
                for i, x in enumerate(made)
            )
        else:
            self.sizes(sizes or {})
        init = self.values["get_init_inputs"]()
        model = self.values["Model"](*init)
        if parameters is None:
            parameters = {name: (0.5 + torch.rand(p.shape)) * torch.randn(p.shape).sign() for name, p in model.named_parameters()}
        parameters = {name: p.to(dtype).float() for name, p in parameters.items()}
        truth, truth_gradients = self.run(
            model.double(), [x.double() if x.is_floating_point() else x for x in inputs], parameters, gradient
        )
        eager, eager_gradients = self.run(self.values["Model"](*init).to(dtype), list(inputs), parameters, gradient)
        return Probe(label, inputs, init, parameters, truth, eager, eager_gradients, truth_gradients)

    @staticmethod
    def run(model: Any, inputs: list[Any], parameters: dict[str, Any], gradient: bool = False) -> tuple[Any, dict[str, Any]]:
        copy_parameters(model, parameters)
        if not gradient:
            with torch.no_grad():
                return model(*inputs).detach(), {}
        leaves = {f"input{i}": x.detach().clone().requires_grad_() for i, x in enumerate(inputs) if x.is_floating_point()}
        named = dict(model.named_parameters())
        out = model(*(leaves.get(f"input{i}", x) for i, x in enumerate(inputs)))
        out = out[0] if isinstance(out, list | tuple) else out
        if not out.requires_grad:
            return out.detach(), {}
        torch.manual_seed(3)
        cotangent = torch.randn(out.shape, dtype=torch.float32).to(out.dtype)
        wanted = {**leaves, **{k: v for k, v in named.items() if k in parameters}}
        grads = torch.autograd.grad(out, list(wanted.values()), cotangent, allow_unused=True)
        return out.detach(), dict(zip(wanted, grads, strict=True))

    def layout(self, kind: str, dtype: Any) -> Probe:
        inputs = []
        for x in self.main.inputs:
            x = x.to(dtype) if x.is_floating_point() else x
            if not x.is_floating_point():
                y = x
            elif kind == "transposed":
                y = x.mT.contiguous().mT
            elif kind == "strided":
                wide = torch.full((*x.shape[:-1], 2 * x.shape[-1]), 9.0, dtype=dtype)
                wide[..., ::2] = x
                y = wide[..., ::2]
            else:
                flat = torch.full((x.numel() + 3,), 9.0, dtype=dtype)
                flat[3:] = x.flatten()
                y = flat[3:].view(x.shape)
            inputs.append(y)
        return self.probe(f"{kind} {dtype}", dtype=dtype, inputs=tuple(inputs), parameters=self.main.parameters)

    def poisoned(self) -> Iterator[Probe]:
        yield self.main
        for i in self.floats():
            x = self.main.inputs[i]
            # The first gate has a state of zeros to act on, which need not be multiplied.
            first = (0, 1, 0) if (self.task, i) == ("level4/gated_delta_rule", 3) else tuple(0 for _ in x.shape)
            cells = [first, tuple(size // 2 for size in x.shape), tuple(size - 1 for size in x.shape)]
            for value in (float("nan"), float("inf"), float("-inf"), torch.finfo(x.dtype).max):
                for cell in cells if value != torch.finfo(x.dtype).max else cells[-1:]:
                    y = x.clone()
                    y[cell] = value
                    inputs = tuple(y if j == i else other for j, other in enumerate(self.main.inputs))
                    yield self.probe(f"{value} in input {i} at {cell}", inputs=inputs, parameters=self.main.parameters)
            half = [other.bfloat16() if other.is_floating_point() else other for other in self.main.inputs]
            half[i][cells[1]] = float("nan")
            yield self.probe(
                f"nan in bfloat16 input {i}", dtype=torch.bfloat16, inputs=tuple(half), parameters=self.main.parameters
            )

    def flushing(self) -> list[Probe]:
        probes = []
        for i in self.real():
            bits = torch.randint(0, 1 << 23, self.main.inputs[i].shape) >> torch.randint(0, 23, self.main.inputs[i].shape)
            x = bits.double().mul(2.0**-149).float() * torch.randn(bits.shape).sign() * (torch.rand(bits.shape) > 0.125)
            parameters = {name: torch.zeros_like(p) if "bias" in name else p for name, p in self.main.parameters.items()}
            inputs = [x if j == i else other for j, other in enumerate(self.main.inputs)]
            probe = self.probe(f"subnormal input {i}", inputs=tuple(inputs), parameters=parameters)
            inputs[i] = torch.zeros_like(x)
            probe.flushed = self.probe("flushed", inputs=tuple(inputs), parameters=parameters).truth
            probes.append(probe)
        return probes

    def identities(self) -> list[Probe]:
        """Products of values with 13 fraction bits and an identity."""
        if self.task == "level1/conv2d":
            weight = 1 + (torch.randint(0, 1 << 12, (4, 2, 3, 3)) * 2 + 1) * 2.0**-13
            image = torch.zeros(2, 2, 11, 7)
            image[0, 0, 4, 5] = image[1, 1, 4, 5] = 1
            parameters = {"conv.weight": weight, "conv.bias": torch.zeros(4)}
            return [self.probe("identity", sizes={"in_channels": 2}, inputs=(image,), parameters=parameters)]
        if self.task not in ("level1/matmul", "level1/batched_matmul"):
            return []
        made = self.shapes_at({"M": 40, "K": 40, "N": 40})
        x = made[0].sign() * (1 + (torch.randint(0, 1 << 12, made[0].shape) * 2 + 1) * 2.0**-13)
        return [self.probe("identity", inputs=(x, torch.eye(40).expand_as(made[1]).contiguous()))]

    def absorbing(self) -> list[Probe]:
        """+M once, -M once and small odd integers along the reduced axis."""
        where = {"level1/matmul": ("K", 1), "level1/batched_matmul": ("K", 2), "level1/sum_axis": ("dim1", 1)}.get(self.task)
        if where is None:
            return []
        probes = []
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            made = self.shapes_at({where[0]: 512})
            x = torch.randn(made[0].shape).sign() * (1 + 2 * torch.randint(0, 2, made[0].shape))
            x.select(where[1], 101).fill_(32768.0)
            x.select(where[1], 400).fill_(-32768.0)
            inputs = (x.to(dtype), *(torch.ones_like(y, dtype=dtype) for y in made[1:]))
            probe = self.probe(f"absorption {dtype}", sizes={where[0]: 512}, inputs=inputs)
            probe.eager = probe.truth.to(dtype)
            probes.append(probe)
        return probes


@functools.cache
def bench(task: str) -> Bench:
    return Bench(task)


def copy_parameters(model: Any, parameters: dict[str, Any]) -> None:
    own = dict(model.named_parameters())
    with torch.no_grad():
        for name, value in parameters.items():
            if name in own:
                own[name].copy_(value)
