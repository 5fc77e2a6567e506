import torch
import torch.nn as nn


class Model(nn.Module):
    """Selective scan of Mamba, token by token.

    Every channel has a state h with decays of its own for all its elements; B and C are shared by the channels:

        h_t = exp(delta_t A) h_{t-1} + delta_t B_t u_t,    y_t = sum of h_t C_t + D u_t,    h_0 = 0

    Shapes: u, delta and the output [batch, channel, time], delta positive; A [channel, state_dim], not positive; B, C [batch,
    state_dim, time]; D [channel]. 16-bit inputs are computed with in float32 and the output is rounded once.
    """

    def __init__(self):
        super().__init__()

    def forward(
        self, u: torch.Tensor, delta: torch.Tensor, A: torch.Tensor, B: torch.Tensor, C: torch.Tensor, D: torch.Tensor
    ) -> torch.Tensor:
        work = torch.promote_types(u.dtype, torch.float32)
        rates, values = A.to(work), u.to(work)
        steps = delta.to(work)[..., None].unbind(2)  # one tensor per token, each [batch, channel, 1]
        inputs = (delta.to(work) * values)[..., None].unbind(2)
        write = B.to(work)[:, None].unbind(3)  # each [batch, 1, state_dim]
        read = C.to(work)[..., None, :].unbind(3)  # each [batch, state_dim, 1]
        state, outputs = None, []
        for step, x_t, B_t, C_t in zip(steps, inputs, write, read, strict=True):
            written = x_t * B_t
            state = written if state is None else (step * rates).exp() * state + written
            outputs.append(torch.bmm(state, C_t)[..., 0])
        return (torch.stack(outputs, dim=2) + D.to(work)[:, None] * values).to(u.dtype)


batch_size = 4
num_channels = 1024
seq_len = 1024
state_dim = 16


def get_inputs():
    u = torch.rand(batch_size, num_channels, seq_len)
    delta = 0.01 + torch.rand(batch_size, num_channels, seq_len)
    A = -torch.rand(num_channels, state_dim)
    B = torch.rand(batch_size, state_dim, seq_len)
    C = torch.rand(batch_size, state_dim, seq_len)
    D = torch.rand(num_channels)
    return [u, delta, A, B, C, D]


def get_init_inputs():
    return []
