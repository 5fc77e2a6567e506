"""Looking at the results of calls."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import math
from typing import Any

import torch

from kcbench.report.repro_parts.script import DEVICE, EVIDENCE


def number(value: Any) -> float:
    """A number, or one of the words ``nan``, ``inf`` and ``-inf``."""
    return float(value)


def output_index() -> int:
    """Which output the finding speaks of."""
    output = EVIDENCE.get("output", 0)
    return output if isinstance(output, int) else 0


def same_bytes(a: Any, b: Any) -> bool:
    """Whether two tensors hold the same bytes."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    a, b = a.detach().cpu().contiguous(), b.detach().cpu().contiguous()
    return bool(torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8)))


def all_same(a: list[Any], b: list[Any]) -> bool:
    """Whether two lists of outputs hold the same bytes."""
    return len(a) == len(b) and all(same_bytes(x, y) for x, y in zip(a, b, strict=True))


def kept(outputs: list[Any]) -> list[Any]:
    """Copies of outputs that later calls cannot touch."""
    return [output.detach().clone() for output in outputs]


def compare(got: float, expected: float, tolerance: float, what: str) -> str | None:
    """Print both values; a sentence when they lie further apart than the tolerance."""
    print(f"{what}\n  expected  {expected!r}" + (f" within {tolerance!r}" if tolerance else "") + f"\n  got       {got!r}")
    if got == expected or (math.isnan(got) and math.isnan(expected)):
        return None
    if math.isfinite(got) and math.isfinite(expected) and abs(got - expected) <= tolerance:
        return None
    return f"{what} is {got!r} instead of {expected!r}" + (f" (tolerance {tolerance!r})" if tolerance else "")


def element_of(tensor: torch.Tensor, what: str, tolerance: float | None = None) -> str | None:
    """Compare the finding's element of a tensor with what the finding expects."""
    index = tuple(EVIDENCE["index"])
    if len(index) != tensor.dim() or any(i >= size for i, size in zip(index, tensor.shape, strict=True)):
        return f"{what} has shape {list(tensor.shape)}, so it has no element {list(index)}"
    allowed = number(EVIDENCE.get("tolerance") or 0) if tolerance is None else tolerance
    return compare(float(tensor[index]), number(EVIDENCE["expected"]), allowed, f"{what} at {list(index)}")


def name_of_class(value: float) -> str:
    """``finite``, ``NaN``, ``+Inf`` or ``-Inf``."""
    return "finite" if math.isfinite(value) else "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def span(tensor: torch.Tensor) -> tuple[str, int, int]:
    """Device, first and last address of a tensor's storage."""
    storage = tensor.untyped_storage()
    return str(tensor.device), storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors share memory."""
    (device, start, end), (other, first, last) = span(a), span(b)
    return device == other and start < last and first < end


def shape_of(value: Any) -> Any:
    """A shape as a list; the class of what is not a tensor."""
    return list(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__


# --- disturbances between repeats


def keep_busy() -> None:
    """Load the GPU from another stream."""
    with torch.cuda.stream(torch.cuda.Stream()):
        a = torch.ones(4096, 4096, device=DEVICE, dtype=torch.float16)
        for _ in range(24):
            a @ a
