"""The five recurrences token by token, in the dtype of their inputs: what the chunkwise model and the kernels are held to."""

from __future__ import annotations

import torch
from torch import Tensor

from native_kernels.gdn.members import Member


def recurrence(
    member: Member, q: Tensor, k: Tensor, v: Tensor, g: Tensor | None, beta: Tensor | None, state: Tensor, scale: float
) -> tuple[Tensor, Tensor]:
    """``R = diag(exp(g_t)) S_{t-1}``, ``S_t = R + k_t u_t^T``, ``o_t = scale S_t^T q_t``.

    With the delta rule ``u_t = beta_t (v_t - R^T k_t)``, without it ``u_t = v_t``.

    Args:
        member: Which of the five.
        q: ``[n, time, key]``; n counts the heads of all sequences.
        k: Like q.
        v: ``[n, time, value]``.
        g: Natural logarithm of the decay: ``[n, time]`` for a scalar gate, ``[n, time, key]`` for a channel gate, None without.
        beta: ``[n, time]`` with the delta rule, else None.
        state: Before the first token, ``[n, key, value]``.
        scale: Factor of the output.

    Returns:
        The output ``[n, time, value]`` and the state after the last token.
    """
    outputs = []
    for t in range(q.shape[1]):
        if g is not None:
            decay = g[:, t].exp()
            state = state * (decay[:, :, None] if member.gate == "channel" else decay[:, None, None])
        u = v[:, t]
        if beta is not None:
            u = beta[:, t, None] * (u - (state * k[:, t, :, None]).sum(1))
        state = state + k[:, t, :, None] * u[:, None, :]
        outputs.append(scale * (state * q[:, t, :, None]).sum(1))
    return (torch.stack(outputs, 1) if outputs else v.clone()), state
