"""Runs one call of a submission and observes it: outputs, repeats, aliases, mutations, gradients."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from . import frames, module
from .fences import Fences
from .tensors import (
    DTYPES,
    Host,
    Placed,
    Span,
    UnreadableError,
    copy_,
    detach,
    device_of,
    dtype_of,
    facts,
    freeze,
    from_bytes,
    grad_mode,
    host,
    is_floating_point,
    poison,
    raw,
    requires_grad,
    requires_grad_,
    shape_of,
    span,
    to,
)
from .world import World

MODELS = 32
"""Model objects kept; older ones are built anew."""
OUTPUTS = 64
"""Tensors accepted in one output tuple."""
FILLS = ("nan", "huge", "zero")

_manual_seed = torch.manual_seed
_grad = torch.autograd.grad
_tensor = Tensor
_apply: Any = nn.Module._apply
_named_parameters = nn.Module.named_parameters
_named_buffers = nn.Module.named_buffers


class CallError(Exception):
    """An exception that left the submission's code, with where it happened."""

    def __init__(self, error: BaseException, where: str = "") -> None:
        super().__init__(where)
        self.error = error
        self.where = where


@dataclass
class Instance:
    """A model object and the digests of the parameters that were copied into it."""

    model: Any
    loaded: dict[str, str] = field(default_factory=dict)

    def tensors(self) -> dict[str, Tensor]:
        """Parameters and buffers by name; none where the entry is no ``nn.Module``."""
        if not isinstance(self.model, nn.Module):
            return {}
        named: dict[str, Tensor] = dict(_named_parameters(self.model, remove_duplicate=False))
        named.update(_named_buffers(self.model, remove_duplicate=False))
        return named


class Reply:
    """Header fields and tensors of an answer."""

    def __init__(self) -> None:
        self.header: dict[str, Any] = {}
        self.tensors: list[frames.Named] = []

    def add(self, value: frames.Named) -> int:
        self.tensors.append(value)
        return len(self.tensors) - 1

    def add_outputs(self, outputs: Sequence[Tensor], values: Sequence[frames.Named]) -> list[dict[str, Any]]:
        return [{"tensor": self.add(value), **facts(output)} for output, value in zip(outputs, values, strict=True)]


class Runner:
    """One submission's entry class, the models built from it, and what is kept between calls."""

    def __init__(self, entry: Callable[..., Any], world: World) -> None:
        self._entry = entry
        self._world = world
        self._models: OrderedDict[str, Instance] = OrderedDict()
        self._parameters: dict[str, Tensor] = {}
        self._held: deque[list[Tensor]] = deque(maxlen=2)
        self._sizes: deque[int] = deque(maxlen=8)
        self.fences = Fences(world.device)

    def call(self, request: Mapping[str, Any], frame: frames.Frame) -> Reply:
        """Make one call.

        Raises:
            CallError: The submission's code raised, or an output cannot be read.
        """
        for name in request["forget"]:
            self._parameters.pop(name, None)
        for name, index in request["new"].items():
            self._parameters[name] = from_bytes(*frame.record(index))
        instance = self.instance(request["model"])
        reply = Reply()
        reply.header["held"] = len(instance.tensors())
        reply.header["missing"] = self._load_parameters(instance, request["parameters"] or {})
        inputs = [
            None if "scalar" in arg else Placed(name, from_bytes(*frame.record(arg["tensor"])), arg["layout"], self._world.device)
            for name, arg in zip(request["names"], request["args"], strict=True)
        ]
        _Observed(self, instance, request, frame, inputs, reply).run()
        return reply

    def instance(self, spec: Mapping[str, Any]) -> Instance:
        """The model object of a spec, built where there is none yet.

        Raises:
            CallError: The constructor raised.
        """
        key = repr([spec["init"], spec["dtype"], spec["seed"], spec["instance"]])
        instance = self._models.get(key)
        if instance is None:
            dtype = DTYPES[spec["dtype"]]
            try:
                _manual_seed(spec["seed"])
                model = self._entry(*decode_init(spec["init"]))
                if isinstance(model, nn.Module):
                    # Floating parameters only: a complex or integer one has no counterpart in the probe's dtype.
                    model = _apply(model.to(self._world.device), lambda t: to(t, dtype) if is_floating_point(t) else t)
            except BaseException as error:
                raise CallError(error, "in the constructor") from error
            instance = self._models[key] = Instance(model)
            while len(self._models) > MODELS:
                self._models.popitem(last=False)
        self._models.move_to_end(key)
        return instance

    def forget_outputs(self) -> None:
        """Let go of the outputs that are held to see whether later ones share their memory."""
        self._held.clear()

    def _load_parameters(self, instance: Instance, wanted: Mapping[str, str]) -> list[str]:
        """Copy parameters in place where they changed; the names for which there is no place.

        Where a name has no place nothing is copied: a model with some of the values would be neither the one that was built nor
        the one that was asked for.
        """
        own = instance.tensors() if wanted else {}
        missing = [
            name
            for name, digest in wanted.items()
            if (target := own.get(name)) is None or shape_of(target) != shape_of(self._parameters[digest])
        ]
        if missing:
            return missing
        for name, digest in wanted.items():
            if instance.loaded.get(name) != digest:
                try:
                    with grad_mode(False):
                        copy_(own[name], self._parameters[digest])
                    instance.loaded[name] = digest
                except Exception:
                    missing.append(name)
        return missing

    def _poison(self, inputs: Sequence[Placed | None], fill: str) -> None:
        sizes = dict.fromkeys([*self._sizes, *(item.nbytes for item in inputs if item is not None)])
        poison(self._world.device, list(sizes), fill, behind=self.fences.beside)


class _Observed:
    """One call under observation."""

    def __init__(
        self,
        runner: Runner,
        instance: Instance,
        request: Mapping[str, Any],
        frame: frames.Frame,
        inputs: Sequence[Placed | None],
        reply: Reply,
    ) -> None:
        self.runner, self.instance, self.request = runner, instance, request
        self.frame, self.inputs, self.reply = frame, inputs, reply
        self.world = runner._world
        self.placed = [item for item in inputs if item is not None]
        self.wanted = {f"input:{name}" for name in request["gradients"]}
        self.grad = bool(self.wanted or request["parameter_gradients"])
        self.aliases: dict[tuple[int, str, str], None] = {}
        self.digests: list[str] = []
        self.peaks: list[int] = []

    def run(self) -> None:
        request, header, world = self.request, self.reply.header, self.world
        header.update(
            structure="tensor", outputs=[], repeats=[], differing=[], gradient_status="not-asked", gradients={}, host_copies=None
        )
        args, leaves = self._arguments()
        world.multiply(request["regime"])
        # Transposed convolutions of cuDNN add with atomics by default: what they do is no fault of a kernel that calls them.
        world.repeat(request["regime"] != "default")
        disturb = request["disturb"]
        for index in range(request["repeats"]):
            with world.around(self.placed, side=request["stream"] == "side", busy="busy" in disturb):
                fill = FILLS[index % 3] if "dirty" in disturb else "nan"
                self.runner._poison(self.inputs, fill)
                # Another seed each time: a result that depends on global random state is not determined by its inputs.
                _manual_seed(request["seed"] + index)
                with world.measured() as measure, world.littered(fill):
                    world.arrive(self.placed)
                    result = self._submission(lambda: self.instance.model(*args))
                self._submission(world.wait)
                if measure.peak is not None:
                    self.peaks.append(measure.peak)
                outputs = self._unpack(result, first=index == 0)
                del result
                self._note(outputs, leaves, first=index == 0)
                del outputs
        header["repeats"] = self.digests
        header["aliases"] = [list(alias) for alias in self.aliases]
        header["mutated"] = [item.name for item in self.placed if self._submission(item.mutated)]
        header["outside"] = self._submission(self.runner.fences.broken)
        header["peak_bytes"] = min(self.peaks, default=None)
        with grad_mode(False):
            header["host_copies"] = world.copies(measure, lambda: self.instance.model(*args))

    def _submission(self, action: Callable[[], Any]) -> Any:
        """Do something that runs the submission's code, or waits for it."""
        try:
            with grad_mode(self.grad):
                return action()
        except BaseException as error:
            raise CallError(error) from error

    def _arguments(self) -> tuple[list[Any], dict[str, Tensor]]:
        """The positional arguments, and the leaves to differentiate with respect to by name."""
        args: list[Any] = []
        leaves: dict[str, Tensor] = {}
        for name, spec, item in zip(self.request["names"], self.request["args"], self.inputs, strict=True):
            if item is None:
                args.append(decode_init([spec["scalar"]])[0])
                continue
            tensor = item.tensor
            key = f"input:{name}"
            if (spec["grad"] or key in self.wanted) and is_floating_point(tensor):
                requires_grad_(tensor)
            if key in self.wanted:
                leaves[key] = tensor
            args.append(tensor)
        own = self.instance.tensors() if self.request["parameter_gradients"] else {}
        for name in self.request["parameter_gradients"]:
            if name in own and is_floating_point(own[name]):
                leaves[f"parameter:{name}"] = requires_grad_(own[name])
        return args, leaves

    def _unpack(self, result: Any, *, first: bool) -> list[Tensor]:
        """The output tensors; none where the result is something else."""
        structure, outputs = unpack(result)
        if first:
            self.reply.header["structure"] = structure
        return outputs

    def _note(self, outputs: list[Tensor], leaves: Mapping[str, Tensor], *, first: bool) -> None:
        """Digest, bytes, aliases and, the first time, gradients."""
        values: list[Host] = []
        for index, output in enumerate(outputs):
            try:
                values.append(host(output))
            except Exception as error:
                raise CallError(UnreadableError(f"output {index} cannot be read: {_reason(error)}")) from error
        digest = frames.digest(value.named() for value in values)
        header = self.reply.header
        if first:
            header["outputs"] = self.reply.add_outputs(outputs, [freeze(value) for value in values])
        elif digest != self.digests[0] and not header["differing"]:
            header["differing"] = self.reply.add_outputs(outputs, [freeze(value) for value in values])
        self.digests.append(digest)
        self._find_aliases(outputs)
        with raw():
            self.runner._held.append([detach(output) for output in outputs])
        for value in values:
            if value.nbytes not in self.runner._sizes:
                self.runner._sizes.append(value.nbytes)
        if first and self.grad:
            self._differentiate(outputs, leaves)

    def _find_aliases(self, outputs: Sequence[Tensor]) -> None:
        spans = [span(output) for output in outputs]
        others: list[tuple[str, str, Span | None]] = [("input", item.name, span(item.base)) for item in self.placed]
        others += [("parameter", name, span(tensor)) for name, tensor in self.instance.tensors().items()]
        for back, earlier in enumerate(reversed(self.runner._held), start=1):
            when = "the previous call" if back == 1 else f"{back} calls ago"
            others += [("output", f"output {i} of {when}", span(tensor)) for i, tensor in enumerate(earlier)]
        for index, mine in enumerate(spans):
            for kind, name, other in others:
                if mine is not None and other is not None and mine.overlaps(other) and len(self.aliases) < 64:
                    self.aliases[(index, kind, name)] = None

    def _differentiate(self, outputs: Sequence[Tensor], leaves: Mapping[str, Tensor]) -> None:
        header = self.reply.header
        cotangents = [from_bytes(*self.frame.record(index)) for index in self.request["cotangents"]]
        with raw():
            live = [requires_grad(output) for output in outputs]
        if not any(live):
            header["gradient_status"] = "no-grad"
            return
        self.runner._poison(self.inputs, "nan")
        try:
            if len(cotangents) != len(outputs):
                raise ValueError(f"{len(outputs)} outputs, but {len(cotangents)} cotangents")
            with raw():
                pairs = [(y, to(v, device_of(y), dtype_of(y))) for y, v, on in zip(outputs, cotangents, live, strict=True) if on]
            wanted = [leaf for leaf in leaves.values() if requires_grad(leaf)]
            found = self._submission(lambda: _grad([y for y, _ in pairs], wanted, [v for _, v in pairs], allow_unused=True))
            self._submission(self.world.wait)
            grads = iter(found)
            for name, leaf in leaves.items():
                value = next(grads) if requires_grad(leaf) else None
                entry = None if value is None else self.reply.add_outputs([value], [freeze(host(value))])[0]
                header["gradients"][name] = entry
        except (CallError, Exception) as error:
            cause = error.error if isinstance(error, CallError) else error
            if self.world.broken():
                raise CallError(cause, "in the backward pass") from error
            header.update(gradient_status="raised", gradients={}, raised=module.describe(cause))
            return
        header["gradient_status"] = "ok"


def unpack(result: Any) -> tuple[str, list[Tensor]]:
    """What a forward returned: its structure, and its tensors, none where it is something else than tensors."""
    if isinstance(result, _tensor):
        return "tensor", [result]
    if isinstance(result, tuple | list) and len(result) <= OUTPUTS and all(isinstance(item, _tensor) for item in result):
        return "tuple" if isinstance(result, tuple) else "list", list(result)
    return f"other:{_name(result)}", []


def decode_init(items: Sequence[Any]) -> tuple[Any, ...]:
    """Constructor arguments from JSON: tuples and dicts are tagged, since JSON has neither."""
    return tuple(_decode(item) for item in items)


def _decode(item: Any) -> Any:
    if isinstance(item, list):
        return [_decode(value) for value in item]
    if isinstance(item, dict):
        if "tuple" in item:
            return tuple(_decode(value) for value in item["tuple"])
        return {_decode(key): _decode(value) for key, value in item["dict"]}
    return item


def _name(result: Any) -> str:
    """What a result is, for a person."""
    kind = type(result).__name__
    if isinstance(result, tuple | list):
        if len(result) > OUTPUTS:
            return f"{kind} of {len(result)} items"
        kind = f"{kind} of {', '.join(type(item).__name__ for item in result[:8])}"
    return kind[:150]


def _reason(error: Exception) -> str:
    first = (str(error).strip().splitlines() or [""])[0][:300]
    return first if isinstance(error, UnreadableError) else f"{type(error).__name__}: {first}"
