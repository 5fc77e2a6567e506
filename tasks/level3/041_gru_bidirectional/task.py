import torch
import torch.nn as nn


class Model(nn.Module):
    """The outputs of the last layer of a stacked GRU in both directions at every step.

    r, z = sigmoid(W x_t + U h_(t-1) + b), n = tanh(V x_t + v + r (R h_(t-1) + u)), h_t = (1 - z) n + z h_(t-1);
    every layer reads the h of both directions below, y[t] = [forward h_t, backward h_t] of the last layer
    """

    def __init__(self, input_size, hidden_size, num_layers=3, bias=True, batch_first=False):
        super().__init__()
        self.gru = nn.GRU(input_size, hidden_size, num_layers, bias, batch_first, bidirectional=True)

    def forward(self, x, h0):
        return self.gru(x, h0)[0]


batch_size = 10
seq_len = 512
input_size = 128
hidden_size = 256
num_layers = 6


def get_inputs():
    return [torch.rand(seq_len, batch_size, input_size), torch.rand((num_layers * 2, batch_size, hidden_size))]


def get_init_inputs():
    return [input_size, hidden_size, num_layers]
