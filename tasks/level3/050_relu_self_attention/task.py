import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """Self-attention of every token to itself and the tokens before it, with ReLU in place of softmax.

    q, k, v = linear(x) per head, y[i] = sum over j <= i of relu(q_i . k_j / sqrt(width of a head)) v_j
    """

    def __init__(self, n_embd, n_head, max_seqlen):
        super().__init__()
        self.n_head = n_head
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.register_buffer("bias", torch.tril(torch.ones(max_seqlen, max_seqlen))[None, None])

    def forward(self, x):
        length = x.shape[1]
        q, k, v = self.c_attn(x).unflatten(2, (3, self.n_head, -1)).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(self.bias[:, :, :length, :length] == 0, -math.inf)
        return (scores.relu() @ v).transpose(1, 2).flatten(2)


batch_size = 16
max_seqlen = 1024
n_embd = 768
n_head = 12


def get_inputs():
    return [torch.rand(batch_size, max_seqlen, n_embd)]


def get_init_inputs():
    return [n_embd, n_head, max_seqlen]
