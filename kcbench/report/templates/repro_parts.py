"""Parts of reproduction scripts. kcbench reads this file as text and never imports it.

:mod:`kcbench.report.repro` takes from it the check that a finding needs, and what that check uses. The constants below stand for
the ones that a script begins or ends with.
"""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import ast
import atexit
import contextlib
import ctypes
import importlib.util
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

ENTRY = "ModelNew"
DEVICE = "cpu"
EVIDENCE: dict[str, Any] = {}
CALLS: list[dict[str, Any]] = []
SUBMISSION = ""
FILLS = ""
PROBLEM = ""


class CannotRunError(Exception):
    """Something that the script needs is missing here."""


def main(check: Callable[[], str | None]) -> int:
    """0: not reproduced. 1: reproduced. 2: the script cannot run here."""
    print(f"{(__doc__ or '').strip().splitlines()[0]}\ntorch {torch.__version__}, {DEVICE}\n")
    try:
        if DEVICE == "cuda" and not torch.cuda.is_available():
            raise CannotRunError("this was seen on a GPU, and torch sees none")
        failure = check()
    except CannotRunError as error:
        print(f"could not run: {error}")
        return 2
    except ModuleNotFoundError as error:
        print(f"could not run: {error} (pip install {error.name})")
        return 2
    except Exception as error:
        print(f"could not run: the call ended with {type(error).__name__}: {error}")
        return 2
    print(f"REPRODUCED: {failure}" if failure else "not reproduced")
    return 1 if failure else 0


# --- the submission, its models and its inputs


def load_module(name: str, text: str) -> Any:
    """Import embedded source from a real file, because Triton reads a kernel's source back from disk."""
    folder = tempfile.mkdtemp(prefix="repro-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / f"{name}.py"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


LOADED: dict[str, Any] = {}
"""Embedded modules that were imported."""
MODELS: dict[str, Model] = {}
"""Model objects that calls share."""


def embedded(name: str, text: str) -> Any:
    """The embedded module of a name, imported on first use."""
    if name not in LOADED:
        LOADED[name] = load_module(name, text)
    return LOADED[name]


class Model:
    """A model object of the submission, and which parameters were copied into it."""

    def __init__(self, call: dict[str, Any]) -> None:
        embedded("fills", FILLS)  # before the submission, which may patch torch
        entry = getattr(embedded("submission", SUBMISSION), ENTRY)
        torch.manual_seed(call["seed"])
        self.object = entry(*(untagged(argument) for argument in call["init"]))
        if isinstance(self.object, torch.nn.Module):
            self.object = self.object.to(DEVICE).to(getattr(torch, call["model_dtype"]))
        self.loaded: dict[str, Any] = {}

    def tensors(self) -> dict[str, torch.Tensor]:
        """Parameters and buffers by name."""
        if not isinstance(self.object, torch.nn.Module):
            return {}
        return {
            **dict(self.object.named_parameters(remove_duplicate=False)),
            **dict(self.object.named_buffers(remove_duplicate=False)),
        }

    def set_parameters(self, call: dict[str, Any], variant: str = "") -> None:
        """Draw parameters and buffers and copy them in by name, in place, where they differ from those of the call before."""
        own = self.tensors()
        for spec in call["parameters"] or []:
            name, target = spec["name"], own.get(spec["name"])
            if target is not None and list(target.shape) == spec["shape"] and self.loaded.get(name) != (spec, variant):
                with torch.no_grad():
                    target.copy_(draw(spec, variant))
                self.loaded[name] = spec, variant


def untagged(argument: Any) -> Any:
    """A constructor argument from JSON, in which tuples are written ``{"tuple": [...]}``."""
    if isinstance(argument, dict):
        return tuple(untagged(item) for item in argument["tuple"])
    return [untagged(item) for item in argument] if isinstance(argument, list) else argument


def model_of(call: dict[str, Any], variant: str = "") -> Model:
    """The model of a call, with its parameters: calls with equal instance name, constructor arguments and dtype share one."""
    key = json.dumps([call["probe"]["world"]["instance"], call["init"], call["model_dtype"], call["seed"]])
    if key not in MODELS:
        MODELS[key] = Model(call)
    MODELS[key].set_parameters(call, variant)
    return MODELS[key]


def draw(spec: dict[str, Any], variant: str = "") -> torch.Tensor:
    """The tensor of a recipe and a key. Variants: ``plain`` (neither poisoned nor scaled), ``other`` (plain, of other values)."""
    recipe, key = spec["recipe"], spec["key"]
    if variant:
        while "base" in recipe:
            recipe = recipe["base"]
        recipe = {name: value for name, value in recipe.items() if name not in ("gain", "shift")}
        if variant == "other":
            recipe, key = {"kind": "normal"} if recipe["kind"] == "constant" else recipe, f"{key}/other"
    value: torch.Tensor = embedded("fills", FILLS).fill(recipe, spec["shape"], spec["dtype"], key)
    return value


def draw_given(spec: dict[str, Any], variant: str = "") -> torch.Tensor:
    """The same over what the problem's own ``get_inputs`` makes, with its constants set to the sizes of the call."""
    source = spec["given"]
    tree = ast.parse(PROBLEM)
    for node in tree.body:
        name = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if isinstance(node, ast.Assign) and isinstance(name, ast.Name) and name.id in source["sizes"]:
            node.value = ast.copy_location(ast.Constant(source["sizes"][name.id]), node.value)
    problem: dict[str, Any] = {"__name__": "problem"}
    exec(compile(tree, "problem.py", "exec"), problem)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(source["seed"] + (variant == "other"))
        given: torch.Tensor = problem["get_inputs"]()[source["index"]]
    if spec["dtype"] is None:
        return given
    recipe = {"kind": "problem"} if variant else spec["recipe"]
    value: torch.Tensor = embedded("fills", FILLS).fill(recipe, spec["shape"], spec["dtype"], spec["key"], given)
    return value


def laid_out(value: torch.Tensor, layout: str) -> torch.Tensor:
    """The same values on the device, in another memory layout."""
    shape = tuple(value.shape)
    if layout == "transposed" and len(shape) > 1:
        return value.to(DEVICE).transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "channels_last" and len(shape) > 2:
        return value.to(DEVICE).movedim(1, -1).contiguous().movedim(-1, 1)
    if layout in ("strided", "transposed") and shape:
        base = torch.full(
            (*shape[:-1], 2 * shape[-1]), math.nan if value.is_floating_point() else 0, dtype=value.dtype, device=DEVICE
        )
        return base[..., ::2].copy_(value)
    if layout == "offset":
        base = torch.zeros(value.numel() + 6, dtype=value.dtype, device=DEVICE)
        return base[3 : 3 + value.numel()].view(shape).copy_(value)
    return value.to(DEVICE, copy=True)


def inputs_of(call: dict[str, Any], variant: str = "") -> list[Any]:
    """The arguments of a call, in order; see :func:`draw` for the variants, to which ``zero`` is added."""
    inputs: list[Any] = []
    for spec in call["inputs"]:
        if spec["kind"] == "tensor":
            value = draw_given(spec, variant) if "given" in spec else draw(spec, variant)
            value = torch.zeros_like(value) if variant == "zero" else value
            inputs.append(laid_out(value, spec.get("layout") or "contiguous"))
        else:
            inputs.append(spec["value"])
    return inputs


def forward(model: Model, inputs: list[Any], fill: str = "nan") -> list[Any]:
    """The outputs of one call, as a list. Memory that nobody owns is full of NaN before it."""
    leave_dirt(inputs, fill)
    torch.manual_seed(0)
    with torch.no_grad():
        outputs = [as_plain(output) for output in listed(model.object(*inputs))]
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    SIZES.update(dict.fromkeys(nbytes(output) for output in outputs if isinstance(output, torch.Tensor)))
    return outputs


def as_plain(value: Any) -> Any:
    """A tensor as the bytes that it holds now: a subclass gets no chance to compute them when they are looked at."""
    if not isinstance(value, torch.Tensor):
        return value
    with torch._C.DisableTorchFunctionSubclass():
        return value.detach().as_subclass(torch.Tensor)


def listed(result: Any) -> list[Any]:
    """What a forward returned, as a list."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


SIZES: dict[int, None] = {}
"""Sizes of outputs that were seen."""


def nbytes(tensor: torch.Tensor) -> int:
    """Bytes of a tensor's values."""
    return tensor.numel() * tensor.element_size()


def leave_dirt(inputs: list[Any], fill: str) -> None:
    """Leave freed blocks full of NaN, 1e30 or 0, for ``torch.empty`` to find."""
    if DEVICE == "cpu" and not SIZES and hasattr(ctypes.CDLL(None), "mallopt"):
        # Blocks up to 32 MiB then come from the heap and stay there when freed (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD).
        ctypes.CDLL(None).mallopt(-3, 32 << 20)
        ctypes.CDLL(None).mallopt(-1, 1 << 30)
    sizes = [*SIZES, *(nbytes(value) for value in inputs if isinstance(value, torch.Tensor))]
    blocks = [torch.empty(-(-size // 4), device=DEVICE) for size in sizes for _ in range(4 if size <= 1 << 20 else 1) if size]
    for block in blocks:
        if fill == "nan":
            block.view(torch.int32).fill_(-1)  # NaN in every floating dtype
        else:
            block.fill_(1e30 if fill == "huge" else 0.0)


def run(call: dict[str, Any]) -> list[Any]:
    """Make a call: model, parameters, inputs, forward."""
    return forward(model_of(call), inputs_of(call))


def run_all() -> list[list[Any]]:
    """Make all calls in order."""
    return [run(call) for call in CALLS]


def run_before() -> None:
    """Make all calls but the last."""
    for call in CALLS[:-1]:
        run(call)


def shown() -> int:
    """Index of the call that shows the failure: the last one with the finding's label, or else the last one."""
    named = [index for index, call in enumerate(CALLS) if call["probe"]["label"] == EVIDENCE.get("probe")]
    return named[-1] if named else len(CALLS) - 1


def after_other_calls(check: Callable[[], str | None]) -> Callable[[], str | None]:
    """A check that is made a second time, on a fresh import, after calls with other inputs: a kernel may keep state."""

    def both() -> str | None:
        failure = check()
        if failure is not None:
            return failure
        print("\nonce more, after calls with other inputs:")
        LOADED.pop("submission")
        MODELS.clear()
        began = time.monotonic()
        for number in range(12):
            for call in CALLS:
                if number == 0 or time.monotonic() - began < 10:
                    variant = {1: "plain", 2: "zero"}.get(number, "other")
                    forward(model_of(call, "other"), inputs_of(call, variant))
        failure = check()
        return failure and f"after calls with other inputs, {failure}"

    return both


# --- looking at results


def number(value: Any) -> float:
    """A number, or one of the words ``nan``, ``inf`` and ``-inf``."""
    return float(value)


def output_index() -> int:
    """Which output the finding speaks of."""
    output = EVIDENCE.get("output", 0)
    return output if isinstance(output, int) else 0


def same_bytes(a: Any, b: Any) -> bool:
    """Whether two tensors hold the same bytes."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    a, b = a.detach().cpu().contiguous(), b.detach().cpu().contiguous()
    return bool(torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8)))


def all_same(a: list[Any], b: list[Any]) -> bool:
    """Whether two lists of outputs hold the same bytes."""
    return len(a) == len(b) and all(same_bytes(x, y) for x, y in zip(a, b, strict=True))


def kept(outputs: list[Any]) -> list[Any]:
    """Copies of outputs that later calls cannot touch."""
    return [output.detach().clone() for output in outputs]


def compare(got: float, expected: float, tolerance: float, what: str) -> str | None:
    """Print both values; a sentence when they lie further apart than the tolerance."""
    print(f"{what}\n  expected  {expected!r}" + (f" within {tolerance!r}" if tolerance else "") + f"\n  got       {got!r}")
    if got == expected or (math.isnan(got) and math.isnan(expected)):
        return None
    if math.isfinite(got) and math.isfinite(expected) and abs(got - expected) <= tolerance:
        return None
    return f"{what} is {got!r} instead of {expected!r}" + (f" (tolerance {tolerance!r})" if tolerance else "")


def element_of(tensor: torch.Tensor, what: str, tolerance: float | None = None) -> str | None:
    """Compare the finding's element of a tensor with what the finding expects."""
    index = tuple(EVIDENCE["index"])
    if len(index) != tensor.dim() or any(i >= size for i, size in zip(index, tensor.shape, strict=True)):
        return f"{what} has shape {list(tensor.shape)}, so it has no element {list(index)}"
    allowed = number(EVIDENCE.get("tolerance") or 0) if tolerance is None else tolerance
    return compare(float(tensor[index]), number(EVIDENCE["expected"]), allowed, f"{what} at {list(index)}")


def name_of_class(value: float) -> str:
    """``finite``, ``NaN``, ``+Inf`` or ``-Inf``."""
    return "finite" if math.isfinite(value) else "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def span(tensor: torch.Tensor) -> tuple[str, int, int]:
    """Device, first and last address of a tensor's storage."""
    storage = tensor.untyped_storage()
    return str(tensor.device), storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors share memory."""
    (device, start, end), (other, first, last) = span(a), span(b)
    return device == other and start < last and first < end


def shape_of(value: Any) -> Any:
    """A shape as a list; the class of what is not a tensor."""
    return list(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__


# --- disturbances between repeats


def keep_busy() -> None:
    """Load the GPU from another stream."""
    with torch.cuda.stream(torch.cuda.Stream()):
        a = torch.ones(4096, 4096, device=DEVICE, dtype=torch.float16)
        for _ in range(24):
            a @ a


# --- the checks, one per kind of finding


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
    for number, call in enumerate([*CALLS, *CALLS[-1:] * 4]):  # several times, because some take turns between two buffers
        outputs = forward(model_of(call), inputs_of(call, "other" if number % 2 else ""))
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


def check_device() -> str | None:
    """Is the output on another device?"""
    got = [str(output.device) for output in run_all()[shown()]]
    home = EVIDENCE.get("expected", DEVICE)
    print(f"devices of the outputs\n  expected  {home}\n  got       {got}")
    away = [device for device in got if device.partition(":")[0] != str(home).partition(":")[0]]
    return f"an output is on {away[0]} instead of {home}" if away else None


def need_cuda() -> None:
    """Stop where there is no GPU in use."""
    if DEVICE != "cuda":
        raise CannotRunError("this can only be seen on a GPU")


def check_memory() -> str | None:
    """Does the call take more device memory than allowed?"""
    need_cuda()
    run_before()
    call = CALLS[-1]
    model = model_of(call)
    inputs = inputs_of(call)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    with torch.no_grad():
        model.object(*inputs)
    torch.cuda.synchronize()
    peak, limit = torch.cuda.max_memory_allocated() - before, int(EVIDENCE["expected"])
    print(f"peak memory beside the inputs\n  allowed  {limit >> 20} MiB\n  taken    {peak >> 20} MiB")
    return f"the call takes {peak >> 20} MiB where {limit >> 20} MiB are allowed" if peak > limit else None


class CountHostCopies(TorchDispatchMode):
    """Counts copies from the GPU to the host."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and count it if it copies to the host."""
        result = func(*args, **(kwargs or {}))
        name = func._schema.name
        if name == "aten::_local_scalar_dense":
            self.count += args[0].is_cuda
        elif name == "aten::_to_copy":
            self.count += args[0].is_cuda and result.device.type == "cpu"
        elif name == "aten::copy_":
            self.count += args[1].is_cuda and args[0].device.type == "cpu"
        return result


def check_host_copy() -> str | None:
    """Does the call copy tensors to the host?"""
    need_cuda()
    run_before()
    call = CALLS[-1]
    model = model_of(call)
    inputs = inputs_of(call)
    with CountHostCopies() as counter:
        forward(model, inputs)
    print(f"copies from the GPU to the host: {counter.count}")
    return f"the call copies to the host {counter.count} times" if counter.count else None


@contextlib.contextmanager
def arriving_late(inputs: list[Any]) -> Iterator[None]:
    """On a side stream, fill the inputs only after a delay: whoever reads them on another stream reads NaN."""
    tensors = [value for value in inputs if isinstance(value, torch.Tensor) and value.is_floating_point()]
    values = [tensor.clone() for tensor in tensors]
    for tensor in tensors:
        tensor.fill_(math.nan)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(40_000_000)
        for tensor, value in zip(tensors, values, strict=True):
            tensor.copy_(value)
        yield
        side.synchronize()


def check_stream() -> str | None:
    """Does the call read its inputs before they are written on the current stream?"""
    need_cuda()
    call = CALLS[-1]
    model = model_of(call)
    wanted = kept(forward(model, inputs_of(call)))
    inputs = inputs_of(call)
    with arriving_late(inputs), torch.no_grad():
        outputs = kept(listed(model.object(*inputs)))
    for index, (got, want) in enumerate(zip(outputs, wanted, strict=True)):
        size = float(want.double().abs().nan_to_num().max()) if want.numel() else 0.0
        if not torch.allclose(got.double(), want.double(), rtol=1e-2, atol=1e-2 * size, equal_nan=True):
            print(f"default stream  {want.flatten()[:6].tolist()}\nside stream     {got.flatten()[:6].tolist()}")
            return f"output {index} is wrong when the inputs arrive late on the current stream"
    return None


def check_resource() -> str | None:
    """Does a compiled kernel exceed the limit? Triton compiles for a GPU: elsewhere, the figures of the run are printed."""
    figures = {key: value for key, value in EVIDENCE.items() if key not in ("kind", "probe", "axes", "dtype")}
    print("as compiled in the run:\n" + "\n".join(f"  {key:9s} {value}" for key, value in figures.items()))
    if DEVICE != "cuda" or not CALLS:
        raise CannotRunError("compiling needs Triton and a GPU" if CALLS else "the finding names no call")
    from triton.runtime.jit import JITFunction

    compiled: dict[str, Any] = {}
    run_kernel = JITFunction.run

    def watched(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        result = run_kernel(kernel, *args, **kwargs)
        compiled[kernel.fn.__name__] = result
        return result

    JITFunction.run = watched
    run_all()
    torch.cuda.synchronize()
    limit, found = EVIDENCE.get("expected"), []
    for name, kernel in compiled.items():
        names = ("num_warps", "shared", "tmem_size")
        facts = {key: getattr(kernel.metadata, key, None) for key in names}
        facts |= {"n_regs": getattr(kernel, "n_regs", None), "n_spills": 4 * (getattr(kernel, "n_spills", None) or 0)}
        print(f"compiled here: {name} {facts}")
        if name == EVIDENCE.get("kernel"):
            found += [key for key, value in facts.items() if value == EVIDENCE.get("got")]
    return f"{EVIDENCE.get('kernel')} has {found[0]} = {EVIDENCE.get('got')} where the limit is {limit}" if found else None
