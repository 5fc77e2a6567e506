"""The family by the names, arguments and layouts that users of flash-linear-attention know.

CUDA tensors are computed by the kernels, CPU tensors by the same kernels on the emulator, if that is asked for: it takes seconds
a call. There is no other path.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

from torch import Tensor

from native_kernels.gdn.call import Instance, Kernels
from native_kernels.gdn.device import Device
from native_kernels.gdn.emulator import Emulator
from native_kernels.gdn.errors import KernelError
from native_kernels.gdn.members import DELTANET, GDN, GLA, KDA, SSD, Member
from native_kernels.gdn.ops import recurrence

EMULATE = "KCBENCH_NATIVE_EMULATE"
"""Environment variable that lets CPU tensors in."""


def backend_for(x: Tensor) -> Callable[[Instance], Kernels]:
    """The backend for tensors of a device.

    Raises:
        KernelError: They are on the CPU, and the emulator is not asked for.
    """
    if x.is_cuda:
        return functools.partial(Device, device=x.device)
    if not os.environ.get(EMULATE):
        raise KernelError(
            "tensors must be on a GPU", where="native_kernels.gdn", fix=f"or set {EMULATE}=1 to emulate one, slowly"
        )
    return Emulator


def _call(
    member: Member,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor | None = None,
    beta: Tensor | None = None,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    cu_seqlens: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """See :func:`native_kernels.gdn.ops.recurrence`."""
    return recurrence(
        member,
        backend_for(q),
        q,
        k,
        v,
        g,
        beta,
        scale=scale,
        initial_state=initial_state,
        output_final_state=output_final_state,
        cu_seqlens=cu_seqlens,
    )


chunk_gated_delta_rule = functools.partial(_call, GDN)
"""``(q, k, v, g, beta, scale, initial_state, output_final_state, cu_seqlens)``, g ``[batch, time, value_heads]``."""
chunk_kda = functools.partial(_call, KDA)
"""The same with g ``[batch, time, value_heads, key_dim]``."""
chunk_delta_rule = functools.partial(_call, DELTANET)
"""The same without g (name beta)."""
chunk_gla = functools.partial(_call, GLA)
"""The same without beta, g ``[batch, time, value_heads, key_dim]``."""
chunk_simple_gla = functools.partial(_call, SSD)
"""The same without beta, g ``[batch, time, value_heads]``."""


def mamba2_ssd(x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, cu_seqlens: Tensor | None = None) -> Tensor:
    """State space duality of Mamba-2 as simple gated linear attention: ``v = dt x``, ``g = dt A``, ``k = B``, ``q = C``, scale 1.

    The products with dt and D stay in float32, so that 16-bit inputs are rounded once, at the end.

    Args:
        x: ``[batch, time, heads, head_dim]``.
        dt: ``[batch, time, heads]``.
        A: Rate of decay, ``[heads]``, not positive.
        B: What is written, ``[batch, time, groups, state_dim]``; each group serves ``heads / groups`` heads.
        C: What reads, shaped like B.
        D: What skips the state, ``[heads]``.
        cu_seqlens: Where packed sequences begin.
    """
    values, steps = x.float(), dt.float()
    out, _ = chunk_simple_gla(
        C.float(), B.float(), values * steps[..., None], steps * A.float(), scale=1.0, cu_seqlens=cu_seqlens
    )
    return (out + D.float()[:, None] * values).to(x.dtype)
