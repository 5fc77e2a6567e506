import torch
import torch.nn as nn


class Model(nn.Module):
    """A recurrent network with an output at every step.

    h_t = tanh(W [x_t, h_(t-1)] + b), y_t = V h_t + c
    """

    def __init__(self, input_size: int, hidden_size: int, output_size: int):
        super().__init__()
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)

    def forward(self, x: torch.Tensor, h0: torch.Tensor) -> torch.Tensor:
        hidden, outputs = h0, []
        for now in x:
            hidden = torch.tanh(self.i2h(torch.cat((now, hidden), dim=1)))
            outputs.append(self.h2o(hidden))
        return torch.stack(outputs)


batch_size = 8
input_size = 1024
hidden_size = 256
output_size = 128
sequence_length = 256


def get_inputs():
    return [torch.rand(sequence_length, batch_size, input_size), torch.rand(batch_size, hidden_size)]


def get_init_inputs():
    return [input_size, hidden_size, output_size]
