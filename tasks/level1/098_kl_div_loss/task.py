import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Kullback-Leibler divergence of the predictions from the targets, averaged over the rows.

    y = (1/B) sum_{i, j} targets[i, j] (log targets[i, j] - log predictions[i, j]), 0 where targets[i, j] = 0
    """

    def __init__(self):
        super().__init__()

    def forward(self, predictions, targets):
        return F.kl_div(predictions.log(), targets, reduction="batchmean")


batch_size = 16384
input_shape_0 = 16384
input_shape = (input_shape_0,)
dim = 1


def get_inputs():
    scale = torch.rand(())
    predictions = (torch.rand(batch_size, *input_shape) * scale).softmax(dim=-1)
    return [predictions, torch.rand(batch_size, *input_shape).softmax(dim=-1)]


def get_init_inputs():
    return []
