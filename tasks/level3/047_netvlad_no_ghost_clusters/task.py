import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Residuals of features to cluster centres, summed by soft assignment.

    a[b, n] = softmax(bn(x[b, n] clusters)), ghosts dropped; v[b, d, k] = sum_n a[b, n, k] (x[b, n, d] - clusters2[d, k]);
    y = v over its norm along d, flattened, over its norm; bn by the statistics of all b and n
    """

    def __init__(self, cluster_size, feature_size, ghost_clusters):
        super().__init__()
        self.cluster_size = cluster_size
        scale = 1 / math.sqrt(feature_size)
        self.clusters = nn.Parameter(scale * torch.randn(feature_size, cluster_size + ghost_clusters))
        self.batch_norm = nn.BatchNorm1d(cluster_size + ghost_clusters)
        self.clusters2 = nn.Parameter(scale * torch.randn(1, feature_size, cluster_size))

    def forward(self, x, mask=None):
        weights = self.batch_norm((x @ self.clusters).flatten(0, 1)).softmax(dim=1)
        weights = weights[:, : self.cluster_size].unflatten(0, x.shape[:2])
        residuals = x.transpose(1, 2) @ weights - weights.sum(dim=1, keepdim=True) * self.clusters2
        return F.normalize(F.normalize(residuals).flatten(1))


batch_size = 2048
num_features = 100
num_clusters = 32
feature_size = 512
ghost_clusters = 0


def get_inputs():
    return [torch.rand(batch_size, num_features, feature_size)]


def get_init_inputs():
    return [num_clusters, feature_size, ghost_clusters]
