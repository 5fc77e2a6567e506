import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """The last state of a state-space recurrence with input-dependent decay, evaluated in blocks.

    S_t = exp(A_t) S_(t-1) + X_t B_t^T per head, S before the first step being zero; y = S_last
    """

    def __init__(self, batch_size, seq_length, n_heads, d_head, d_state, block_len=64):
        super().__init__()
        if seq_length % block_len:
            raise ValueError(f"the length {seq_length} is no multiple of the block length {block_len}")
        self.block_len = block_len
        self.A = nn.Parameter(torch.randn(batch_size, seq_length, n_heads))
        self.B = nn.Parameter(torch.randn(batch_size, seq_length, n_heads, d_state))
        self.C = nn.Parameter(torch.randn(batch_size, seq_length, n_heads, d_state))

    @staticmethod
    def decay(rates):
        """exp of the sums over (j, i] for j <= i along the last dimension, zero elsewhere."""
        sums = rates.cumsum(dim=-1)
        later = torch.ones(sums.shape[-1], sums.shape[-1], dtype=torch.bool, device=sums.device).triu(1)
        return (sums[..., :, None] - sums[..., None, :]).masked_fill(later, -math.inf).exp()

    def forward(self, X, initial_states=None):
        x, a, b = (t.unflatten(1, (-1, self.block_len)) for t in (X, self.A, self.B))
        a = a.permute(0, 3, 1, 2)
        sums = a.cumsum(dim=-1)
        left = (sums[..., -1:] - sums).exp()
        states = torch.einsum("bklhn,bhkl,bklhp->bkhpn", b, left, x)
        between = self.decay(F.pad(sums[..., -1], (1, 0)))
        if initial_states is None:  # Nothing is carried into the first block.
            between = between[..., 1:]
        else:
            states = torch.cat([initial_states, states], dim=1)
        states = torch.einsum("bhzk,bkhpn->bzhpn", between, states)
        return states[:, -1]


batch_size = 2048
seq_length = 128
n_heads = 8
d_head = 64
d_state = 16
block_len = 64


def get_inputs():
    return [torch.rand(batch_size, seq_length, n_heads, d_head)]


def get_init_inputs():
    return [batch_size, seq_length, n_heads, d_head, d_state, block_len]
