import torch
import torch.nn as nn


class Model(nn.Module):
    """Transposed convolution, softmax over the channels, and the logistic function.

    y = sigmoid(softmax(conv_transpose3d(x), channels))
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, bias=True):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride, padding, output_padding, bias=bias
        )

    def forward(self, x):
        return torch.sigmoid(torch.softmax(self.conv_transpose(x), dim=1))


batch_size = 16
in_channels = 32
out_channels = 64
D = 16
H = 32
W = 32
kernel_size = 3
stride = 2
padding = 1
output_padding = 1


def get_inputs():
    return [torch.rand(batch_size, in_channels, D, H, W)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding, output_padding]
