"""What the kernels are called with: the structure ``Call`` of ``kernels/config.h``, and the instance that a call needs."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Protocol

import torch

from native_kernels.gdn.members import Member

CHUNK = 64
PREPARE, SCAN, REVERSE_SCAN, GRADIENTS = range(4)

POINTERS = (
    *("q", "k", "v", "g", "beta", "initial", "dout", "dfinal", "starts", "first_chunk"),
    *("inverse", "product", "sums", "written", "states", "adjoint", "dstates"),
    *("out", "final", "dq", "dk", "dv", "dg", "dbeta", "dinitial"),
)
SIZES = ("heads", "value_heads", "value_dim", "sequences", "chunks")


class Call(ctypes.Structure):
    """Field for field what ``kernels/config.h`` declares."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in POINTERS[:10]),
        *((name, ctypes.c_int) for name in SIZES),
        ("scale", ctypes.c_float),
        *((name, ctypes.c_void_p) for name in POINTERS[10:]),
    )


def make_call(scale: float, sizes: dict[str, int], tensors: dict[str, torch.Tensor | None]) -> Call:
    """A call; the tensors must outlive it. Those that are None or have no elements are passed as null.

    Args:
        scale: Factor of the output.
        sizes: Values for :data:`SIZES`.
        tensors: Contiguous tensors by the names in :data:`POINTERS`; those that are not named are null.
    """
    call = Call(scale=scale, **sizes)
    for name, tensor in tensors.items():
        if tensor is not None and tensor.numel():
            assert tensor.is_contiguous(), name
            setattr(call, name, tensor.data_ptr())
    return call


@dataclass(frozen=True)
class Instance:
    """Which kernels: see ``kernels/instance.h``."""

    input: str
    operand: str
    inputs: int
    values: int
    key_dim: int
    value_block: int
    gate: str
    delta: bool

    def macros(self) -> list[str]:
        values = {
            "IN": self.input,
            "OPERAND": self.operand,
            "INPUTS": self.inputs,
            "VALUES": self.values,
            "K": self.key_dim,
            "BV": self.value_block,
            "GATE": self.gate,
            "DELTA": str(self.delta).lower(),
        }
        return [f"-DGDN_{name}={value}" for name, value in values.items()]


_FORMS = {
    torch.bfloat16: ("Bf16", "Bf16", 1, 2, 64),
    torch.float16: ("Fp16", "Bf16", 2, 2, 64),
    torch.float32: ("float", "Bf16", 3, 3, 32),
}
"""By input dtype: input, operand, operands for an input and for a computed value, value columns at a time.

A float16 value is the sum of two bfloat16 values, a float32 value that of three, as far as it lies in their range; computed
values are kept in two (16 bits) or three (24 bits). So no operand can overflow where float32 does not.
"""


def instance_for(member: Member, dtype: torch.dtype, key_dim: int) -> Instance:
    """The instance that computes a member on inputs of a dtype; ``key_dim`` is 64 or 128."""
    name, operand, inputs, values, block = _FORMS[dtype]
    return Instance(name, operand, inputs, values, key_dim, block, member.gate.upper(), member.delta)


class Kernels(Protocol):
    """One instance on one backend."""

    def run(self, stage: int, call: Call) -> None: ...
