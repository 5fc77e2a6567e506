"""Kernels as people write them: other forms of a task's formula, each of them right. By task, as source text."""

from __future__ import annotations

from textwrap import indent


def _kernel(forward: str, *, arguments: str = "x", init: str = "pass", constructor: str = "") -> str:
    """A submission.

    Args:
        forward: Body of ``forward``.
        arguments: Those of ``forward``.
        init: Body of the constructor, after that of the base class.
        constructor: Arguments of the constructor.
    """
    return (
        "import math\n\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\nclass ModelNew(nn.Module):\n"
        f"    def __init__(self{', ' if constructor else ''}{constructor}):\n        super().__init__()\n{indent(init.strip(), ' ' * 8)}\n\n"
        f"    def forward(self, {arguments}):\n{indent(forward.strip(), ' ' * 8)}\n"
    )


FORMS: dict[str, str] = {
    # The diagonal matrix written out: of zero times NaN it makes NaN.
    "level1/012_diagonal_matmul": _kernel("return torch.diag(A) @ B", arguments="A, B"),
    # Nothing below the diagonal is read.
    "level1/014_upper_triangular_matmul": _kernel(
        """
rows = [torch.cat([B.new_zeros(i), A[i, i:] @ B[i:, i:]]) for i in range(len(A))]
return torch.stack(rows) if rows else A @ B
""",
        arguments="A, B",
    ),
    # The shift is differentiated, too.
    "level1/024_log_softmax": _kernel(
        """
shifted = x - x.amax(self.dim, keepdim=True)
return shifted - shifted.exp().sum(self.dim, keepdim=True).log()
""",
        init="self.dim = dim",
        constructor="dim=1",
    ),
    "level1/025_swish": _kernel("return x / (1 + torch.exp(-x))"),
    "level1/026_gelu": _kernel("return 0.5 * x * torch.erfc(-x * 0.7071067811865476)"),
    # Triton has no expm1.
    "level1/027_selu": _kernel("return 1.0507009873554805 * torch.where(x > 0, x, 1.6732632423543772 * (torch.exp(x) - 1))"),
    "level1/029_softplus": _kernel("return x.clamp(min=0) + torch.log1p(torch.exp(-x.abs()))"),
    "level1/033_batch_norm": _kernel(
        """
apart = x - x.mean((0, 2, 3), keepdim=True)
scale = torch.rsqrt(apart.square().mean((0, 2, 3), keepdim=True) + 1e-5)
return apart * scale * self.bn.weight[:, None, None] + self.bn.bias[:, None, None]
""",
        init="self.bn = nn.BatchNorm2d(num_features)",
        constructor="num_features",
    ),
    "level1/042_maxpool2d": _kernel(
        """
size, stride, padding, dilation = self.numbers
x = F.pad(x, (padding,) * 4, value=-math.inf)
height, width = ((length - dilation * (size - 1) - 1) // stride + 1 for length in x.shape[2:])
y = None
for i in range(0, size * dilation, dilation):
    for j in range(0, size * dilation, dilation):
        part = x[:, :, i : i + stride * height : stride, j : j + stride * width : stride][:, :, :height, :width]
        y = part if y is None else torch.maximum(y, part)
return y
""",
        init="self.numbers = kernel_size, stride, padding, dilation",
        constructor="kernel_size, stride, padding, dilation",
    ),
    "level1/057_conv_transpose2d": _kernel(
        """
weight = self.conv_transpose2d.weight
size = weight.shape[-1]
columns = torch.einsum("ncl,cokj->nokjl", x.flatten(2), weight).flatten(1, 3)
return F.fold(columns, (x.shape[2] + size - 1, x.shape[3] + size - 1), size)
""",
        init="self.conv_transpose2d = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, bias=False)",
        constructor="in_channels, out_channels, kernel_size, *others, **more",
    ),
    "level1/090_cumprod": _kernel(
        """
x = x.movedim(self.dim, -1).clone()
step = 1
while step < x.shape[-1]:
    x = torch.cat([x[..., :step], x[..., step:] * x[..., :-step]], -1)
    step *= 2
return x.movedim(-1, self.dim)
""",
        init="self.dim = dim",
        constructor="dim",
    ),
    "level1/091_cumsum_reverse": _kernel(
        """
parts, carry = [], 0
for block in reversed(x.split(16, self.dim)):
    parts.append(block.flip(self.dim).cumsum(self.dim).flip(self.dim) + carry)
    carry = parts[-1].narrow(self.dim, 0, 1)
return torch.cat(parts[::-1], self.dim)
""",
        init="self.dim = dim",
        constructor="dim",
    ),
    # What the mask leaves out is not read.
    "level1/093_masked_cumsum": _kernel(
        "return torch.cumsum(torch.where(mask, x, 0), self.dim)", arguments="x, mask", init="self.dim = dim", constructor="dim"
    ),
    # Of an infinite prediction logsumexp makes an infinity, where a shift makes NaN.
    "level1/095_cross_entropy": _kernel(
        "return (predictions.logsumexp(1) - predictions.gather(1, targets[:, None])[:, 0]).mean()",
        arguments="predictions, targets",
    ),
    # The sum over the outputs is taken of the weights.
    "level2/014_gemm_divide_sum_scale": _kernel(
        "return (x @ self.weight.sum(0))[:, None] * (self.scaling_factor / 2)",
        init="self.weight = nn.Parameter(torch.randn(hidden_size, input_size))\nself.scaling_factor = scaling_factor",
        constructor="input_size, hidden_size, scaling_factor",
    ),
    # What is clamped needs no shift.
    "level2/022_matmul_scale_double_clamp_logsumexp_mish": _kernel(
        """
y = (self.matmul(x) * (2 * self.factor)).clamp(*self.range)
y = y.exp().sum(1, keepdim=True).log()
return y * y * torch.tanh(torch.log1p(y.exp()))
""",
        init="self.matmul = nn.Linear(input_size, hidden_size)\nself.factor = scale_factor\nself.range = clamp_min, clamp_max",
        constructor="input_size, hidden_size, scale_factor, clamp_min, clamp_max",
    ),
    "level2/045_gemm_sigmoid_gemm_logsumexp": _kernel(
        """
y = self.linear2(1 / (1 + torch.exp(-self.linear1(x))))
top = y.amax(1, keepdim=True)
return (y - top).exp().sum(1).log() + top[:, 0]
""",
        init="self.linear1 = nn.Linear(input_size, hidden_size)\nself.linear2 = nn.Linear(hidden_size, output_size)",
        constructor="input_size, hidden_size, output_size",
    ),
    "level2/051_gemm_mean_gelu_residual": _kernel(
        """
y = x @ self.gemm.weight.mean(0) + (self.gemm.bias - self.subtract).mean()
return F.gelu(y)[:, None] + x.detach()
""",
        init="self.gemm = nn.Linear(in_features, out_features)\nself.subtract = nn.Parameter(torch.randn(out_features))",
        constructor="in_features, out_features, bias=True",
    ),
    "level2/067_conv2d_gelu_global_mean": _kernel(
        """
columns = F.unfold(x, self.conv.kernel_size)
return F.gelu(self.conv.weight.flatten(1) @ columns + self.conv.bias[:, None]).mean(-1)
""",
        init="self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)",
        constructor="in_channels, out_channels, kernel_size",
    ),
    # The divisor goes into the weights.
    "level2/086_matmul_divide_gelu": _kernel(
        """
y = F.linear(x, self.linear.weight * (1 / self.divisor), self.linear.bias * (1 / self.divisor))
return 0.5 * y * torch.erfc(-y * 0.7071067811865476)
""",
        init="self.linear = nn.Linear(input_size, output_size)\nself.divisor = divisor",
        constructor="input_size, output_size, divisor",
    ),
    "level2/088_gemm_groupnorm_swish_multiply_swish": _kernel(
        """
x = self.group_norm(self.gemm(x))
x = x / (1 + torch.exp(-x)) * self.multiply_weight
return x / (1 + torch.exp(-x))
""",
        init="""
self.gemm = nn.Linear(in_features, out_features)
self.group_norm = nn.GroupNorm(num_groups, out_features)
self.multiply_weight = nn.Parameter(torch.randn(multiply_weight_shape))
""",
        constructor="in_features, out_features, num_groups, multiply_weight_shape",
    ),
    # Each token attends to those up to itself, and to nothing else.
    "level3/043_mingpt_causal_attention": _kernel(
        """
q, k, v = self.c_attn(x).unflatten(2, (3, self.n_head, -1)).permute(2, 0, 3, 1, 4)
rows = []
for t in range(x.shape[1]):
    scores = q[:, :, t : t + 1] @ k[:, :, : t + 1].transpose(-2, -1) / math.sqrt(q.shape[-1])
    rows.append(scores.softmax(-1) @ v[:, :, : t + 1])
y = torch.cat(rows, 2) if rows else v
return self.c_proj(y.transpose(1, 2).flatten(2))
""",
        init="""
self.n_head = n_head
self.c_attn = nn.Linear(n_embd, 3 * n_embd)
self.c_proj = nn.Linear(n_embd, n_embd)
self.register_buffer("bias", torch.tril(torch.ones(max_seqlen, max_seqlen))[None, None])
""",
        constructor="n_embd, n_head, attn_pdrop, resid_pdrop, max_seqlen",
    ),
    # The published kernel's chunks are 256 tokens long, and decays within one are differences of running sums.
    "level4/mamba2_ssd": _kernel(
        """
dtype, groups = x.dtype, x.shape[2] // B.shape[2]
x, dt, A, B, C, D = (item.float() for item in (x, dt, A, B, C, D))
B, C = B.repeat_interleave(groups, 2), C.repeat_interleave(groups, 2)
state = x.new_zeros(len(x), x.shape[2], x.shape[3], B.shape[3])
parts = []
for xs, steps, Bs, Cs in zip(*(item.split(256, 1) for item in (x, dt, B, C))):
    total = (steps * A).cumsum(1)
    later = torch.arange(xs.shape[1])
    mask = (later[:, None] >= later)[None, :, :, None]
    decays = torch.where(mask, (total[:, :, None] - total[:, None]).clamp(max=0).exp(), 0.0)
    scores = torch.einsum("bihn,bjhn->bijh", Cs, Bs) * decays
    y = torch.einsum("bijh,bjhp->bihp", scores, xs * steps[..., None])
    parts.append(y + torch.einsum("bihn,bhpn,bih->bihp", Cs, state, total.exp()))
    weights = (total[:, -1:] - total).exp() * steps
    state = state * total[:, -1].exp()[..., None, None] + torch.einsum("bjhp,bjhn,bjh->bhpn", xs, Bs, weights)
return ((torch.cat(parts, 1) if parts else x) + D[:, None] * x).to(dtype)
""",
        arguments="x, dt, A, B, C, D",
    ),
}
