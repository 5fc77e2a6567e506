import torch
import torch.nn as nn


class Model(nn.Module):
    """Mean of how much less than one the products of labels and predictions are, of a scale drawn anew each time.

    There is one label a column, although it is drawn as one a row: both sizes are equal.

    y = mean over i, j of max(1 - predictions[i, j] targets[j], 0)
    """

    def __init__(self):
        super().__init__()

    def forward(self, predictions, targets):
        return torch.clamp(1 - predictions * targets, min=0).mean()


batch_size = 8192
input_shape_0 = 8192
input_shape = (input_shape_0,)
dim = 1
spread = 4.0


def get_inputs():
    scale = spread * torch.rand(())
    return [scale * torch.randn(batch_size, *input_shape), torch.randint(0, 2, (batch_size,)).float() * 2.0 - 1]


def get_init_inputs():
    return []
