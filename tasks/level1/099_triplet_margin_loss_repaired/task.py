import torch
import torch.nn as nn


class Model(nn.Module):
    """Mean of how much nearer than a margin the negative is to the anchor, compared with the positive, at distances drawn anew.

    y = mean_i max(|a_i - p_i + 1e-6| - |a_i - n_i + 1e-6| + margin, 0), Euclidean norms of rows of anchor, positive and negative
    """

    def __init__(self, margin=1.0):
        super().__init__()
        self.loss_fn = nn.TripletMarginLoss(margin=margin)

    def forward(self, anchor, positive, negative):
        return self.loss_fn(anchor, positive, negative)


batch_size = 4096
input_shape_0 = 8192
input_shape = (input_shape_0,)
dim = 1


def get_inputs():
    scale = torch.rand(())
    anchor = torch.rand(batch_size, *input_shape)
    positive = anchor + scale * torch.rand(batch_size, 1) * torch.randn(batch_size, *input_shape)
    return [anchor, positive, anchor + torch.rand(batch_size, 1) * torch.randn(batch_size, *input_shape)]


def get_init_inputs():
    return [1.0]
