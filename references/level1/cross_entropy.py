"""Float64 truth of level1/cross_entropy: log of the normaliser minus the target's logit, averaged over the rows."""


def forward(predictions, targets, *, params, init):
    # The shift cancels in exact arithmetic, so no derivative goes through it.
    shifted = predictions - predictions.detach().amax(dim=1, keepdim=True)
    chosen = shifted.gather(1, targets[:, None]).squeeze(1)
    return (shifted.exp().sum(dim=1).log() - chosen).sum() / targets.numel()
