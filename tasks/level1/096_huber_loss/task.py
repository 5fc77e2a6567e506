import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Mean of the differences' squares where they are small, of their magnitudes elsewhere.

    y = mean of d^2 / 2 where |d| < 1, |d| - 1/2 elsewhere, d = predictions - targets
    """

    def __init__(self):
        super().__init__()

    def forward(self, predictions, targets):
        return F.smooth_l1_loss(predictions, targets)


batch_size = 32768
input_shape_0 = 32768
input_shape = (input_shape_0,)
dim = 1


def get_inputs():
    scale = torch.rand(())
    return [torch.rand(batch_size, *input_shape) * scale, torch.rand(batch_size, *input_shape)]


def get_init_inputs():
    return []
