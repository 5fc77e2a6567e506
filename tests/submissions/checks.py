"""Run as a process of its own: prints, for every submission, what each check found, as JSON; an empty text is a check that passed.

``python -m tests.submissions.checks cpu`` wants TRITON_INTERPRET=1, ``cuda`` runs the compiled kernels. A process of its own, because
Triton decides when it is imported whether kernels are interpreted.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from tests.submissions.catalogue import FAULTY, FAULTY_ON_A_GPU, HONEST
from tests.submissions.harness import DTYPES, Pair

ODD: dict[str, Sequence[dict[str, int]]] = {
    "attention": ({"seq_len": 1}, {"seq_len": 130, "num_heads": 1, "batch_size": 1}, {"head_dim": 128, "seq_len": 3}),
    "batched_matmul": ({"M": 1, "N": 1, "K": 1}, {"M": 65, "K": 33, "batch_size": 1}),
    "conv2d": ({"in_channels": 1, "out_channels": 1}, {"height": 1, "width": 33, "out_channels": 65}),
    "cross_entropy": ({"batch_size": 1}, {"num_classes": 1}, {"num_classes": 2049, "batch_size": 5}),
    "cumsum": ({"dim": 1}, {"dim": 1025, "batch_size": 5}),
    "gelu": ({"dim": 1, "batch_size": 1}, {"dim": 4097, "batch_size": 1}),
    "gated_delta_rule": (
        {"seq_len": 1, "batch_size": 1, "num_heads": 1},
        {"seq_len": 17, "num_heads": 1, "key_dim": 128, "value_dim": 64},
    ),
    "layernorm": ({"dim": 2}, {"dim": 2049, "seq_len": 1}),
    "linear_bias_gelu": ({"in_features": 1, "out_features": 1}, {"batch_size": 65, "in_features": 31}),
    "logsumexp": ({"dim": 1}, {"dim": 2049, "batch_size": 5}),
    "matmul": ({"M": 1, "N": 1, "K": 1}, {"M": 65, "K": 33}),
    "maxpool2d": ({"height": 1, "width": 2}, {"channels": 1, "height": 65, "width": 31}),
    "relu": ({"dim": 1, "batch_size": 1}, {"dim": 4097, "batch_size": 1}),
    "rmsnorm": ({"dim": 1}, {"dim": 2049, "batch_size": 3}),
    "softmax": ({"dim": 1}, {"dim": 2049, "batch_size": 5}),
    "sum_axis": ({"dim1": 1}, {"dim1": 65, "dim2": 129}),
}
LINES_OF_MINUS_INFINITY = ("softmax", "logsumexp", "cross_entropy", "sum_axis", "cumsum")


def outputs(model: torch.nn.Module, inputs: Sequence[Any]) -> Tensor:
    with torch.no_grad():
        return model(*inputs)


def widened(inputs: Sequence[Any]) -> list[Any]:
    return [value.double() if isinstance(value, Tensor) and value.is_floating_point() else value for value in inputs]


def difference(pair: Pair, inputs: Sequence[Any], *, dtype: str = "float32", **sizes: int) -> str:
    """How the submission's output differs from the float64 truth by more than eager's own error explains; empty if it does not."""
    eager, mine = pair.models(DTYPES[dtype], **sizes)
    got, own = outputs(mine, inputs), outputs(eager, inputs)
    want = outputs(eager.double(), widened(inputs))
    if (got.shape, got.dtype) != (own.shape, own.dtype):
        return f"{tuple(got.shape)} {got.dtype} instead of {tuple(own.shape)} {own.dtype}"
    if not want.numel():
        return ""
    finite = want.isfinite() & own.isfinite()
    if not torch.equal(got.isfinite() | ~finite, torch.ones_like(finite)):
        return "not finite where eager is"
    error, floor = (got.double() - want).abs()[finite], (own.double() - want).abs()[finite]
    unit = torch.finfo(DTYPES[dtype]).eps
    allowed = unit * want[finite].abs() + 8 * floor.max() + 4 * torch.finfo(torch.float32).eps * want[finite].abs().max()
    return "" if bool((error <= allowed).all()) else f"error {float((error / allowed).max()):.3g} times the allowed one"


def classes(value: Tensor) -> Tensor:
    return value.isnan() * 1 + value.isposinf() * 2 + value.isneginf() * 3


def poked(pair: Pair) -> str:
    """NaN and both infinities in each input in turn, and a line of -inf: the classes of the outputs are eager's."""
    eager, mine = pair.models()
    # The truth comes from the CPU: the fused RMS norm of CUDA makes the whole row NaN, in float64 too.
    wide = pair.models()[0].cpu().double()
    name = pair.contract.task.partition("/")[2]
    inputs = pair.inputs()
    cases: list[tuple[int, Callable[[Tensor], None]]] = []
    for position, value in enumerate(inputs):
        if value.is_floating_point():
            for poison, place in ((float("nan"), value.numel() // 2), (float("inf"), -1), (float("-inf"), 0)):
                cases.append((position, lambda tensor, p=poison, at=place: tensor.view(-1).__setitem__(at, p)))
    if name in LINES_OF_MINUS_INFINITY:
        cases.append((0, lambda tensor: tensor.select(0, 1).fill_(float("-inf"))))
        cases.append((0, lambda tensor: tensor.view(-1).fill_(float("nan"))))
    for position, poke in cases:
        changed = [value.clone() for value in inputs]
        poke(changed[position])
        got, own = classes(outputs(mine, changed)).cpu(), classes(outputs(eager, changed)).cpu()
        agreed = own == classes(outputs(wide, widened([value.cpu() for value in changed])))
        wrong = (got != own) & agreed
        if pair.contract.nonfinite == "at_least":
            wrong &= (own != 0) & (got != 1)
        if bool(wrong.any()):
            return f"input {position}: class {int(got[wrong][0])} instead of {int(own[wrong][0])}"
    return ""


def layouts(pair: Pair) -> str:
    """Transposed, strided and offset inputs give the bits of contiguous ones."""
    mine = pair.models()[1]
    inputs = pair.inputs()
    want = outputs(mine, inputs)

    def transposed(t: Tensor) -> Tensor:
        return t.transpose(0, -1).contiguous().transpose(0, -1)

    def strided(t: Tensor) -> Tensor:
        return torch.stack([t, torch.full_like(t, 7)], dim=-1)[..., 0]

    def offset(t: Tensor) -> Tensor:
        return torch.cat([t.new_full((3,), 5), t.flatten()])[3:].view(t.shape)

    for change in (transposed, strided, offset):
        moved = [change(value) for value in inputs]
        if not torch.allclose(outputs(mine, moved), want, rtol=1e-6, atol=1e-6, equal_nan=True):
            return f"{change.__name__} inputs change the result"
    return ""


def clean(pair: Pair) -> str:
    """Repeats are bit-equal, inputs stay, outputs are fresh, weights are read anew."""
    eager, mine = pair.models()
    inputs = pair.inputs()
    copies = [value.clone() for value in inputs]
    first, second = outputs(mine, inputs), outputs(mine, inputs)
    if not torch.equal(first.view(-1).view(torch.int32), second.view(-1).view(torch.int32)):
        return "two calls differ"
    if any(not torch.equal(a, b) for a, b in zip(inputs, copies, strict=True)):
        return "an input changed"
    held = {value.untyped_storage().data_ptr() for value in (*inputs, *mine.parameters())}
    if first.untyped_storage().data_ptr() in {*held, second.untyped_storage().data_ptr()}:
        return "an output shares memory"
    with torch.no_grad():
        for one, other in zip(eager.parameters(), mine.parameters(), strict=True):
            one.mul_(-0.5)
            other.mul_(-0.5)
    if not torch.allclose(outputs(mine, inputs), outputs(eager, inputs), rtol=1e-4, atol=1e-4):
        return "new weights are not used"
    return ""


def subnormal(pair: Pair) -> str:
    """Where the contract keeps subnormals, a subnormal input gives eager's result to the last few units."""
    if pair.contract.subnormals != "preserve" or pair.contract.parameters:
        return ""
    eager, mine = pair.models()
    inputs = pair.inputs()
    inputs[0] = inputs[0] * 2.0**-135
    got, own = outputs(mine, inputs), outputs(eager, inputs)
    return "" if torch.allclose(got.double(), own.double(), rtol=1e-5, atol=2.0**-146) else "subnormals are not kept"


def gradients(pair: Pair, **sizes: int) -> str:
    """The gradients of the inputs agree with eager's in float64."""
    eager, mine = pair.models(**sizes)
    given = [value.requires_grad_() for value in pair.inputs(**sizes)]
    wide = [value.detach().double().requires_grad_() for value in given]
    out = mine(*given)
    if not out.requires_grad:
        return "forward only"
    cotangent = torch.randn(out.shape, generator=torch.Generator().manual_seed(1)).to(out.device)
    out.backward(cotangent)
    eager.double()(*wide).backward(cotangent.double())
    for got, want in zip(given, wide, strict=True):
        if not torch.allclose(got.grad.double(), want.grad, rtol=1e-5, atol=1e-5 * float(want.grad.abs().max())):
            return f"a gradient is off by {float((got.grad - want.grad).abs().max()):.3g}"
    return ""


def legacy(pair: Pair) -> str:
    """KernelBench's first check at the reduced sizes: uniform inputs, allclose at 1e-2."""
    for name, size in pair.contract.legacy_sizes().items():
        setattr(pair.task, name, size)
    torch.manual_seed(42)
    init = pair.task.get_init_inputs()
    torch.manual_seed(42)
    eager = pair.task.Model(*init).to(pair.device)
    torch.manual_seed(42)
    mine = pair.module.ModelNew(*init).to(pair.device)
    torch.manual_seed(3)
    inputs = [value.to(pair.device) for value in pair.task.get_inputs()]
    want = outputs(eager, inputs)
    return "" if torch.allclose(want, outputs(mine, inputs), rtol=1e-2, atol=1e-2) else "not close"


def honest(pair: Pair) -> dict[str, str]:
    name = pair.contract.task.partition("/")[2]
    found = {dtype: difference(pair, pair.inputs(dtype), dtype=dtype) for dtype in DTYPES}
    for sizes in ODD[name]:
        found[f"{sizes}"] = difference(pair, pair.inputs(**sizes), **sizes)
    for axis, spec in pair.contract.axes.items():
        if spec.varies and spec.minimum == 0:
            found[f"{axis}=0"] = difference(pair, pair.inputs(**{axis: 0}), **{axis: 0})
    found |= {
        "nonfinite": poked(pair),
        "layouts": layouts(pair),
        "clean": clean(pair),
        "subnormal": subnormal(pair),
        "legacy": legacy(pair),
    }
    if pair.id in ("level1/gelu/autograd", "level4/gated_delta_rule/chunkwise"):
        found["gradients"] = gradients(pair)
    return found


def wrong_on(change: Callable[[list[Any]], Any], **sizes: int) -> Callable[[Pair], bool]:
    """A witness: on inputs changed in this way the submission is not finite where eager is, or off by more than eager's error."""

    def witness(pair: Pair) -> bool:
        inputs = pair.inputs(**sizes)
        inputs = change(inputs) or inputs
        return bool(difference(pair, inputs, **sizes))

    return witness


def classes_differ(pair: Pair) -> bool:
    return bool(poked(pair))


def stale_output(pair: Pair) -> bool:
    mine = pair.models()[1]
    (x,) = pair.inputs()
    first = outputs(mine, [x])
    kept = first.clone()
    outputs(mine, [x * 2 + 1])
    return not torch.equal(first, kept)


def absorbs(pair: Pair) -> bool:
    """+M, small odd integers, -M: float32 sums them exactly in any order."""
    a = torch.ones(4, 4096, device=pair.device)
    a[:, 0], a[:, 4095] = 32768, -32768
    got = outputs(pair.models()[1], [a, torch.ones(4096, 4, device=pair.device)])
    return not torch.equal(got, torch.full_like(got, 4094.0))


def narrows(pair: Pair) -> bool:
    a = torch.full((16, 16), 1 + 2.0**-13, device=pair.device)
    return not torch.equal(outputs(pair.models()[1], [a, torch.eye(16, device=pair.device)]), a)


def changes_from_run_to_run(pair: Pair) -> bool:
    mine = pair.models()[1]
    x = torch.randn(8, 4096, 64, device=pair.device)
    return any(not torch.equal(outputs(mine, [x]), outputs(mine, [x])) for _ in range(20))


WITNESSES: dict[str, Callable[[Pair], bool]] = {
    "level1/attention/flash_const": wrong_on(lambda inputs: None),
    "level1/attention/flash_tiles": wrong_on(lambda inputs: None),
    "level1/batched_matmul/row_major": lambda pair: bool(layouts(pair)),
    "level1/conv2d/taps": wrong_on(lambda inputs: None, in_channels=5),
    "level1/cross_entropy/direct": wrong_on(lambda inputs: [inputs[0] * 1e3, inputs[1]]),
    "level1/cumsum/in_place": lambda pair: clean(pair) in ("two calls differ", "an input changed"),
    "level1/gelu/autograd_sigmoid": lambda pair: "off by" in gradients(pair),
    "level1/gelu/tanh": wrong_on(lambda inputs: None),
    "level1/layernorm/one_pass": wrong_on(lambda inputs: [inputs[0] + 1e3]),
    "level1/layernorm/workspace": stale_output,
    "level1/logsumexp/shifted": classes_differ,
    "level1/matmul/bf16_operands": narrows,
    "level1/matmul/half_tiles": absorbs,
    "level1/matmul/tensor_core": narrows,
    "level1/maxpool2d/running": classes_differ,
    "level1/relu/maximum": classes_differ,
    "level1/rmsnorm/rsqrt": wrong_on(lambda inputs: [inputs[0] * 0]),
    "level1/softmax/single_block": wrong_on(lambda inputs: inputs[0][:, -1].fill_(10.0) and None, batch_size=1, dim=16385),
    "level1/softmax/unshifted": wrong_on(lambda inputs: [inputs[0] * 1e3]),
    "level1/sum_axis/atomic": changes_from_run_to_run,
    "level1/sum_axis/whole_blocks": wrong_on(lambda inputs: None, dim1=33),
    "level2/linear_bias_gelu/packed": lambda pair: clean(pair) == "new weights are not used",
    "level4/gated_delta_rule/forward": lambda pair: gradients(pair, seq_len=3) == "forward only",
}


def faulty(pair: Pair) -> dict[str, str]:
    return {"witness": "" if WITNESSES[pair.id](pair) else "the fault does not show", "legacy": legacy(pair)}


def right_here(pair: Pair) -> dict[str, str]:
    """A fault of the GPU alone: on the interpreter it is right."""
    return {"float32": difference(pair, pair.inputs()), "legacy": legacy(pair)}


def attempt(check: Callable[[Pair], dict[str, str]], identifier: str, device: str) -> dict[str, str]:
    try:
        return check(Pair.of(identifier, device))
    except Exception:
        return {"raised": traceback.format_exc(limit=-4)}


def main(device: str) -> None:
    # NumPy, which the interpreter computes with, warns of every overflow and of every row of NaN.
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False
    found = {identifier: attempt(honest, identifier, device) for identifier in HONEST}
    found |= {identifier: attempt(faulty, identifier, device) for identifier in FAULTY}
    check = right_here if device == "cpu" else faulty
    found |= {identifier: attempt(check, identifier, device) for identifier in FAULTY_ON_A_GPU}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
