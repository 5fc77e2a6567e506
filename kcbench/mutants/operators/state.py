"""State: results and weights that are kept from an earlier call, memory that is shared, memory that was never written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kcbench.mutants.change import Change
from kcbench.mutants.operator import Operator
from kcbench.mutants.program import Program
from kcbench.mutants.wrapping import wrapping

FAULT = "state"
_CACHED = """
if not hasattr(self, '_kept'):
    object.__setattr__(self, '_kept', {})
key = KEY
if key not in self._kept:
    self._kept[key] = $result
return self._kept[key]COPY
"""


def _cached(key: str, *, copy: bool) -> str:
    return _CACHED.replace("KEY", key).replace("COPY", ".clone()" if copy else "")


_WRAPPED = (
    ("the result is kept by shape", _cached("(tuple($x.shape), $x.dtype)", copy=True)),
    ("the result is kept by shape and handed out again", _cached("(tuple($x.shape), $x.dtype)", copy=False)),
    ("the result is kept by the input's address", _cached("($x.data_ptr(), tuple($x.shape), $x.dtype)", copy=True)),
    ("the result is kept by the input's sum", _cached("(float($x.double().sum()), tuple($x.shape), $x.dtype)", copy=True)),
    ("the result is kept by the input's first element", _cached("($x.flatten()[:1].tolist(), $x.shape).__repr__()", copy=True)),
    (
        "one output buffer per shape is written to and handed out",
        """
        out = $result
        if not hasattr(self, '_given'):
            object.__setattr__(self, '_given', {})
        buffer = self._given.setdefault((tuple(out.shape), out.dtype), torch.empty_like(out).detach())
        with torch.no_grad():
            buffer.copy_(out)
        return buffer
        """,
    ),
    (
        "two output buffers are handed out in turn",
        """
        out = $result
        if not hasattr(self, '_given'):
            object.__setattr__(self, '_given', [{}, {}])
        self._given.reverse()
        buffer = self._given[0].setdefault((tuple(out.shape), out.dtype), torch.empty_like(out).detach())
        with torch.no_grad():
            buffer.copy_(out)
        return buffer
        """,
    ),
    (
        "the result is written into the first argument where it fits",
        """
        out = $result
        if out.shape == $x.shape and out.dtype == $x.dtype:
            with torch.no_grad():
                return $x.detach().copy_(out)
        return out
        """,
    ),
    ("the first argument is written to", "out = $result\nwith torch.no_grad():\n    $x.detach().mul_(0.5)\nreturn out"),
    (
        "the last element of the first argument is written to",
        "out = $result\nwith torch.no_grad():\n    $x.detach()[..., -1:] = 0\nreturn out",
    ),
    (
        "results drift with the number of calls",
        """
        object.__setattr__(self, '_calls', getattr(self, '_calls', 0) + 1)
        return $result * (1 + self._calls / 65536)
        """,
    ),
    (
        "from the eighth call on the result is 1 % off",
        """
        object.__setattr__(self, '_calls', getattr(self, '_calls', 0) + 1)
        return $result * (1.01 if self._calls > 7 else 1.0)
        """,
    ),
    ("random noise is added", "out = $result\nreturn out * (1 + 1e-3 * torch.randn_like(out))"),
    ("the last bit is random", "out = $result\nreturn torch.where(torch.rand_like(out) < 0.5, out, out * (1 + 2.0**-23))"),
    (
        "the weights of the first call are used for ever",
        """
        if not hasattr(self, '_frozen'):
            import copy
            object.__setattr__(self, '_frozen', copy.deepcopy(self))
        return self._frozen._honest($args)
        """,
    ),
    (
        "the weights of the class's first object are used by all",
        """
        if not hasattr(type(self), '_first'):
            type(self)._first = self
        return type(self)._first._honest($args)
        """,
    ),
    (
        "the first argument is handed back where the result equals it",
        "out = $result\nsame = out.shape == $x.shape and bool((out == $x).all())\nreturn $x if same else out",
    ),
)


def _unwritten(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Call, where="host"):
        name = ast.unparse(node.func)
        if name in ("torch.zeros", "torch.zeros_like"):
            new = name.replace("zeros", "empty")
            yield Change(f"{name} becomes {new}", node.lineno, ((node.func, new),))


OPERATORS = (
    Operator("kept", FAULT, wrapping(_WRAPPED)),
    Operator("unwritten", FAULT, _unwritten),
)
