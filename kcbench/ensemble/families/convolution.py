"""Convolution with bias: unfolding, shifted products, other library convolutions, Winograd, layouts, backward passes.

Transforms into the frequency domain round small integers and are outside the contract.
"""

from __future__ import annotations

from collections.abc import Iterator

from kcbench.ensemble.form import Form
from kcbench.ensemble.sums import orders
from kcbench.ensemble.variant import Variant

CONV = Form(
    "level1/conv2d",
    "x: torch.Tensor",
    """
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, padding: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding)
    """,
)
OPERANDS = """
work = torch.promote_types(x.dtype, torch.float32)
weight, bias = self.conv.weight.to(work), self.conv.bias.to(work)
kernel, pad = self.conv.kernel_size[0], self.conv.padding[0]
"""
PADDED = (
    OPERANDS
    + """
y = F.pad(x.to(work), (pad, pad, pad, pad))
height, width = x.shape[2] + 2 * pad - kernel + 1, x.shape[3] + 2 * pad - kernel + 1
"""
)
EMPTY = "if x.numel() == 0:\n    return self.conv(x)\n"
BIAS = "bias.view(1, -1, 1, 1)"
START_AT_BIAS = f"out = {BIAS}.expand(len(x), -1, height, width)\n"
START_AT_ZERO = "out = y.new_zeros(len(x), len(weight), height, width)\n"
END_WITH_BIAS = f"return (out + {BIAS}).to(x.dtype)"
RETURN = "return out.to(x.dtype)"

SHIFTS = {
    "einsum": 'out = out + torch.einsum("oc,bchw->bohw", weight[:, :, i, j], y[:, :, i : i + height, j : j + width])',
    "matmul": "out = out + (weight[:, :, i, j] @ y[:, :, i : i + height, j : j + width].flatten(2)).view(out.shape)",
    "pointwise": "out = out + F.conv2d(y[:, :, i : i + height, j : j + width], weight[:, :, i : i + 1, j : j + 1])",
}
ORDERS = {
    "rows": "for i in range(kernel):\n    for j in range(kernel):\n        ",
    "columns-backward": "for j in reversed(range(kernel)):\n    for i in reversed(range(kernel)):\n        ",
}
WINDOWS = "windows = y.unfold(2, kernel, 1).unfold(3, kernel, 1)\n"

BODIES = {
    "im2col": EMPTY
    + OPERANDS
    + """
columns = F.unfold(x.to(work), kernel, padding=pad)
out = (weight.flatten(1) @ columns + bias[:, None]).unflatten(2, (x.shape[2] + 2 * pad - kernel + 1, -1))
"""
    + RETURN,
    "im2col-rows": EMPTY
    + OPERANDS
    + """
columns = F.unfold(x.to(work), kernel, padding=pad).transpose(1, 2).contiguous()
out = F.linear(columns, weight.flatten(1), bias).transpose(1, 2)
out = out.unflatten(2, (x.shape[2] + 2 * pad - kernel + 1, -1))
"""
    + RETURN,
    "im2col-bias-row": EMPTY
    + OPERANDS
    + """
columns = F.unfold(x.to(work), kernel, padding=pad)
columns = torch.cat((torch.ones_like(columns[:, :1]), columns), dim=1)
out = torch.cat((bias[:, None], weight.flatten(1)), dim=1) @ columns
out = out.unflatten(2, (x.shape[2] + 2 * pad - kernel + 1, -1))
"""
    + RETURN,
    "windows-einsum": PADDED + WINDOWS + 'out = torch.einsum("bchwij,ocij->bohw", windows, weight)\n' + END_WITH_BIAS,
    "windows-tensordot": PADDED
    + WINDOWS
    + "out = torch.tensordot(windows, weight, dims=([1, 4, 5], [1, 2, 3])).movedim(-1, 1)\n"
    + END_WITH_BIAS,
    "channels-last": """
        weight = self.conv.weight.contiguous(memory_format=torch.channels_last)
        y = x.contiguous(memory_format=torch.channels_last)
        return F.conv2d(y, weight, self.conv.bias, padding=self.conv.padding).contiguous()
    """,
    "library-float32-bias-last": OPERANDS + f"return (F.conv2d(x.to(work), weight, padding=pad) + {BIAS}).to(x.dtype)",
    "library-padded": PADDED + "return F.conv2d(y, weight, bias).to(x.dtype)",
    "transposed-image": OPERANDS + "return F.conv2d(x.to(work).mT, weight.mT, bias, padding=pad).mT.to(x.dtype)",
    "flipped-image": OPERANDS
    + "return F.conv2d(x.to(work).flip(2, 3), weight.flip(2, 3), bias, padding=pad).flip(2, 3).to(x.dtype)",
    "flipped-channels": OPERANDS + "return F.conv2d(x.to(work).flip(1), weight.flip(1), bias, padding=pad).to(x.dtype)",
    "adjoint": OPERANDS
    + """
# The adjoint of a convolution with a flipped kernel is the convolution.
flipped = weight.flip(2, 3).transpose(0, 1)
return F.conv_transpose2d(x.to(work), flipped, bias, padding=kernel - 1 - pad).to(x.dtype)
""",
    "volume": OPERANDS
    + "return F.conv3d(x.to(work)[:, :, None], weight[:, :, None], bias, padding=(0, pad, pad))[:, :, 0].to(x.dtype)",
    "kernel-rows": PADDED
    + START_AT_BIAS
    + """
for i in range(kernel):
    out = out + F.conv2d(y[:, :, i : i + height], weight[:, :, i : i + 1])
"""
    + RETURN,
    "kernel-rows-1d": PADDED
    + START_AT_ZERO
    + """
for i in range(kernel):
    lines = y[:, :, i : i + height].transpose(1, 2).flatten(0, 1)
    part = F.conv1d(lines, weight[:, :, i]) if len(lines) else lines.new_zeros(0, len(weight), width)
    out = out + part.unflatten(0, (len(x), height)).transpose(1, 2)
"""
    + END_WITH_BIAS,
    "channels-split2": OPERANDS
    + """
pieces = zip(x.to(work).chunk(2, dim=1), weight.chunk(2, dim=1))
return (sum(F.conv2d(part, filters, padding=pad) for part, filters in pieces) + bias.view(1, -1, 1, 1)).to(x.dtype)
""",
    "channels-blocked4": PADDED
    + START_AT_BIAS
    + """
for part, filters in zip(y.split(4, dim=1), weight.split(4, dim=1)):
    out = out + F.conv2d(part, filters)
"""
    + RETURN,
    "channels-strided3": OPERANDS
    + """
lanes = range(min(3, x.shape[1]))
out = sum(F.conv2d(x.to(work)[:, lane::3], weight[:, lane::3], padding=pad) for lane in lanes)
"""
    + END_WITH_BIAS,
    "depthwise-then-sum": PADDED
    + """
channels = x.shape[1]
maps = F.conv2d(y, weight.transpose(0, 1).reshape(-1, 1, kernel, kernel), groups=channels)
out = maps.unflatten(1, (channels, -1)).sum(1)
"""
    + END_WITH_BIAS,
    "one-product-at-a-time": PADDED
    + START_AT_BIAS
    + """
for c in range(x.shape[1]):
    for i in range(kernel):
        for j in range(kernel):
            out = torch.addcmul(out, weight[:, c, i, j].view(1, -1, 1, 1), y[:, c, None, i : i + height, j : j + width])
"""
    + RETURN,
    "kahan-channels": PADDED
    + START_AT_ZERO
    + """
carry = torch.zeros_like(out)
for part, filters in zip(y.split(2, dim=1), weight.split(2, dim=1)):
    term = F.conv2d(part, filters) - carry
    new = out + term
    # The correction of an infinite sum is NaN, which must not get into the sum.
    carry = torch.where(new.isfinite(), (new - out) - term, torch.zeros_like(new)).detach()
    out = new
"""
    + END_WITH_BIAS,
    "image-by-image": EMPTY
    + OPERANDS
    + "return torch.cat([F.conv2d(image, weight, bias, padding=pad) for image in x.to(work).split(1)]).to(x.dtype)",
    "output-channel-by-channel": OPERANDS
    + """
y = x.to(work)
pairs = zip(weight.split(1), bias.split(1))
return torch.cat([F.conv2d(y, filters, shift, padding=pad) for filters, shift in pairs], dim=1).to(x.dtype)
""",
    "row-bands": PADDED
    + """
bands = [y[:, :, top : min(top + 4, height) + kernel - 1] for top in range(0, height, 4)]
return torch.cat([F.conv2d(band, weight, bias) for band in bands], dim=2).to(x.dtype)
""",
    "float64": EMPTY
    + "return F.conv2d(x.double(), self.conv.weight.double(), self.conv.bias.double(), padding=self.conv.padding).to(x.dtype)",
    "float64-im2col": EMPTY
    + """
columns = F.unfold(x.double(), self.conv.kernel_size, padding=self.conv.padding)
out = self.conv.weight.double().flatten(1) @ columns + self.conv.bias.double()[:, None]
rows = x.shape[2] + 2 * self.conv.padding[0] - self.conv.kernel_size[0] + 1
return out.unflatten(2, (rows, -1)).to(x.dtype)
""",
}
WINOGRAD = """
    def winograd(y, weight, height, width):
        # F(2x2, 3x3): four outputs of a tile of 4 x 4 from sixteen products; the constants are halves.
        to_input = y.new_tensor([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
        to_filter = y.new_tensor([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
        to_output = y.new_tensor([[1, 1, 1, 0], [0, 1, -1, -1]])
        y = F.pad(y, (0, width % 2, 0, height % 2))
        tiles = to_input @ y.unfold(2, 4, 2).unfold(3, 4, 2) @ to_input.t()
        filters = to_filter @ weight @ to_filter.t()
        out = to_output @ torch.einsum("bchwij,ocij->bohwij", tiles, filters) @ to_output.t()
        return out.transpose(3, 4).flatten(4, 5).flatten(2, 3)[:, :, :height, :width]
"""

FUNCTION = """
    class Conv(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, bias, pad):
            ctx.save_for_backward(x, weight)
            ctx.pad = pad
            work = torch.promote_types(x.dtype, torch.float32)
            return F.conv2d(x.to(work), weight.to(work), bias.to(work), padding=pad).to(x.dtype)

        @staticmethod
        def backward(ctx, grad):
            x, weight = (part.to(torch.promote_types(part.dtype, torch.float32)) for part in ctx.saved_tensors)
            g, kernel, pad = grad.to(x.dtype), weight.shape[2], ctx.pad
            {gradients}
            return dx.to(grad.dtype), dweight.to(grad.dtype), {bias}.to(grad.dtype), None
"""
BACKWARDS = {
    "library": (
        """dx = torch.nn.grad.conv2d_input(x.shape, weight, g, padding=pad)
            dweight = torch.nn.grad.conv2d_weight(x, weight.shape, g, padding=pad)""",
        "g.sum((0, 2, 3))",
    ),
    "flipped-kernel": (
        """dx = F.conv2d(g, weight.flip(2, 3).transpose(0, 1), padding=kernel - 1 - pad)
            dweight = F.conv2d(x.transpose(0, 1), g.transpose(0, 1), padding=pad).transpose(0, 1)""",
        "g.flatten(2).sum(2).sum(0)",
    ),
    "columns": (
        """columns = F.unfold(x, kernel, padding=pad)
            dx = F.fold(weight.flatten(1).t() @ g.flatten(2), x.shape[2:], kernel, padding=pad)
            dweight = torch.einsum("bol,bkl->ok", g.flatten(2), columns).view(weight.shape)""",
        'torch.einsum("bohw->o", g)',
    ),
}


def variants() -> Iterator[Variant]:
    """Every variant of the family."""
    for product, place, order in (
        ("einsum", "first", "rows"),
        ("matmul", "last", "rows"),
        ("pointwise", "first", "columns-backward"),
        ("matmul", "first", "columns-backward"),
    ):
        loop = ORDERS[order] + SHIFTS[product] + "\n"
        body = PADDED + (START_AT_BIAS + loop + RETURN if place == "first" else START_AT_ZERO + loop + END_WITH_BIAS)
        yield CONV.torch(f"shifted-{product} {order} bias-{place}", body)
    for name, body in BODIES.items():
        yield CONV.torch(name, body)
    for name, order in orders("pairwise blocked16 strided8").items():
        body = "terms = windows[:, None] * weight[:, :, None, None]\n"
        body += "out = total(terms.movedim(2, -1).flatten(-3)).squeeze(-1)\n"
        yield CONV.torch(f"windows-products {name}", PADDED + WINDOWS + body + END_WITH_BIAS, order)
    body = PADDED + "out = winograd(y, weight, height, width)\n" + END_WITH_BIAS
    yield CONV.torch("winograd", EMPTY + body, WINOGRAD)
    for name, (gradients, bias) in BACKWARDS.items():
        text = FUNCTION.format(gradients=gradients, bias=bias)
        yield CONV.torch(f"function {name}", "return Conv.apply(x, self.conv.weight, self.conv.bias, self.conv.padding[0])", text)
