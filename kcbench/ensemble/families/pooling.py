"""Max pooling: orders of the maxima, separable and windowed forms, library calls, layouts, handwritten backward passes."""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.form import Form
from kcbench.ensemble.variant import Variant

POOL = Form(
    "level1/maxpool2d",
    "x: torch.Tensor",
    """
    def __init__(self, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size, stride=stride, padding=padding)
    """,
)
PADDED = """
kernel, stride, pad = self.pool.kernel_size, self.pool.stride, self.pool.padding
y = F.pad(x, (pad, pad, pad, pad), value=float("-inf"))
height, width = (y.shape[2] - kernel) // stride + 1, (y.shape[3] - kernel) // stride + 1
"""
VIEWS = (
    PADDED
    + """
last_row, last_column = stride * (height - 1) + 1, stride * (width - 1) + 1
views = [y[:, :, i : i + last_row : stride, j : j + last_column : stride] for i in range(kernel) for j in range(kernel)]
"""
)
WINDOWS = PADDED + "windows = y.unfold(2, kernel, stride).unfold(3, kernel, stride)\n"

BODIES = {
    "shifted forward": VIEWS + "out = views[0].clone()\nfor view in views[1:]:\n    out = torch.maximum(out, view)\nreturn out",
    "shifted backward": VIEWS
    + "out = views[-1].clone()\nfor view in reversed(views[:-1]):\n    out = torch.maximum(view, out)\nreturn out",
    "shifted tree": VIEWS
    + """
while len(views) > 1:
    views = [torch.maximum(a, b) for a, b in zip(views[::2], views[1::2])] + views[len(views) // 2 * 2 :]
return views[0]
""",
    "shifted stacked": VIEWS + "return torch.stack(views).amax(0)",
    "shifted index": VIEWS + "return torch.stack(views, dim=-1).max(dim=-1).values",
    "shifted select": VIEWS
    + """
out = views[0].clone()
for view in views[1:]:
    # A comparison with NaN is false, so NaN is asked for by name.
    out = torch.where((view > out) | view.isnan(), view, out)
return out
""",
    "shifted negated": VIEWS + "return -torch.stack([-view for view in views]).amin(0)",
    "shifted float64": VIEWS + "return torch.stack(views).double().amax(0).to(x.dtype)",
    "windows amax": WINDOWS + "return windows.amax((4, 5))",
    "windows flat": WINDOWS + "return windows.flatten(4).max(dim=4).values",
    "windows rows-then-columns": WINDOWS + "return windows.amax(5).amax(4)",
    "windows columns-then-rows": WINDOWS + "return windows.max(dim=4).values.max(dim=4).values",
    "windows sorted": WINDOWS + "return windows.flatten(4).sort(dim=4).values[..., -1].clone()",
    "windows topk": WINDOWS + "return windows.flatten(4).topk(1, dim=4).values[..., 0].clone()",
    "windows argmax": WINDOWS
    + """
flat = windows.flatten(4)
return flat.gather(4, flat.detach().argmax(dim=4, keepdim=True))[..., 0].clone()
""",
    "separable rows-first": PADDED + "return y.unfold(3, kernel, stride).amax(4).unfold(2, kernel, stride).amax(4)",
    "separable columns-first": PADDED
    + "return y.unfold(2, kernel, stride).max(dim=4).values.unfold(3, kernel, stride).max(dim=4).values",
    "separable library": """
        pool = self.pool
        rows = F.max_pool2d(x, (1, pool.kernel_size), (1, pool.stride), (0, pool.padding))
        return F.max_pool2d(rows, (pool.kernel_size, 1), (pool.stride, 1), (pool.padding, 0))
    """,
    "separable maximum": PADDED
    + """
rows = [y[:, :, :, j : j + stride * (width - 1) + 1 : stride] for j in range(kernel)]
across = torch.maximum(torch.maximum(rows[0], rows[2]), rows[1])
down = [across[:, :, i : i + stride * (height - 1) + 1 : stride] for i in range(kernel)]
return torch.maximum(torch.maximum(down[2], down[0]), down[1])
""",
    "dense-then-stride": PADDED
    + """
dense = torch.maximum(torch.maximum(y[..., :-2], y[..., 1:-1]), y[..., 2:])
dense = torch.maximum(torch.maximum(dense[:, :, :-2], dense[:, :, 1:-1]), dense[:, :, 2:])
return dense[:, :, ::stride, ::stride].clone()
""",
    "unfold": PADDED
    + """
if x.numel() == 0:
    return self.pool(x)
columns = F.unfold(y.flatten(0, 1)[:, None], kernel, stride=stride)
return columns.amax(1).view(*x.shape[:2], height, width)
""",
    "channels-last": "return self.pool(x.contiguous(memory_format=torch.channels_last)).contiguous()",
    "transposed": "return self.pool(x.mT.contiguous()).mT",
    "flipped-channels": "return self.pool(x.flip(1)).flip(1)",
    "volume": """
        pool = self.pool
        size, stride, pad = (1, *2 * (pool.kernel_size,)), (1, *2 * (pool.stride,)), (0, *2 * (pool.padding,))
        return F.max_pool3d(x[:, :, None], size, stride, pad)[:, :, 0]
    """,
    "with-indices": "return F.max_pool2d(x, self.pool.kernel_size, self.pool.stride, self.pool.padding, return_indices=True)[0]",
    "channel-by-channel": "return torch.cat([self.pool(channel) for channel in x.split(1, dim=1)], dim=1)",
    "float32": "return self.pool(x.float()).to(x.dtype)",
}

FUNCTION = """
    class MaxPool(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, kernel, stride, pad):
            y = F.pad(x, (pad, pad, pad, pad), value=float("-inf"))
            windows = y.unfold(2, kernel, stride).unfold(3, kernel, stride).flatten(4)
            out, place = windows.max(dim=4)
            ctx.save_for_backward(place)
            ctx.sizes = kernel, stride, pad, y.shape
            return out

        @staticmethod
        def backward(ctx, grad):
            (place,) = ctx.saved_tensors
            kernel, stride, pad, shape = ctx.sizes
            {scatter}
            return full[:, :, pad : shape[2] - pad, pad : shape[3] - pad], None, None, None
"""
SCATTERS = {
    "scatter-add": """rows = torch.arange(place.shape[2], device=grad.device)[:, None] * stride + place // kernel
            columns = torch.arange(place.shape[3], device=grad.device) * stride + place % kernel
            full = grad.new_zeros(*shape[:2], shape[2] * shape[3])
            full = full.scatter_add(2, (rows * shape[3] + columns).flatten(2), grad.flatten(2)).view(shape)""",
    "shifted-masks": """full = grad.new_zeros(shape)
            for window in range(kernel * kernel):
                i, j = divmod(window, kernel)
                rows = slice(i, i + stride * (place.shape[2] - 1) + 1, stride)
                columns = slice(j, j + stride * (place.shape[3] - 1) + 1, stride)
                full[:, :, rows, columns] += grad.masked_fill(place != window, 0.0)""",
    "fold": """hot = F.one_hot(place, kernel * kernel).to(grad.dtype) * grad[..., None]
            columns = hot.flatten(0, 1).flatten(1, 2).transpose(1, 2)
            full = F.fold(columns, shape[2:], kernel, stride=stride).view(shape)""",
}


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    for name, body in BODIES.items():
        yield POOL.torch(name, body)
    for name, scatter in SCATTERS.items():
        call = "return MaxPool.apply(x, self.pool.kernel_size, self.pool.stride, self.pool.padding)"
        yield POOL.torch(f"function {name}", call, FUNCTION.format(scatter=scatter))
