"""What every reproduction script has: the entry point, the submission, its models, inputs and calls.

The constants stand for the ones that a script begins or ends with.
"""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import ast
import atexit
import ctypes
import importlib.util
import json
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

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
