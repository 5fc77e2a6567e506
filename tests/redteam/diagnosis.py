"""A small stand-in for the gates, in plain torch: it names what is wrong with a kernel by the gates' codes."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from kcbench.redteam import Entry
from tests.redteam.bench import AT_LEAST, LINEAR, TINY, UNIT, Bench, Probe, bench, copy_parameters, namespace


def classes(x: Any) -> Any:
    return torch.where(x.isnan(), 1, torch.where(x == float("inf"), 2, torch.where(x == float("-inf"), 3, 0)))


class Roomy(TorchFunctionMode):
    """Gives what a kernel asks memory for some room behind its end: a store there is seen, and spoils nothing of this process."""

    ROOM = 1 << 16
    PATTERN = 0xA5

    def __init__(self) -> None:
        super().__init__()
        self.given: list[tuple[Any, int]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func not in (torch.empty, torch.empty_like) or type(out) is not torch.Tensor:
            return out
        used = out.untyped_storage().nbytes()
        room = torch.full((used + self.ROOM,), self.PATTERN, dtype=torch.uint8)
        self.given.append((room, used))
        return torch.empty(0, dtype=out.dtype).set_(room.untyped_storage(), out.storage_offset(), out.shape, out.stride())

    def overrun(self) -> bool:
        return any(bool((room[used:] != self.PATTERN).any()) for room, used in self.given)


class Subject:
    """One kernel under test: an instance per dtype and constructor arguments, used from call to call as the worker does."""

    def __init__(self, entry: Entry) -> None:
        self.factory = namespace(entry.source, f"<{entry.id}>")["ModelNew"]
        self.models: dict[str, Any] = {}
        self.loaded: dict[int, Any] = {}
        self.held: list[Any] = []
        self.found: dict[str, str] = {}

    def note(self, code: str, text: str) -> None:
        self.found.setdefault(code, text)

    def model(self, probe: Probe, fresh: bool = False) -> Any:
        dtype = next(x.dtype for x in probe.inputs if x.is_floating_point())
        key = f"{dtype} {probe.init}"
        if fresh or key not in self.models:
            self.models[f"fresh {key}" if fresh else key] = model = self.factory(*probe.init).to(dtype)
            return model
        return self.models[key]

    def call(self, probe: Probe, *, fresh: bool = False) -> Any:
        model = self.model(probe, fresh)
        if self.loaded.get(id(model)) is not probe.parameters:
            copy_parameters(model, probe.parameters)
            self.loaded[id(model)] = probe.parameters
        inputs = [
            x.detach().as_strided(x.shape, x.stride(), x.storage_offset()) if 0 in x.shape else relocated(x) for x in probe.inputs
        ]
        before = [x.clone() for x in inputs]
        with torch.no_grad(), Roomy() as memory:
            out = model(*inputs)
        if memory.overrun():
            self.note("GUARD.writes-outside", probe.label)
        if isinstance(out, list | tuple):
            self.note("GUARD.output-shape", type(out).__name__)
            out = out[0]
        if type(out) is not torch.Tensor:
            self.note("GUARD.subclass", type(out).__name__)
        if any(not torch.equal(bits(a), bits(b)) for a, b in zip(inputs, before, strict=True)):
            self.note("GUARD.mutates-input", probe.label)
            self.note("ORD-02.mutates-input", probe.label)
        plain = out.detach().as_subclass(torch.Tensor)
        if plain.numel():
            storage = plain.untyped_storage().data_ptr()
            if any(storage == x.untyped_storage().data_ptr() for x in inputs):
                self.note("ORD-02.alias-input", probe.label)
            if any(storage == x.untyped_storage().data_ptr() for x in self.held):
                self.note("ORD-02.alias-output", probe.label)
            self.held = [*self.held[-3:], plain]
        return plain.clone()


def relocated(x: Any) -> Any:
    """The same values and layout in memory of its own."""
    memory = x.untyped_storage().clone()
    return torch.empty(0, dtype=x.dtype).set_(memory, x.storage_offset(), x.shape, x.stride())


def bits(x: Any) -> Any:
    return x.contiguous().view(torch.uint8) if x.dim() else x.view(1).view(torch.uint8)


def differs(got: Any, probe: Probe, slack: float = 40.0) -> str:
    """A sentence where the output is wrong by much more than rounding, or in another class than truth and eager agree on."""
    dtype = probe.eager.dtype
    truth, mine = probe.truth, got.double()
    if got.shape != truth.shape:
        return f"shape {list(got.shape)}"
    if truth.numel() == 0:
        return ""
    want = classes(truth.to(dtype).double())
    agreed = (classes(probe.eager.double()) == want) & ~(truth.isfinite() & (truth.abs() > 0.9 * torch.finfo(dtype).max))
    if bool(((classes(mine) != want) & agreed).any()):
        return "class"
    finite = agreed & (want == 0)
    scale = truth.abs() + truth[finite].abs().max().nan_to_num() if bool(finite.any()) else truth.abs()
    eager_error = (probe.eager.double() - truth).abs()
    room = torch.where(finite, eager_error, 0.0).max() * 4
    error = torch.where(finite, (mine - truth).abs(), 0.0)
    if dtype == torch.float32:
        allowed = slack * UNIT[dtype] * scale + room
    else:
        allowed = 1.6 * UNIT[dtype] * truth.abs() + 100 * UNIT[torch.float32] * scale + 2 * TINY[dtype] * UNIT[dtype] + 0 * room
    over = error > allowed
    return f"value off by {float(error.max()):.3g}" if bool(over.any()) else ""


def diagnose(entry: Entry) -> dict[str, str]:
    """All codes that the kernel earns, with the probe that shows each."""
    desk, subject = bench(entry.task), Subject(entry)
    for check in (guards, diversity, gradients, polymorphism, determinism, cancellation, precision, nonfinite, subnormals):
        check(desk, subject)
    return subject.found


def guards(desk: Bench, subject: Subject) -> None:
    first, updated = subject.call(desk.main), subject.call(desk.updated)
    other, again = subject.call(desk.other), subject.call(desk.main)
    if first.shape != desk.main.truth.shape:
        subject.note("GUARD.output-shape", str(list(first.shape)))
    elif first.dtype != desk.main.eager.dtype:
        subject.note("GUARD.output-dtype", str(first.dtype))
    if desk.main.parameters and differs(updated, desk.updated) and not differs(first, desk.main):
        subject.note("GUARD.weights-stale", "after an update in place")
    fresh = subject.call(desk.other, fresh=True)
    for probe, a, b in ((desk.main, first, again), (desk.other, other, fresh)):
        if bool(differs(a, probe)) != bool(differs(b, probe)):
            subject.note("GUARD.stateful", probe.label)


def diversity(desk: Bench, subject: Subject) -> None:
    outputs = []
    for probe in desk.families:
        outputs.append(subject.call(probe))
        if wrong := differs(outputs[-1], probe):
            subject.note("CMP-01.value", f"{probe.label}: {wrong}")
    if "CMP-01.value" in subject.found:
        if not any(bool(out.count_nonzero()) for out in outputs):
            subject.note("CMP-01.zeros", "all families")
        if all(torch.equal(outputs[0], out) for out in outputs):
            subject.note("CMP-01.input-blind", "all families")
    integers = subject.call(desk.integers)
    if desk.task in LINEAR and not desk.main.parameters and not torch.equal(integers.double(), desk.integers.truth):
        subject.note("CMP-01.integer", "integers")


def gradients(desk: Bench, subject: Subject) -> None:
    for probe in desk.gradients:
        gradient(desk, subject, probe)


def gradient(desk: Bench, subject: Subject, probe: Probe) -> None:
    try:
        with Roomy():
            _, grads = desk.run(subject.model(probe), list(probe.inputs), probe.parameters, gradient=True)
    except RuntimeError as error:
        subject.note("CMP-02.vjp", str(error))
        return
    if not grads:
        subject.note("CMP-02.missing", "the output carries no gradient")
        return
    for name, want in probe.truth_gradients.items():
        got = grads.get(name)
        if got is None:
            subject.note("CMP-02.missing", name)
        elif got.shape != want.shape or not torch.allclose(got.double(), want, rtol=1e-4, atol=1e-4 * float(want.abs().max())):
            subject.note("CMP-02.vjp", name)


def polymorphism(desk: Bench, subject: Subject) -> None:
    for sizes, probe in desk.shapes:
        code = "empty" if 0 in sizes.values() else "batch" if sizes == {"batch_size": 1} or sizes == {"M": 1} else "shape"
        try:
            wrong = differs(subject.call(probe), probe)
        except Exception as error:
            subject.note("CMP-03.empty" if code == "empty" else "CMP-03.crash", f"{probe.label}: {error}")
            continue
        if wrong:
            subject.note(f"CMP-03.{code}", f"{probe.label}: {wrong}")
    for probe in desk.layouts:
        try:
            wrong = "" if differs(probe.eager, probe) else differs(subject.call(probe), probe)
        except NotImplementedError:
            continue
        except Exception as error:
            wrong = str(error)
        if wrong:
            subject.note("CMP-03.stride", f"{probe.label}: {wrong}")


def determinism(desk: Bench, subject: Subject) -> None:
    runs = []
    for run in range(12):
        # Freed poison stands in for the dirty allocator.
        junk = [torch.full((size,), 1e30) for size in (desk.main.truth.numel(), desk.main.inputs[0].numel(), 16, 512) if run % 2]
        del junk
        runs.append(subject.call(desk.main))
        if run == 8:
            with contextlib.suppress(RuntimeError, IndexError):  # a crash there is noted elsewhere
                subject.call(desk.shapes[0][1])
    if any(not torch.equal(bits(runs[0]), bits(out)) for out in runs[1:9]):
        subject.note("ORD-02.nondeterministic", "repeats")
    if any(not torch.equal(bits(runs[0]), bits(out)) for out in runs[9:]):
        subject.note("ORD-02.stateful", "after another shape")


def cancellation(desk: Bench, subject: Subject) -> None:
    if wrong := differs(subject.call(desk.far), desk.far, slack=200.0):
        subject.note("ORD-03.cancellation", wrong)


def precision(desk: Bench, subject: Subject) -> None:
    for probe in desk.half:
        try:
            got = subject.call(probe)
        except NotImplementedError:
            continue
        if got.dtype != probe.eager.dtype:
            subject.note("PRC-01.dtype", str(got.dtype))
        # The eager model carries 16-bit sums in some tasks (cumsum, a convolution's bias): such a probe says nothing.
        if not differs(probe.eager, probe) and (wrong := differs(got, probe)):
            subject.note("PRC-01.value", f"{probe.label}: {wrong}")
    for probe in desk.identity:
        got = subject.call(probe).double()
        if got.shape == probe.truth.shape and not torch.equal(got, probe.truth):
            code = "tf32" if bool(((got - probe.truth).abs() <= 2.0**-10 * probe.truth.abs()).all()) else "narrowed"
            subject.note(f"PRC-01.{code}", probe.label)
    for probe in desk.absorption:
        try:
            got = subject.call(probe)
        except NotImplementedError:
            continue
        if not torch.equal(got.double(), probe.eager.double()):
            subject.note("PRC-02.accumulator", probe.label)


def nonfinite(desk: Bench, subject: Subject) -> None:
    for probe in desk.poisons:
        try:
            got = subject.call(probe)
        except NotImplementedError:
            continue
        if got.shape != probe.truth.shape:
            return
        want, have = classes(probe.truth.to(probe.eager.dtype).double()), classes(got.double())
        near = probe.truth.isfinite() & (probe.truth.abs() > 0.9 * torch.finfo(probe.eager.dtype).max)
        agreed = (classes(probe.eager.double()) == want) & ~near
        extra = ((want == 0) & (have != 0)) | ((want > 1) & (have == 1))
        poisoned, exact = not all(bool(x.isfinite().all()) for x in probe.inputs), desk.task not in AT_LEAST
        faults = {
            # Rearranged recurrences may meet inf * (q . k) where the sequential one adds infinities of both signs.
            "absorbed": ((want != 0) & (have == 0)) | ((want == 1) & (have > 1) & exact),
            "sign": (want > 1) & (have > 1) & (have != want),
            # Where more NaN is allowed, that holds for a largest finite value too, once eager itself overflows somewhere.
            "spread" if poisoned else "minted": extra & bool(exact or (not poisoned and bool(probe.eager.isfinite().all()))),
        }
        for code, mask in faults.items():
            if bool((mask & agreed).any()):
                subject.note(f"EXC-01.{code}", probe.label)


def subnormals(desk: Bench, subject: Subject) -> None:
    for probe in desk.subnormal:
        got = subject.call(probe).double()
        if got.shape != probe.truth.shape:
            return
        rounded = probe.truth.float().double()
        if bool((rounded.isfinite() & ~got.isfinite()).any()):
            subject.note("EXC-02.minted", probe.label)
        flushed = torch.where(probe.flushed.abs() < TINY[torch.float32], 0.0, probe.flushed)
        telling = rounded.isfinite() & ((rounded - flushed).abs() > 2 * (64 * 2.0**-150 + 2.0**-6 * rounded.abs()))
        if bool(telling.any()):
            kept = ((got - rounded).abs() <= (got - flushed).abs())[telling]
            if not bool(kept.all()):
                subject.note("EXC-02.inconsistent" if bool(kept.any()) else "EXC-02.flushed", probe.label)
