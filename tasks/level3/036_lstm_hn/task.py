import torch
import torch.nn as nn


class Model(nn.Module):
    """The last outputs of all layers of a stacked LSTM.

    i, f, g, o = W x_t + U h_(t-1) + b, c_t = sigmoid(f) c_(t-1) + sigmoid(i) tanh(g), h_t = sigmoid(o) tanh(c_t);
    every layer reads the h of the one below, y[l] = the last h of layer l
    """

    def __init__(self, input_size, hidden_size, num_layers, output_size, dropout=0.0):
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True, dropout=dropout)
        self.fc = nn.Linear(hidden_size, output_size)

    def forward(self, x, h0, c0):
        return self.lstm(x, (h0, c0))[1][0]


batch_size = 10
sequence_length = 512
input_size = 128
hidden_size = 256
num_layers = 6
output_size = 10
dropout = 0.0


def get_inputs():
    return [
        torch.rand(batch_size, sequence_length, input_size),
        torch.rand((num_layers, batch_size, hidden_size)),
        torch.rand((num_layers, batch_size, hidden_size)),
    ]


def get_init_inputs():
    return [input_size, hidden_size, num_layers, output_size, dropout]
