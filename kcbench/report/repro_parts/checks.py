"""The checks that any machine can make, one for each kind of evidence."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import math
import subprocess
import sys
import time
from typing import Any

import torch

from kcbench.report.repro_parts.results import (
    all_same,
    compare,
    element_of,
    keep_busy,
    kept,
    name_of_class,
    number,
    output_index,
    overlap,
    same_bytes,
    shape_of,
)
from kcbench.report.repro_parts.script import (
    CALLS,
    DEVICE,
    EVIDENCE,
    Model,
    draw,
    forward,
    inputs_of,
    leave_dirt,
    listed,
    model_of,
    nbytes,
    run,
    run_all,
    run_before,
    shown,
)


def check_value() -> str | None:
    """Is the element outside the tolerance?"""
    return element_of(run_all()[shown()][output_index()], f"output {output_index()}")


def check_bits() -> str | None:
    """Is the element anything but the exact value?"""
    tolerance = 0.0
    if "kept_share" in EVIDENCE:  # subnormals: rounding is allowed, what counts is which of two results is the nearer one
        expected = number(EVIDENCE["expected"])
        tolerance = min(abs(expected), abs(expected - number(EVIDENCE["got"]))) / 2
    return element_of(run_all()[shown()][output_index()], f"output {output_index()}", tolerance)


def check_class() -> str | None:
    """Is the element NaN, +Inf, -Inf or finite where another of these is right?"""
    output = run_all()[shown()][output_index()]
    got, expected = float(output[tuple(EVIDENCE["index"])]), number(EVIDENCE["expected"])
    what = f"output {output_index()} at {EVIDENCE['index']}"
    print(f"{what}\n  expected  {expected!r} ({name_of_class(expected)})\n  got       {got!r} ({name_of_class(got)})")
    if name_of_class(got) == name_of_class(expected):
        # Memory that was never written holds NaN at other places in every call.
        bad = int((~torch.isfinite(output)).sum())
        poisoned = any(spec.get("recipe", {}).get("kind") == "poison" for spec in CALLS[shown()]["inputs"])
        return f"{bad} elements of the output are not finite, and all inputs are" if bad and not poisoned else None
    return f"{what} is {got!r}, which is {name_of_class(got)} instead of {name_of_class(expected)}"


def check_repeat() -> str | None:
    """Do repeated calls on the same inputs give other bytes? Up to 20 seconds, because a race may show rarely."""
    for call in CALLS[:-1]:
        run(call)
    call = CALLS[-1]
    model = model_of(call)
    inputs = inputs_of(call)
    disturb = call["probe"]["world"]["disturb"]
    first = kept(forward(model, inputs))
    began, runs = time.monotonic(), 1
    while runs < EVIDENCE.get("runs", 20) or (runs < 500 and time.monotonic() - began < 20):
        if "busy" in disturb and DEVICE == "cuda":
            keep_busy()
        outputs = forward(model, inputs, ("nan", "huge", "zero")[runs % 3] if "dirty" in disturb else "nan")
        runs += 1
        if not all_same(first, outputs):
            print(f"run 1    {first[0].flatten()[:6].tolist()}\nrun {runs:<4d} {outputs[0].flatten()[:6].tolist()}")
            return f"run {runs} on the same inputs differs from run 1"
    print(f"{runs} runs gave equal bytes")
    return None


def check_alias_input() -> str | None:
    """Does an output share memory with an input or a parameter?"""
    run_before()
    call = CALLS[-1]
    model = model_of(call)
    inputs = inputs_of(call)
    outputs = forward(model, inputs)
    owners = {spec["name"]: value for spec, value in zip(call["inputs"], inputs, strict=True) if isinstance(value, torch.Tensor)}
    owners.update(model.tensors())
    for index, output in enumerate(outputs):
        for name, owner in owners.items():
            if overlap(output, owner):
                return f"output {index} shares its memory with {name!r}"
    return None


def check_alias_output() -> str | None:
    """Does a later call reuse the memory of an output that is still held?"""
    held: list[list[Any]] = []
    copies: list[list[Any]] = []
    for turn, call in enumerate([*CALLS, *CALLS[-1:] * 4]):  # several times, because some take turns between two buffers
        outputs = forward(model_of(call), inputs_of(call, "other" if turn % 2 else ""))
        for index, output in enumerate(outputs):
            for back, earlier in enumerate(reversed(held), start=1):
                if any(overlap(output, tensor) for tensor in earlier):
                    changed = "" if all_same(held[-back], copies[-back]) else ", whose values have changed"
                    return f"output {index} shares its memory with an output that was returned {back} calls before{changed}"
        held.append(outputs)
        copies.append(kept(outputs))
    return None


def check_mutates() -> str | None:
    """Does the call write into its inputs?"""
    for call in CALLS:
        model = model_of(call)
        inputs = inputs_of(call)
        before = [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]
        forward(model, inputs)
        for spec, old, new in zip(call["inputs"], before, inputs, strict=True):
            if isinstance(old, torch.Tensor) and not same_bytes(old, new):
                where = (old != new).nonzero()
                first = tuple(where[0].tolist()) if len(where) else ()
                print(f"input {spec['name']!r} at {list(first)}\n  before  {old[first]}\n  after   {new[first]}")
                return f"the call changed its input {spec['name']!r}"
    return None


def check_outside() -> str | None:
    """Does the call write beyond the end of its memory? Blocks that nobody may touch lie behind those that it will be given."""
    for call in CALLS:
        model = model_of(call)
        inputs = inputs_of(call)
        sizes = {nbytes(value) for value in (*forward(model, inputs), *inputs) if isinstance(value, torch.Tensor)}
        fences, blocks = [], []
        for size in sorted(sizes - {0}) * 4:
            blocks.append(torch.empty(size, dtype=torch.uint8, device=DEVICE))
            fences.append(torch.full((512,), 165, dtype=torch.uint8, device=DEVICE))
        blocks.clear()
        forward(model, inputs)
        touched = sum(int((fence != 165).sum()) for fence in fences)
        if touched:
            return f"the call wrote {touched} bytes to memory that it was not given"
    return None


def check_stateful() -> str | None:
    """Does a used model object answer otherwise than a fresh one?"""
    if "index" in EVIDENCE:
        return check_value()
    call = CALLS[-1]
    used = []
    for earlier in CALLS if len(CALLS) > 1 else [call]:
        model = model_of(earlier)
        if len(CALLS) == 1:
            forward(model, inputs_of(earlier, "other"))
        used.append(kept(forward(model, inputs_of(earlier))))
    fresh = Model(call)
    fresh.set_parameters(call)
    wanted = forward(fresh, inputs_of(call))
    print(f"fresh object  {wanted[0].flatten()[:6].tolist()}\nused object   {used[-1][0].flatten()[:6].tolist()}")
    if not all_same(used[-1], wanted):
        return "a used model object and a fresh one give different bytes for the same inputs"
    if len(CALLS) > 1 and CALLS[0]["inputs"] == call["inputs"] and not all_same(used[0], used[-1]):
        return "the same inputs gave different bytes before and after other calls"
    return None


def gradients(call: dict[str, Any], names: list[str]) -> list[torch.Tensor | None]:
    """The VJPs of a call with its cotangents, by ``input:<name>`` or ``parameter:<name>``; None where autograd finds no path."""
    model = model_of(call)
    inputs = inputs_of(call)
    operands = {f"parameter:{name}": value for name, value in model.tensors().items() if value.is_floating_point()}
    for spec, value in zip(call["inputs"], inputs, strict=True):
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            operands[f"input:{spec['name']}"] = value.requires_grad_(True)
    for name in names:
        operands[name].requires_grad_(True)
    leave_dirt(inputs, "nan")
    torch.manual_seed(0)
    outputs = listed(model.object(*inputs))
    pairs = [(y, draw(spec).to(y)) for y, spec in zip(outputs, call["cotangents"], strict=True) if y.requires_grad]
    if not pairs:
        return [None for _ in names]
    wanted = [operands[name] for name in names]
    return list(torch.autograd.grad([y for y, _ in pairs], wanted, [c for _, c in pairs], allow_unused=True))


def check_gradient() -> str | None:
    """Is the element of the gradient outside the tolerance?"""
    run_before()
    name = EVIDENCE["gradient"]
    found = gradients(CALLS[-1], [name])[0]
    return f"there is no gradient for {name}" if found is None else element_of(found, f"the gradient of {name}")


def check_missing_gradient() -> str | None:
    """Is there no gradient?"""
    run_before()
    names = EVIDENCE.get("gradients") or [f"input:{spec['name']}" for spec in CALLS[-1]["inputs"] if spec["kind"] == "tensor"]
    try:
        found = gradients(CALLS[-1], names)
    except Exception as error:
        return f"the backward pass raised {type(error).__name__}: {error}"
    missing = [name for name, value in zip(names, found, strict=True) if value is None]
    print("\n".join(f"{name}: {'no gradient' if name in missing else 'has a gradient'}" for name in names))
    return f"autograd gives no gradient for {', '.join(missing)}" if missing else None


LIMIT = 120
"""Seconds after which a call counts as hanging."""


def check_raised() -> str | None:
    """Does the call end without a result? Made in a child process, so that a crash or a hang is seen too."""
    if "--here" in sys.argv:
        run_all()
        return None
    try:
        done = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--here"], capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"the call was still running after {LIMIT} seconds"
    print((done.stdout + done.stderr)[-4000:].strip())
    if done.returncode < 0:
        return f"the process died of signal {-done.returncode}"
    ended = [line for line in done.stdout.splitlines() if line.startswith("could not run: the call ended with ")]
    return ended[0].removeprefix("could not run: ") if done.returncode == 2 and ended else None


def check_pair() -> str | None:
    """Do two calls, which must agree, lie further apart than the tolerance?"""
    a, b = run_all()[-2:]
    left, right = a[output_index()].double(), b[output_index()].double()
    if EVIDENCE.get("order"):
        order = torch.tensor(EVIDENCE["order"], device=left.device)
        left = left.index_select(EVIDENCE["order_dim"], order)
    index = tuple(EVIDENCE["index"])
    labels = [call["probe"]["label"] for call in CALLS[-2:]]
    print(f"A: {labels[0]}\nB: {labels[1]}")
    what = f"output {output_index()} at {list(index)}, B against A,"
    if math.isnan(float(left[index])) or math.isnan(float(right[index])):
        return f"{what} is {float(right[index])!r}, and A gave {float(left[index])!r}"
    return compare(float(right[index]), float(left[index]), number(EVIDENCE.get("tolerance") or 0), what)


def check_dtype() -> str | None:
    """Is the output of another dtype?"""
    got = str(run_all()[shown()][output_index()].dtype).removeprefix("torch.")
    print(f"dtype of output {output_index()}\n  expected  {EVIDENCE['expected']}\n  got       {got}")
    return None if got == EVIDENCE["expected"] else f"output {output_index()} is {got} instead of {EVIDENCE['expected']}"


def check_shape() -> str | None:
    """Is the output of another shape?"""
    run_before()
    if "gradient" in EVIDENCE:
        shapes = [shape_of(gradients(CALLS[-1], [EVIDENCE["gradient"]])[0])]
    else:
        shapes = [shape_of(output) for output in run(CALLS[-1])]
    expected, said = EVIDENCE.get("expected"), str(EVIDENCE.get("message", ""))
    print(f"shapes\n  expected  {said if expected is None else expected}\n  got       {shapes}")
    if expected is not None:
        got = shapes[output_index()] if output_index() < len(shapes) else None
        return None if got == expected else f"output {output_index()} has shape {got} instead of {expected}"
    # The finding has the sentence only: it is seen again when the shapes, or their number, are the ones that it names.
    seen = [f"{shape} instead of" for shape in shapes] + [f"{len(shapes)} outputs instead of"]
    return said if any(text in said for text in seen) else None


def check_subclass() -> str | None:
    """Is the output an object of another class than a plain tensor?"""
    call = CALLS[shown()]
    with torch.no_grad():
        outputs = listed(model_of(call).object(*inputs_of(call)))
    print(f"classes of the outputs: {[type(output).__name__ for output in outputs]}")
    odd = [type(output).__name__ for output in outputs if type(output) not in (torch.Tensor, torch.nn.Parameter)]
    return f"an output is a {odd[0]}, not a plain tensor" if odd else None


def check_weightless() -> str | None:
    """Does the model hold any parameter or buffer that weights could be loaded into?"""
    held = list(model_of(CALLS[shown()]).tensors())
    print(f"parameters and buffers of the submission: {', '.join(held) or 'none'}")
    return None if held else "it holds no parameter and no buffer, so that no weights can be loaded into it"


def check_weights() -> str | None:
    """Does the result follow parameters that change in place?"""
    outputs = [kept(run(call)) for call in CALLS]
    stale = len(outputs) > 1 and all_same(outputs[-2], outputs[-1])
    print(
        f"before the update  {outputs[0][0].flatten()[:6].tolist()}\nafter the update   {outputs[-1][0].flatten()[:6].tolist()}"
    )
    if "index" in EVIDENCE:
        return element_of(outputs[-1][output_index()], f"after the update, output {output_index()}")
    return "after the parameters changed in place, the output is bit for bit the old one" if stale else None
