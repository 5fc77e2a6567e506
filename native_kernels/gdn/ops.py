"""The family as differentiable functions, in the layouts that users of flash-linear-attention know."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from native_kernels.gdn.call import CHUNK, GRADIENTS, PREPARE, REVERSE_SCAN, SCAN, Instance, Kernels, instance_for, make_call
from native_kernels.gdn.errors import KernelError
from native_kernels.gdn.members import Member

Backend = Callable[[Instance], Kernels]


@dataclass(frozen=True)
class Layout:
    """Where sequences and chunks begin, on the device."""

    starts: Tensor
    first_chunk: Tensor
    sequences: int
    chunks: int


def layout_of(batch: int, tokens: int, cu_seqlens: Tensor | None, device: torch.device) -> Layout:
    """Sequences of a batch of equal lengths, or of packed ones.

    Raises:
        KernelError: ``cu_seqlens`` does not rise from 0 to the number of tokens, or there is more than one batch entry with it.
    """
    if cu_seqlens is None:
        bounds = [tokens * n for n in range(batch + 1)]
    else:
        bounds = [int(n) for n in cu_seqlens.tolist()]
        if batch != 1:
            raise KernelError(f"packed sequences come as one batch entry, found {batch}", where="cu_seqlens")
        if not bounds or bounds[0] or bounds[-1] != tokens or bounds != sorted(bounds):
            raise KernelError(f"must rise from 0 to {tokens}, the number of tokens", where="cu_seqlens")
    chunks = [0]
    for start, end in itertools.pairwise(bounds):
        chunks.append(chunks[-1] + -(-(end - start) // CHUNK))
    starts, first_chunk = torch.tensor([bounds, chunks], dtype=torch.int32).to(device)
    return Layout(starts, first_chunk, len(bounds) - 1, chunks[-1])


class _Recurrence(torch.autograd.Function):
    """Inputs and outputs have padded sizes here: key dimension 64 or 128, value dimension a multiple of the value block."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        g: Tensor | None,
        beta: Tensor | None,
        initial: Tensor | None,
        scale: float,
        layout: Layout,
        instance: Instance,
        kernels: Kernels,
        keep_final: bool,
    ) -> tuple[Tensor, Tensor | None]:
        ctx.scale, ctx.layout, ctx.instance, ctx.kernels = scale, layout, instance, kernels
        ctx.save_for_backward(q, k, v, g, beta, initial)
        run = _Run(ctx, q, k, v, g, beta, initial)
        final = run.state() if keep_final else None
        out = torch.empty_like(v)
        run.stage(PREPARE)
        run.stage(SCAN, out=out, final=final)
        return out, final

    @staticmethod
    def backward(ctx: Any, dout: Tensor, dfinal: Tensor | None = None) -> tuple[Tensor | None, ...]:
        q, k, v, g, beta, initial = ctx.saved_tensors
        run = _Run(ctx, q, k, v, g, beta, initial)
        value_heads, key_dim, value_dim = v.shape[2], q.shape[3], v.shape[3]
        states = (max(ctx.layout.chunks, 1), value_heads, key_dim, value_dim)
        run.tensors |= {
            "written": run.new(v.shape),
            "states": run.new(states),
            "adjoint": run.new(v.shape),
            "dstates": run.new(states),
            "dout": dout.contiguous(),
            "dfinal": None if dfinal is None else dfinal.float().contiguous(),
        }
        dq, dk, dv = run.new(q.shape), run.new(k.shape), torch.empty_like(v)
        dg = None if g is None else run.new(g.shape)
        dbeta = None if beta is None else run.new(beta.shape)
        dinitial = None if initial is None else run.state()
        run.stage(PREPARE)
        run.stage(SCAN)
        run.stage(REVERSE_SCAN, dv=dv, dinitial=dinitial)
        run.stage(GRADIENTS, dq=dq, dk=dk, dg=dg, dbeta=dbeta)
        return dq.to(q.dtype), dk.to(k.dtype), dv, dg, dbeta, dinitial, *(None,) * 5


class _Run:
    """The stages of one call, and what they share."""

    def __init__(
        self, ctx: Any, q: Tensor, k: Tensor, v: Tensor, g: Tensor | None, beta: Tensor | None, initial: Tensor | None
    ) -> None:
        self.kernels: Kernels = ctx.kernels
        self.scale: float = ctx.scale
        layout: Layout = ctx.layout
        self.like = v
        self.state_shape = (layout.sequences, v.shape[2], q.shape[3], v.shape[3])
        self.sizes = {
            "heads": q.shape[2],
            "value_heads": v.shape[2],
            "value_dim": v.shape[3],
            "sequences": layout.sequences,
            "chunks": layout.chunks,
        }
        triangle = (max(layout.chunks, 1), v.shape[2], CHUNK, CHUNK)
        instance: Instance = ctx.instance
        self.tensors: dict[str, Tensor | None] = {
            "q": q,
            "k": k,
            "v": v,
            "g": g,
            "beta": beta,
            "initial": initial,
            "starts": layout.starts,
            "first_chunk": layout.first_chunk,
            "product": self.new(triangle),
            "inverse": self.new(triangle) if instance.delta else None,
            "sums": self.new(g.shape) if instance.gate == "CHANNEL" and g is not None else None,
        }

    def new(self, shape: torch.Size | tuple[int, ...]) -> Tensor:
        return torch.empty(shape, dtype=torch.float32, device=self.like.device)

    def state(self) -> Tensor:
        return self.new(self.state_shape)

    def stage(self, stage: int, **results: Tensor | None) -> None:
        self.kernels.run(stage, make_call(self.scale, self.sizes, {**self.tensors, **results}))


def recurrence(
    member: Member,
    backend: Backend,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor | None = None,
    beta: Tensor | None = None,
    *,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    cu_seqlens: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """One member of the family, differentiable in all tensors.

    Args:
        member: Which recurrence.
        backend: Makes the kernels of an instance.
        q: ``[batch, time, heads, key_dim]`` in bfloat16, float16 or float32; the key dimension is at most 128.
        k: Like q.
        v: ``[batch, time, value_heads, value_dim]`` in the same dtype; ``value_heads`` is a multiple of ``heads``.
        g: Natural logarithm of the decay, ``[batch, time, value_heads]`` or, with a channel gate, ``[..., key_dim]``.
        beta: ``[batch, time, value_heads]``, for the delta rule.
        scale: Factor of the output; by default ``key_dim ** -0.5``.
        initial_state: ``[sequences, value_heads, key_dim, value_dim]``; by default 0.
        output_final_state: Also return the states after the last tokens, in float32.
        cu_seqlens: Where packed sequences begin, ``[sequences + 1]``, from 0 to ``time``; then ``batch`` is 1.

    Returns:
        The output, shaped and typed like v, and the last states or None.

    Raises:
        KernelError: Shapes, dtypes or arguments do not fit together.
    """
    _check(member, q, k, v, g, beta, initial_state, cu_seqlens)
    key_dim, value_dim = q.shape[3], v.shape[3]
    scale = key_dim**-0.5 if scale is None else scale
    padded = 64 if key_dim <= 64 else 128
    instance = instance_for(member, q.dtype, padded)
    more_keys, more_values = padded - key_dim, -value_dim % instance.value_block
    q, k, v = (pad(x, (0, more)).contiguous() for x, more in ((q, more_keys), (k, more_keys), (v, more_values)))
    if g is not None:
        g = (pad(g.float(), (0, more_keys)) if member.gate == "channel" else g.float()).contiguous()
    if beta is not None:
        beta = beta.float().contiguous()
    if initial_state is not None:
        initial_state = pad(initial_state.float(), (0, more_values, 0, more_keys)).contiguous()
    layout = layout_of(q.shape[0], q.shape[1], cu_seqlens, q.device)
    out, final = _Recurrence.apply(  # type: ignore[no-untyped-call]
        q, k, v, g, beta, initial_state, scale, layout, instance, backend(instance), output_final_state
    )
    return out[..., :value_dim], None if final is None else final[:, :, :key_dim, :value_dim]


def _check(
    member: Member,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor | None,
    beta: Tensor | None,
    initial_state: Tensor | None,
    cu_seqlens: Tensor | None,
) -> None:
    if q.dim() != 4 or k.shape != q.shape or v.dim() != 4 or v.shape[:2] != q.shape[:2]:
        shapes = f"{[*q.shape]}, {[*k.shape]}, {[*v.shape]}"
        raise KernelError(f"q, k [b, t, h, k] and v [b, t, hv, v] do not fit together: {shapes}", where="shapes")
    if q.dtype not in (torch.bfloat16, torch.float16, torch.float32) or k.dtype != q.dtype or v.dtype != q.dtype:
        raise KernelError(f"q, k and v share bfloat16, float16 or float32; found {q.dtype}, {k.dtype}, {v.dtype}", where="dtypes")
    if not 1 <= q.shape[3] <= 128 or q.shape[2] == 0 or v.shape[2] % q.shape[2]:
        raise KernelError("key_dim is 1 to 128, and the value heads are a multiple of the key heads", where="shapes")
    scalars = v.shape[:3]
    gates = {"none": None, "scalar": scalars, "channel": (*scalars, q.shape[3])}[member.gate]
    for name, tensor, wanted in (("g", g, gates), ("beta", beta, scalars if member.delta else None)):
        found = None if tensor is None else tuple(tensor.shape)
        if found != (None if wanted is None else tuple(wanted)):
            raise KernelError(
                f"{member.name} takes {name} of shape {wanted and [*wanted]}, found {found and [*found]}", where=name
            )
    sequences = q.shape[0] if cu_seqlens is None else cu_seqlens.numel() - 1
    if initial_state is not None and initial_state.shape != (sequences, v.shape[2], q.shape[3], v.shape[3]):
        raise KernelError(
            f"one [key, value] matrix a sequence and value head, found {[*initial_state.shape]}", where="initial_state"
        )
