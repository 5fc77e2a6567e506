"""Registry: which rounding belongs to which aten operation.

A rule is a function ``rule(noise, op, *args, **kwargs)`` that returns what ``op`` would return, with its roundings. ``op`` is
always the functional overload: in-place and ``out=`` calls are resolved here, so that a rule never writes to an operand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar

import torch
from torch._decomp import decomposition_table
from torch._ops import OpOverload, OpOverloadPacket

RuleFunction = Callable[..., Any]
F = TypeVar("F", bound=RuleFunction)


@dataclass(frozen=True)
class Rule:
    """What happens at one operation."""

    apply: RuleFunction
    stores: tuple[int, ...] | None = None
    """Which results eager stores in the storage dtype; None means all floating ones. Statistics of norms stay in float32."""
    creates: bool = False
    """Applies although there is no floating operand."""


class Kind(Enum):
    """How the mode treats an operation."""

    RAW = "raw"
    """Views, metadata and creation: called as they are, stores not touched."""
    CARRY = "carry"
    """Exact and one to one: the result is exactly storable where the operand was, so a pending store passes to it."""
    CAST = "cast"
    EXACT = "exact"
    """Exact: called as it is on stored operands."""
    RULE = "rule"
    EXPAND = "expand"
    """CompositeImplicit, seen only under inference mode: expanded as autograd would."""
    COMPOSITE = "composite"
    """Has a decomposition in torch: its operations are rounded at the inner level."""
    BLACKBOX = "blackbox"


@dataclass(frozen=True)
class Plan:
    """How one overload is handled."""

    kind: Kind
    op: Callable[..., Any]
    """The functional form."""
    rule: Rule | None = None
    inplace: bool = False
    out: tuple[str, ...] = ()
    """Names of ``out=`` arguments."""
    implementation: Callable[..., Any] | None = None
    """For COMPOSITE: torch's decomposition."""
    stepwise: bool = False
    """For COMPOSITE: eager runs the steps as operations of their own, each with its store."""
    name: str = ""


_RULES: dict[str, Rule] = {}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RAW = _names("""
    _unsafe_view _reshape_alias unsafe_split unsafe_split_with_sizes unsafe_chunk empty empty_like empty_strided new_empty
    new_empty_strided zeros zeros_like new_zeros ones ones_like new_ones eye tril_indices triu_indices zero_ resize_ set_
    is_same_size sym_size sym_stride sym_numel sym_storage_offset rand rand_like randn randn_like randint randint_like randperm
    transpose broadcast_in_dim collapse_view split_dim view_of squeeze_ unsqueeze_ t_ transpose_ swapaxes_ swapdims_ detach_
    as_strided_ resize_as_ bernoulli_ normal_ uniform_ exponential_ random_ cauchy_ geometric_ log_normal_
""")

_CARRY = _names("""
    clone copy_ copy neg abs relu cat stack flip roll rot90 permute_copy transpose_copy t_copy view_copy expand_copy alias_copy
    unsqueeze_copy squeeze_copy slice_copy select_copy constant_pad_nd slice_scatter select_scatter slice_backward
    select_backward pixel_shuffle pixel_unshuffle channel_shuffle tril triu _conj_physical conj_physical contiguous
    diag_embed positive threshold block_diag _chunk_cat split_with_sizes_copy split_copy unbind_copy
""")

_EXACT = _names("""
    where amax amin aminmax maximum minimum fmax fmin embedding gather index index_select take take_along_dim masked_select
    _unsafe_index index_copy index_fill scatter masked_scatter diagonal_backward diagonal_scatter as_strided_scatter
    reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d repeat
    repeat_interleave tile im2col unfold_copy upsample_nearest1d upsample_nearest2d upsample_nearest3d
    _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d max_unpool2d max_unpool3d nan_to_num
    view_as_real view_as_complex real imag complex copysign frexp isnan isinf isfinite isposinf isneginf multinomial bernoulli
""")

_STEPWISE = _names("""
    mse_loss huber_loss smooth_l1_loss binary_cross_entropy binary_cross_entropy_with_logits soft_margin_loss multi_margin_loss
    renorm
""")


def rule(names: str, stores: tuple[int, ...] | None = None, creates: bool = False) -> Callable[[F], F]:
    """Register a rule.

    Args:
        names: Base names of aten operations, separated by blanks, without overload and without a trailing underscore.
        stores: :attr:`Rule.stores`.
        creates: :attr:`Rule.creates`.
    """

    def register(function: F) -> F:
        for name in names.split():
            if name in _RULES:
                raise ValueError(f"two rules for {name}")
            _RULES[name] = Rule(function, stores, creates)
        return function

    return register


def _functional(func: OpOverload, base: str) -> Callable[..., Any]:
    """The functional form of an in-place or ``out=`` overload; the packet, which resolves by arguments, where names differ."""
    packet: OpOverloadPacket = getattr(getattr(torch.ops, func.namespace), base)
    found = getattr(packet, func._overloadname, None)
    if found is None or found._schema.is_mutable:
        return packet
    wanted = [str(a.type) for a in func._schema.arguments if not a.is_out]
    return found if [str(a.type) for a in found._schema.arguments] == wanted else packet


@lru_cache(maxsize=4096)
def plan_for(func: OpOverload) -> Plan:
    """How to treat an overload."""
    schema = func._schema
    base = schema.name.split("::")[1]
    if base == "_to_copy":
        return Plan(Kind.CAST, func, name=base)
    if (func.is_view and base not in _RULES) or base in _RAW:
        return Plan(Kind.RAW, func, name=base)
    mutable = schema.is_mutable
    out = tuple(a.name for a in schema.arguments if a.is_out) if mutable else ()
    inplace = mutable and not out and base.endswith("_") and not base.endswith("__")
    stem = base[:-1] if inplace else base
    exact = Kind.CARRY if base in _CARRY or stem in _CARRY else Kind.EXACT if stem in _EXACT else None
    if exact is not None:
        return Plan(exact, func, name=stem)
    found = _RULES.get(stem)
    if found is not None:
        op = _functional(func, stem) if mutable and (inplace or out) else func
        return Plan(Kind.RULE, op, found, inplace, out, name=stem)
    if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
        return Plan(Kind.EXPAND, func, name=stem)
    if not mutable and func in decomposition_table:
        return Plan(Kind.COMPOSITE, func, implementation=decomposition_table[func], stepwise=stem in _STEPWISE, name=stem)
    if inplace or out:
        functional = _functional(func, stem)
        if isinstance(functional, OpOverload) and functional in decomposition_table:
            steps = decomposition_table[functional]
            return Plan(Kind.COMPOSITE, functional, None, inplace, out, steps, stem in _STEPWISE, name=stem)
    return Plan(Kind.BLACKBOX, func, name=stem)
