import torch
import torch.nn as nn


class Model(nn.Module):
    """The last output of a stacked LSTM that starts from random states, through a linear layer.

    i, f, g, o = W x_t + U h_(t-1) + b, c_t = sigmoid(f) c_(t-1) + sigmoid(i) tanh(g), h_t = sigmoid(o) tanh(c_t);
    every layer reads the h of the one below, y = fc(h_last of the last layer); h_0, c_0 standard normal in every call
    """

    def __init__(self, input_size, hidden_size, num_layers, output_size, dropout=0.0):
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True, dropout=dropout)
        self.fc = nn.Linear(hidden_size, output_size)

    def forward(self, x, h0=None, c0=None):
        shape = (self.lstm.num_layers, x.shape[0], self.lstm.hidden_size)
        h0 = torch.randn(shape, device=x.device) if h0 is None else h0
        c0 = torch.randn(shape, device=x.device) if c0 is None else c0
        return self.fc(self.lstm(x, (h0, c0))[0][:, -1])


batch_size = 10
sequence_length = 512
input_size = 128
hidden_size = 256
num_layers = 6
output_size = 10
dropout = 0.0


def get_inputs():
    return [torch.rand(batch_size, sequence_length, input_size)]


def get_init_inputs():
    return [input_size, hidden_size, num_layers, output_size, dropout]
