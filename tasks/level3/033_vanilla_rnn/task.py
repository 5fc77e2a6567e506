import torch
import torch.nn as nn


class Model(nn.Module):
    """One step of a recurrent network, from a hidden state that is given, or else kept from the last call.

    h' = tanh(W [x, h] + b), y = V h' + c
    """

    def __init__(self, input_size: int, hidden_size: int, output_size: int):
        super().__init__()
        self.hidden = torch.randn((batch_size, hidden_size))
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)

    def forward(self, x: torch.Tensor, initial_hidden=None) -> torch.Tensor:
        hidden = self.hidden.to(x.device) if initial_hidden is None else initial_hidden
        self.hidden = torch.tanh(self.i2h(torch.cat((x, hidden), dim=1)))
        return self.h2o(self.hidden)


batch_size = 256
input_size = 16384
hidden_size = 16384
output_size = 8192
sequence_length = 256


def get_inputs():
    return [torch.rand(batch_size, input_size), torch.rand(batch_size, hidden_size)]


def get_init_inputs():
    return [input_size, hidden_size, output_size]
