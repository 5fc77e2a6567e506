"""Float64 truth of level1/094_mse_loss: the product of the differences with themselves."""


def forward(predictions, targets, *, params, init):
    error = (predictions - targets).reshape(-1)
    return error.dot(error) / error.numel()
