"""Problems in the format of KernelBench, made up for these tests: one for each thing that inference has to cope with."""

from __future__ import annotations

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n"


def problem(model: str, inputs: str, *, constants: str = "", init: str = "[]", before: str = "") -> str:
    """Source text of a problem.

    Args:
        model: Body of the class ``Model``.
        inputs: Body of ``get_inputs``.
        constants: Statements at module level.
        init: What ``get_init_inputs`` returns.
        before: Statements at module level, before the model.
    """

    def indented(text: str) -> str:
        return "".join(f"    {line}\n" for line in text.strip("\n").splitlines())

    return (
        f"{HEAD}{before}\n\nclass Model(nn.Module):\n{indented(model)}\n\n{constants}\n\n\ndef get_inputs():\n{indented(inputs)}\n\n"
        f"def get_init_inputs():\n    return {init}\n"
    )


def forward(expression: str, arguments: str = "x") -> str:
    """Body of a model without parameters."""
    return f"def forward(self, {arguments}):\n    return {expression}"


def layers(init: str, expression: str, *, constructor: str = "", arguments: str = "x") -> str:
    """Body of a model with parameters."""
    made = "".join(f"    {line}\n" for line in init.strip("\n").splitlines())
    comma = ", " if constructor else ""
    return f"def __init__(self{comma}{constructor}):\n    super().__init__()\n{made}\n{forward(expression, arguments)}"


MATMUL = problem(
    forward("torch.matmul(A, B)", "A, B"),
    "A = torch.rand(rows, inner)\nB = torch.rand(inner, columns)\nreturn [A, B]",
    constants="rows = 512 * 2\ninner = 4096\ncolumns = 2048",
)

SOFTMAX = problem(
    forward("torch.softmax(x, dim=1)"), "return [torch.rand(batch, features)]", constants="batch = 256\nfeatures = 16384\ndim = 1"
)

LOG_SOFTMAX = problem(
    forward("F.log_softmax(x, dim=1)"), "return [torch.rand(batch, width)]", constants="batch, width = 64, 4096"
)

LINEAR_TOTAL = problem(
    layers("self.linear = nn.Linear(features, units)", "self.linear(x).sum(dim=1)", constructor="features, units"),
    "return [torch.rand(batch, features)]",
    constants="batch, features, units = 256, 1024, 2048",
    init="[features, units]",
)

CAUSAL = problem(
    layers(
        'self.register_buffer("mask", torch.tril(torch.ones(longest, longest)))',
        'torch.softmax((x @ x.mT).masked_fill(self.mask[: x.shape[1], : x.shape[1]] == 0, float("-inf")), dim=-1) @ x',
        constructor="longest",
    ),
    "return [torch.rand(batch, length, width)]",
    constants="batch, length, width, longest = 64, 512, 64, 1024",
    init="[longest]",
)

RELU = problem(forward("torch.relu(x)"), "return [torch.rand(batch, width)]", constants="batch, width = 128, 8192")

SUM = problem(
    forward("torch.sum(x, dim=1, keepdim=True)"),
    "return [torch.rand(batch, length, width)]",
    constants="batch = 32\nlength = 2048\nwidth = 1023",
)

LINEAR = problem(
    layers("self.linear = nn.Linear(features, outputs)", "self.linear(x)", constructor="features, outputs"),
    "return [torch.randn(batch, features)]",
    constants="batch = 128\ndim = 256\nfeatures = 4 * dim\noutputs = 512",
    init="[features, outputs]",
)

CONV = problem(
    layers(
        "self.conv = nn.Conv2d(channels, filters, kernel)\nself.bias = nn.Parameter(torch.randn(shape))",
        "torch.relu(self.conv(x) + self.bias)",
        constructor="channels, filters, kernel, shape",
    ),
    "return [torch.rand(batch, channels, height, width)]",
    constants="batch = 16\nchannels = 12\nfilters = 64\nheight = width = 64\nkernel = 3\nshape = (filters, 1, 1)",
    init="[channels, filters, kernel, shape]",
)

GROUP_NORM = problem(
    layers("self.norm = nn.GroupNorm(groups, channels)", "self.norm(x)", constructor="channels, groups"),
    "return [torch.rand(batch, channels, side, side)]",
    constants="batch = 16\nchannels = 64\ngroups = 8\nside = 128",
    init="[channels, groups]",
)

FLATTEN = problem(
    layers(
        "self.conv = nn.Conv2d(3, 8, 3, padding=1)\nself.pool = nn.AvgPool2d(2)\nself.head = nn.Linear(8 * 16 * 16, classes)",
        "self.head(torch.flatten(self.pool(torch.relu(self.conv(x))), 1))",
        constructor="classes",
    ),
    "return [torch.rand(batch_size, 3, 32, 32)]",
    constants="batch_size = 64\nnum_classes = 100",
    init="[num_classes]",
)

LSTM = problem(
    layers(
        "self.width = width\nself.layers = layers\nself.lstm = nn.LSTM(features, width, layers, batch_first=True)\n"
        "self.head = nn.Linear(width, outputs)",
        "self.head(self.lstm(x, (torch.zeros(self.layers, x.size(0), self.width), torch.zeros(self.layers, x.size(0), self.width)))"
        "[0][:, -1])",
        constructor="features, width, layers, outputs",
    ),
    "return [torch.rand(batch, steps, features)]",
    constants="batch = 4\nsteps = 8\nfeatures = 8\nwidth = 12\nlayers = 1\noutputs = 9",
    init="[features, width, layers, outputs]",
)

CROSS_ENTROPY = problem(
    forward("F.cross_entropy(predictions, targets)", "predictions, targets"),
    "return [torch.rand(batch, classes), torch.randint(0, classes, (batch,))]",
    constants="batch = 4096\nclasses = 10",
)

TRIANGULAR = problem(
    forward("torch.tril(torch.matmul(A, B))", "A, B"),
    "A = torch.tril(torch.rand(side, side))\nB = torch.tril(torch.rand(side, side))\nreturn [A, B]",
    constants="side = 1024",
)

DROPOUT = problem(
    layers(
        "self.drop = nn.Dropout(0.25)\nself.linear = nn.Linear(width, width)", "self.drop(self.linear(x))", constructor="width"
    ),
    "return [torch.rand(batch, width)]",
    constants="batch = 64\nwidth = 256",
    init="[width]",
)

CONSTANT = problem(
    layers("self.linear = nn.Linear(width, width)", "(lambda y: y - y.detach())(self.linear(x))", constructor="width"),
    "return [torch.rand(batch, width)]",
    constants="batch = 64\nwidth = 256",
    init="[width]",
)

BATCH_NORM = problem(
    layers("self.norm = nn.BatchNorm2d(channels)", "self.norm(x)", constructor="channels"),
    "return [torch.rand(batch, channels, side, side)]",
    constants="batch = 16\nchannels = 32\nside = 64",
    init="[channels]",
)

IN_PLACE = problem(
    layers(
        "self.linear = nn.Linear(width, width)\nself.act = nn.ReLU(inplace=True)", "self.act(self.linear(x))", constructor="width"
    ),
    "return [torch.rand(batch, width)]",
    constants="batch = 64\nwidth = 256",
    init="[width]",
)

TUPLE = problem(forward("x.sum(dim=1), x.amax(dim=1)"), "return [torch.rand(batch, width)]", constants="batch = 96\nwidth = 4096")

SCALAR = problem(
    forward("x * scale", "x, scale"), "return [torch.rand(rows, columns), 3.5]", constants="rows = 2048\ncolumns = 1000"
)

LITERALS = problem(forward("x.mean(dim=-1)"), "return [torch.rand(64, 16 * 64, dtype=torch.float32)]")

TUPLE_ARGUMENT = problem(
    layers("self.norm = nn.LayerNorm(normalized_shape)", "self.norm(x)", constructor="normalized_shape"),
    "return [torch.rand(batch, features, width)]",
    constants="batch = 8\nfeatures = 64\nwidth = 96",
    init="[(features, width)]",
)

PINNED = problem(
    layers(
        "self.linear = nn.Linear(features, features)",
        "self.linear(x).reshape(batch, -1) / features",
        constructor="features",
    ),
    "return [torch.rand(batch, features).triu()]",
    constants="batch = 16\nfeatures = 20",
    init="[features]",
)
"""The model reads its sizes from the module, so that none of them can be set."""

ALL = {
    "matmul": MATMUL,
    "softmax": SOFTMAX,
    "relu": RELU,
    "sum": SUM,
    "linear": LINEAR,
    "conv": CONV,
    "group norm": GROUP_NORM,
    "flatten": FLATTEN,
    "lstm": LSTM,
    "cross entropy": CROSS_ENTROPY,
    "triangular": TRIANGULAR,
    "dropout": DROPOUT,
    "constant": CONSTANT,
    "batch norm": BATCH_NORM,
    "in place": IN_PLACE,
    "tuple": TUPLE,
    "scalar": SCALAR,
    "literals": LITERALS,
    "tuple argument": TUPLE_ARGUMENT,
}
