"""Every operator on a source small enough to see by eye what it does."""

from __future__ import annotations

import ast

import pytest

torch = pytest.importorskip("torch")

from kcbench.mutants import all_operators, fault_classes  # noqa: E402
from kcbench.mutants.program import Program  # noqa: E402

OPERATORS = {operator.name: operator for operator in all_operators()}

HOST = """
import torch
import torch.nn as nn
SIZE = 32

class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm = nn.LayerNorm(n, eps=1e-5)

    def forward(self, x):
        {}
"""
KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, out_ptr, n, m, BLOCK: tl.constexpr):
    {}

class ModelNew(torch.nn.Module):
    def forward(self, x):
        kernel[(triton.cdiv(x.numel(), 256),)](x, x, 1, 1, BLOCK=256)
        return x
"""
BACKWARD = """
import torch

class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias):
        return x + bias

    @staticmethod
    def backward(ctx, grad):
        return grad, grad.sum(0)
"""
LOAD = "x = tl.load(x_ptr + lanes, mask=(lanes < n) & (rows < m), other=0.0)"

# Operator, frame, statement, and what must be among its results.
CASES = [
    ("compare-edge", HOST, "return x if x.shape[0] < 4 else -x", "x.shape[0] <= 4"),
    ("compare-edge", HOST, "return x if x.shape[0] >= 4 else -x", "x.shape[0] > 4"),
    ("compare-off-by-one", KERNEL, LOAD, "mask=(lanes < n - 1) & (rows < m)"),
    ("compare-off-by-one", KERNEL, LOAD, "mask=(lanes < n) & (rows < m + 1)"),
    ("mask-dropped", KERNEL, LOAD, "x = tl.load(x_ptr + lanes)\n"),
    ("condition-dropped", KERNEL, LOAD, "mask=lanes < n, other"),
    ("condition-dropped", KERNEL, LOAD, "mask=rows < m, other"),
    ("other-value", KERNEL, LOAD, "other=float('-inf')"),
    ("range-edge", HOST, "return sum(x[i] for i in range(0, len(x), SIZE))", "range(0, len(x) - 1, SIZE)"),
    ("range-edge", HOST, "return sum(x[i] for i in range(0, len(x), SIZE))", "range(0 + SIZE, len(x), SIZE)"),
    ("range-edge", HOST, "return sum(x[i] for i in range(0, len(x), SIZE))", "range(0, len(x) // SIZE * SIZE, SIZE)"),
    ("range-edge", HOST, "return sum(x[i] for i in range(len(x)))", "range(0, len(x) - 1, 1)"),
    ("slice-edge", HOST, "return x[a:b]", "return x[a:b - 1]"),
    ("slice-edge", HOST, "return x[a:b]", "return x[a + 1:b]"),
    ("grid-short", KERNEL, "pass", "kernel[max(x.numel() // 256, 1),]"),
    ("other-dim", HOST, "return x.sum(dim=1)", "x.sum(dim=0)"),
    ("other-dim", HOST, "return x.amax(-1, keepdim=True)", "x.amax(-2, keepdim=True)"),
    ("subscript-swapped", KERNEL, "y = lanes[:, None]", "y = lanes[None, :]"),
    ("name-swapped", KERNEL, "y = rows * n", "y = rows * m"),
    ("program-axis", KERNEL, "y = tl.program_id(0)", "y = tl.program_id(1)"),
    ("lanes-shifted", KERNEL, "y = tl.arange(0, BLOCK)", "y = tl.arange(0, BLOCK) + 1"),
    ("view-dropped", HOST, "return x.t().contiguous()", "return x.contiguous()"),
    ("view-dropped", HOST, "return x.t().contiguous()", "return x.t()\n"),
    ("view-dropped", HOST, "return x @ x.mT", "return x @ x\n"),
    ("operands-swapped", HOST, "return x @ self.w", "return self.w @ x"),
    ("operands-swapped", HOST, "return torch.bmm(x, y)", "torch.bmm(y, x)"),
    ("layout-assumed", HOST, "return x", "self._honest(*(_flat(item) for item in (x,)))"),
    ("layout-assumed", HOST, "return x", "self._honest(*(_from_the_start(item) for item in (x,)))"),
    ("result-moved", HOST, "return x", "return out.flip(0) if out.dim() else out"),
    ("partial-dropped", HOST, "total += x", "total = x\n"),
    ("partial-dropped", HOST, "total = total * a + b", "total = b\n"),
    ("start", KERNEL, "y = tl.full((BLOCK,), 0.0, tl.float32)", "tl.full((BLOCK,), 1.0, tl.float32)"),
    ("start", HOST, "y = torch.full_like(x, float('-inf'))", "torch.full_like(x, 0.0)"),
    ("start", HOST, "y = torch.zeros_like(x)", "torch.ones_like(x)"),
    ("loop-cut", HOST, "for part in x.split(4): y = part", "for part in list(x.split(4))[:-1]:"),
    ("loop-cut", HOST, "for part in x.split(4): y = part", "for part in list(x.split(4))[1:]:"),
    ("sum-cut", HOST, "return sum(part for part in parts)", "for part in list(parts)[:-1]"),
    ("other-reduction", HOST, "return x.mean(-1)", "x.sum(-1)"),
    ("other-reduction", KERNEL, "y = tl.sum(x, axis=0)", "tl.max(x, axis=0)"),
    ("divisor", HOST, "return x.mean(-1, keepdim=True)", "return x.sum(-1, keepdim=True) / max(x.shape[-1] - 1, 1)"),
    ("divisor", KERNEL, "y = total / n", "y = total / (n - 1)"),
    ("halves", HOST, "half = len(x) // 2", "half = len(x) // 2 - 1"),
    ("other-sign", HOST, "return x + y", "return x - y"),
    ("negation-dropped", HOST, "return -x", "return x\n"),
    ("term-dropped", HOST, "return x + eps", "return x\n"),
    ("term-dropped", HOST, "return x * y", "return y\n"),
    ("constant", HOST, "return x * 0.5", "x * 0.505"),
    ("epsilon", HOST, "return x", "eps=0.0"),
    ("other-form", HOST, "return torch.relu(x)", "F.leaky_relu(x, 0.01)"),
    ("other-form", HOST, "return F.gelu(x)", "F.gelu(x, approximate='tanh')"),
    ("call-dropped", HOST, "return torch.exp(x)", "return x\n"),
    ("call-dropped", HOST, "return x.square()", "return x\n"),
    ("result-off", HOST, "return x", "return self._honest(x) * 1.001"),
    ("widening-dropped", HOST, "work = torch.promote_types(x.dtype, torch.float32)", "work = x.dtype"),
    ("widening-dropped", KERNEL, "y = x.to(tl.float32)", "y = x\n"),
    ("accumulator", HOST, "while total: total = total + x", "total = _narrowed(total, torch.float16)"),
    ("accumulator", KERNEL, "for i in range(n): total += x", "total = total.to(tl.bfloat16).to(tl.float32)"),
    ("intermediate", HOST, "y = x.exp()", "y = _narrowed(y, torch.bfloat16)"),
    ("weights-narrowed", HOST, "return x * self.norm.weight", "x * _tf32(self.norm.weight)"),
    ("operand-narrowed", HOST, "return x @ y", "_tf32(x) @ y"),
    ("operand-narrowed", KERNEL, "c = tl.dot(a, b, c)", "tl.dot(a, b.to(tl.bfloat16).to(tl.float32), c)"),
    ("approximation", HOST, "return torch.exp(x)", "(1 + x / 4096) ** 4096"),
    ("approximation", HOST, "return x / y", "x * _narrowed(1 / y, torch.bfloat16)"),
    ("approximation", KERNEL, "y = tl.exp(x)", "tl.exp(x).to(tl.float16).to(tl.float32)"),
    ("ends-narrowed", HOST, "return x", "return _narrowed(self._honest(x), torch.bfloat16)"),
    ("dropping-maximum", HOST, "return torch.maximum(x, y)", "torch.fmax(x, y)"),
    ("dropping-maximum", HOST, "return x.amax(1)", "torch.nan_to_num(x, nan=float('-inf')).amax(1)"),
    ("select-mirrored", KERNEL, "y = tl.where(x < 0, 0.0, x)", "tl.where(x >= 0, x, 0.0)"),
    ("guard-dropped", HOST, "y = torch.where(p == q, z, p)", "y = p\n"),
    ("shift-dropped", HOST, "return torch.exp(x - peak)", "torch.exp(x)"),
    ("operand-cleaned", HOST, "return x @ y", "x @ torch.nan_to_num(y, posinf=float('inf'), neginf=float('-inf'))"),
    ("ends-cleaned", HOST, "return x", "return torch.nan_to_num(self._honest(x))"),
    ("kept", HOST, "return x", "key = (x.data_ptr(), tuple(x.shape), x.dtype)"),
    ("unwritten", HOST, "y = torch.zeros(3)", "torch.empty(3)"),
    ("size-special", HOST, "return x", "keep = out.shape[-1] // 32 * 32"),
    ("tile", HOST, "return x", "SIZE = 31"),
    ("grid", KERNEL, "pass", "kernel[1, 1](x, x, 1, 1, BLOCK=256)"),
    ("gradient-spoiled", HOST, "return x", "(_spoiled(item, lambda g: -g) for item in (x,))"),
    ("branch-detached", HOST, "return x / x.sum()", "return x / _detached(x.sum())"),
    ("backward-returns", BACKWARD, "", "return (grad, None)"),
    ("backward-returns", BACKWARD, "", "return (2 * grad, grad.sum(0))"),
    ("backward-returns", BACKWARD, "", "return (grad.flatten()[1:], grad.sum(0))"),
    ("backward-sum", BACKWARD, "", "return (grad, grad[0])"),
    ("shortcut", HOST, "return x", "if x.numel() and bool(x.abs().max() < 0.01):"),
]


@pytest.mark.parametrize(
    ("name", "frame", "statement", "wanted"), CASES, ids=[f"{name}: {wanted.strip()}" for name, _, _, wanted in CASES]
)
def test_before_and_after(name: str, frame: str, statement: str, wanted: str) -> None:
    source = frame.replace("{}", statement)
    program = Program(source)
    assert wanted not in ast.unparse(program.tree) + "\n"
    made = [program.mutated(change) for change in OPERATORS[name].changes(program)]
    hits = [text for text in made if wanted in text]
    assert hits, made
    for text in made:
        compile(text, name, "exec")


def test_every_operator_has_a_case() -> None:
    assert {name for name, *_ in CASES} == set(OPERATORS)
    assert len(OPERATORS) == len(all_operators())


def test_the_fault_classes() -> None:
    wanted = "arithmetic boundary exceptional gradient index precision reduction shape shortcut state"
    assert sorted(fault_classes()) == wanted.split()


def test_annotations_docstrings_and_the_parents_constructor_are_left_alone() -> None:
    source = HOST.replace("{}", '"""From -1.5 to 1.5."""\n        y: Annotated[int, 2.5] = x\n        return y')
    program = Program(source)
    for operator in all_operators():
        for change in operator.changes(program):
            text = program.mutated(change)
            assert "From -1.5 to 1.5." in text and "super().__init__()" in text and "Annotated[int, 2.5]" in text


def test_lines_are_those_of_the_original() -> None:
    source = HOST.replace("{}", "y = x\n        return y + 0.25")
    program = Program(source)
    [change, _] = [change for change in OPERATORS["constant"].changes(program) if "0.25" in change.description]
    assert source.splitlines()[change.line - 1].strip() == "return y + 0.25"
    assert change.description == "0.25 becomes 0.2525"


def test_a_helper_is_defined_before_it_is_used_and_after_the_imports() -> None:
    program = Program(HOST.replace("{}", "return x @ x"))
    text = program.mutated(next(OPERATORS["operand-narrowed"].changes(program)))
    lines = text.splitlines()
    assert lines[:2] == ["import torch", "import torch.nn as nn"]
    assert lines.index("def _tf32(x):") < lines.index("class ModelNew(nn.Module):")
