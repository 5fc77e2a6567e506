"""The dispatch mode: every aten operation below autograd passes here and leaves with its roundings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from kcbench.numerics.formats import FORMATS, dtype_name, format_of
from kcbench.numerics.stochastic.noise import Noise, Phase
from kcbench.numerics.stochastic.registry import Kind, Plan, plan_for

_CAST = torch.ops.aten._to_copy.default


def _tensors(args: Sequence[Any], kwargs: dict[str, Any]) -> Iterator[Tensor]:
    """The tensors among arguments, one level of lists deep: aten has no deeper nesting."""
    for value in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            for item in value:
                if isinstance(item, Tensor):
                    yield item


def _floating(value: Any) -> list[Tensor]:
    items = value if isinstance(value, (list, tuple)) else (value,)
    return [t for t in items if isinstance(t, Tensor) and (t.is_floating_point() or t.is_complex())]


class _Mode(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # True would wrap each dispatch in a call that imports torch's compiler (seconds, once) and costs more than a rule does.
        return False


class CastMode(_Mode):
    """Evaluates as written, except that casts from float64 to a narrower float keep float64.

    A model that says ``x.float()`` would otherwise lose its truth: the value that float64 stands for is the exact one.
    """

    def __torch_dispatch__(
        self, func: OpOverload, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is _CAST and narrowed_by(args[0], kwargs) is not None:
            kwargs = {**kwargs, "dtype": torch.float64}
        return func(*args, **kwargs)


def narrowed_by(x: Tensor, kwargs: dict[str, Any]) -> str | None:
    """The name of the narrower floating dtype that a ``_to_copy`` asks of a float64 tensor, or None."""
    dtype = kwargs.get("dtype")
    if x.dtype is not torch.float64 or dtype is None or dtype is torch.float64:
        return None
    name = dtype_name(dtype)
    return name if name in FORMATS else None


class NoiseMode(_Mode):
    """Applies the rule of each operation, and the stores between them.

    A result is *pending* until something reads it: only then does eager's rounding to the storage dtype matter to a later
    value. The rounding of what is read last of all, the output, is the judge's ``u_out`` and is not noise. Pending results are
    kept by storage, so that reading any view of one settles it.
    """

    def __init__(self, noise: Noise) -> None:
        super().__init__()
        self.noise = noise
        self.blackbox: dict[str, None] = {}
        self._stores = bool(noise.precision.store)
        self._depth = 0
        self._pending: dict[int, list[Tensor]] = {}
        noise.recurse = self._recurse

    def __torch_dispatch__(
        self, func: OpOverload, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        plan = plan_for(func)
        kind = plan.kind
        if kind is Kind.RAW:
            return func(*args, **kwargs)
        if kind is Kind.EXPAND:
            with self:
                return func.decompose(*args, **kwargs)
        storing = self._stores and not self._depth
        if kind is Kind.CARRY:
            return self._carry(func, args, kwargs, storing)
        if kind is Kind.CAST:
            return self._cast(func, args, kwargs, storing)
        if storing:
            self._settle(args, kwargs)
        if kind is Kind.EXACT:
            return func(*args, **kwargs)
        empty, floating = False, plan.rule is not None and plan.rule.creates
        for tensor in _tensors(args, kwargs):
            empty = empty or not tensor.numel()
            floating = floating or tensor.is_floating_point() or tensor.is_complex()
        if not floating:
            # Nothing to round.
            return func(*args, **kwargs)
        return self._round(plan, func, args, kwargs, storing, empty)

    def _carry(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], storing: bool) -> Any:
        if not storing:
            return func(*args, **kwargs)
        # What is written to does not hand on its own pending store.
        sources = args[1:] if func.name().startswith("aten::copy") else args
        carried = any(t.untyped_storage()._cdata in self._pending for t in _tensors(sources, kwargs))
        result = func(*args, **kwargs)
        if carried:
            self._defer(result)
        return result

    def _cast(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], storing: bool) -> Any:
        x, dtype = args[0], kwargs.get("dtype")
        if x.is_floating_point() and dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            if storing:
                self._settle(args, {})
            return self.noise.decide(lambda: func(*args, **kwargs))
        narrow = narrowed_by(x, kwargs)
        if narrow is None:
            return self._carry(func, args, kwargs, storing)
        result = self._carry(func, args, {**kwargs, "dtype": torch.float64}, storing)
        unit = format_of(narrow).u
        if self.noise.scale and unit > max(self.noise.precision.u, self.noise.precision.store):
            result.copy_(self.noise.jittered(result, 0.5 * unit / self.noise.precision.u))
        return result

    def _round(
        self, plan: Plan, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], storing: bool, empty: bool
    ) -> Any:
        targets = [kwargs[name] for name in plan.out] or ([args[0]] if plan.inplace else [])
        inputs = {key: value for key, value in kwargs.items() if key not in plan.out} if plan.out else kwargs
        stores = None
        if empty:
            # Rules need not know empty operands; what is left of such an operation, a scaled bias at most, is basic.
            result = plan.op(*args, **inputs)
            for tensor in _floating(result) if not targets else ():
                self.noise.rounded(tensor)
        elif plan.kind is Kind.RULE:
            assert plan.rule is not None
            result = plan.rule.apply(self.noise, plan.op, *args, **inputs)
            stores = plan.rule.stores
        elif plan.kind is Kind.COMPOSITE:
            assert plan.implementation is not None
            if plan.stepwise:
                with self:
                    result = plan.implementation(*args, **inputs)
            else:
                result = self._recurse(plan.implementation, *args, **inputs)
        else:
            return self._opaque(plan, func, args, kwargs, storing)
        if targets:
            results = result if isinstance(result, (tuple, list)) else (result,)
            for target, value in zip(targets, results, strict=True):
                if target.shape != value.shape and not plan.inplace:
                    target.resize_(value.shape)
                target.copy_(value)
            result = targets[0] if len(targets) == 1 else tuple(targets)
        if storing:
            self._defer(result if stores is None else [result[index] for index in stores])
        return result

    def _opaque(self, plan: Plan, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], storing: bool) -> Any:
        """An operation without a rule: noisy operands, two roundoffs on the result."""
        self.blackbox[plan.name] = None
        noise = self.noise
        written = {a.name for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write}

        def shaken(value: Any) -> Any:
            if isinstance(value, Tensor) and value.is_floating_point() and value.numel():
                return noise.jittered(value, (value.shape[-1] if value.dim() else 1) ** 0.5)
            if isinstance(value, (list, tuple)):
                return [shaken(item) for item in value]
            return value

        names = [a.name for a in func._schema.arguments]
        fresh = [value if name in written else shaken(value) for name, value in zip(names, args, strict=False)]
        result = func(*fresh, **{key: value if key in written else shaken(value) for key, value in kwargs.items()})
        operands = {t.untyped_storage()._cdata for t in _tensors(args, kwargs)}
        for tensor in _floating(result):
            if tensor.untyped_storage()._cdata not in operands or written:
                noise.rounded(tensor, 2.0)
        if storing:
            self._defer(result)
        return result

    def _recurse(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a decomposition under the mode; nothing inside is stored in the storage dtype."""
        self._depth += 1
        try:
            with self:
                return fn(*args, **kwargs)
        finally:
            self._depth -= 1

    # Stores

    def _defer(self, result: Any) -> None:
        for tensor in _floating(result):
            held = self._pending.setdefault(tensor.untyped_storage()._cdata, [])
            # An in-place relu of a pending result, or a slice written twice, is one store.
            if not any(other.data_ptr() == tensor.data_ptr() and other.shape == tensor.shape for other in held):
                held.append(tensor)

    def _settle(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        if not self._pending:
            return
        for tensor in _tensors(args, kwargs):
            for held in self._pending.pop(tensor.untyped_storage()._cdata, ()):
                self.noise.stored(held)

    def begin(self, phase: Phase, *, stream: int = 0, scale: float = 1.0, sign: int = 1) -> None:
        """Forget what is pending and start a run."""
        self._pending.clear()
        self.noise.start(phase, stream=stream, scale=scale, sign=sign)
