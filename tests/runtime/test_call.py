"""What a call does and what is seen of it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcbench.domain.observation import Alias
from kcbench.runtime import Call, ModelSpec, TensorArg, WorkerSession
from kcbench.runtime.call import LAYOUTS
from kcbench.runtime.worker.frames import ITEMSIZE
from tests.runtime.conftest import ask, module, value

Start = Callable[..., WorkerSession]
X = torch.arange(12, dtype=torch.float32).reshape(3, 4)


# Values


@pytest.mark.parametrize("dtype", sorted(ITEMSIZE))
@pytest.mark.parametrize("shape", [(3, 4), (), (0, 3)])
def test_every_dtype_comes_back_bit_for_bit(start: Start, dtype: str, shape: tuple[int, ...]) -> None:
    count = math.prod(shape) * ITEMSIZE[dtype]
    data = bytes(i % 2 for i in range(count)) if dtype == "bool" else hashlib.shake_128(dtype.encode()).digest(count)
    tensor = (
        torch.frombuffer(bytearray(data) or bytearray(1), dtype=torch.uint8)[:count].view(getattr(torch, dtype)).reshape(shape)
    )
    seen = start("return x.clone()").call(ask(tensor))
    assert seen.ok, seen
    (record,) = seen.outputs
    assert (record.dtype, record.shape, record.data, record.device) == (dtype, shape, data, "cpu")


@pytest.fixture
def identity(start: Start) -> WorkerSession:
    return start("return x.clone()")


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 4), max_size=4), st.sampled_from(LAYOUTS), st.data())
def test_a_layout_changes_strides_and_never_values(
    identity: WorkerSession, shape: list[int], layout: str, data: st.DataObject
) -> None:
    dtype = data.draw(st.sampled_from([torch.float32, torch.bfloat16, torch.int64, torch.bool]))
    tensor = (torch.arange(math.prod(shape)) % 7).reshape(shape).to(dtype)
    seen = identity.call(ask(tensor, layout=layout))
    assert seen.ok and not seen.mutated and torch.equal(value(seen.outputs[0]), tensor)


@pytest.mark.parametrize(
    ("layout", "shape", "expected"),
    [
        ("contiguous", (3, 4), "(4, 1) 0 True"),
        ("transposed", (3, 4), "(1, 3) 0 False"),
        ("transposed", (2, 3, 4), "(12, 1, 3) 0 False"),
        ("transposed", (4,), "(2,) 0 False"),
        ("strided", (3, 4), "(8, 2) 0 False"),
        ("offset", (3, 4), "(4, 1) 3 True"),
        ("channels_last", (2, 3, 4, 5), "(60, 1, 15, 3) 0 False"),
        ("channels_last", (2, 3, 4, 5, 6), "(360, 1, 90, 18, 3) 0 False"),
        ("channels_last", (3, 4), "(4, 1) 0 True"),
    ],
)
def test_layouts_are_what_they_say(start: Start, layout: str, shape: tuple[int, ...], expected: str) -> None:
    session = start("print(x.stride(), x.storage_offset(), x.is_contiguous(), x._is_view(), flush=True)\nreturn x + 0")
    assert session.call(ask(torch.zeros(shape), layout=layout)).ok
    assert session.log == f"{expected} False\n"


def test_memory_around_a_strided_input_is_nan_and_writing_there_is_seen(start: Start) -> None:
    session = start("around = x.as_strided((7,), (1,), 0).clone()\nx.as_strided((7,), (1,), 0)[1] = 5\nreturn around")
    seen = session.call(ask(torch.ones(4), layout="strided"))
    assert value(seen.outputs[0]).isnan().tolist() == [False, True] * 3 + [False]
    assert seen.mutated == ("a",)


def test_scalars_are_passed_as_they_are(start: Start) -> None:
    session = start(file=module("return x * n if flag is True else x", args="x, n, flag"))
    assert torch.equal(value(session.call(ask(X, 2.5, True)).outputs[0]), X * 2.5)


@pytest.mark.parametrize(
    ("result", "structure", "count"),
    [
        ("x, x + 1", "tuple", 2),
        ("[x]", "list", 1),
        ("()", "tuple", 0),
        ("None", "other:NoneType", 0),
        ("{'a': x}", "other:dict", 0),
        ("(x, 3)", "other:tuple of Tensor, int", 0),
        ("[x] * 100", "other:list of 100 items", 0),
        ("x.numpy()", "other:ndarray", 0),
    ],
)
def test_the_structure_of_the_output_is_reported(start: Start, result: str, structure: str, count: int) -> None:
    seen = start(f"return {result}").call(ask(X, repeats=2))
    assert seen.ok and seen.structure == structure and len(seen.outputs) == count and len(seen.repeats) == 2


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("x.to_sparse()", "layout"),
        ("x.to('meta')", "meta"),
        ("torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)", "dtype"),
        ("torch.nested.nested_tensor([x, x])", "output 0"),
    ],
)
def test_outputs_that_cannot_be_read_are_said_to_be(start: Start, result: str, message: str) -> None:
    seen = start(f"return {result}").call(ask(X))
    assert seen.status == "raised" and seen.raised is not None and message in seen.raised.message


def test_views_conjugates_and_expanded_outputs_are_read_as_they_look(start: Start) -> None:
    session = start("return x.t(), x[:, :1].expand(3, 4), torch.complex(x, x).conj(), (x + 0).t()")
    seen = session.call(ask(X))
    assert [record.stride for record in seen.outputs[:2]] == [(1, 4), (4, 0)]
    got = [value(record) for record in seen.outputs]
    assert torch.equal(got[0], X.t()) and torch.equal(got[1], X[:, :1].expand(3, 4)) and torch.equal(got[2], torch.complex(X, -X))


def test_classes_of_outputs_are_named(start: Start) -> None:
    head = """
    class Lazy(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise RuntimeError("computed later")
    class Tensor(torch.Tensor): pass
    """
    seen = start("return x.as_subclass(Lazy), x.as_subclass(Tensor), nn.Parameter(x.clone()), x + 0", head=head).call(ask(X))
    names = [record.type_name for record in seen.outputs]
    assert names[0] == "Lazy" and names[1].endswith(".Tensor") and names[2:] == ["Parameter", "Tensor"]
    assert torch.equal(value(seen.outputs[0]), X)


# Models and parameters

LINEAR = module(
    "return x @ self.weight.t() + self.bias + self.shift",
    init="""
    self.weight = nn.Parameter(torch.randn(*init))
    self.bias = nn.Parameter(torch.randn(init[0]))
    self.register_buffer("shift", torch.zeros(init[0]))
    self.register_buffer("count", torch.zeros((), dtype=torch.int64))
    """,
)


def test_the_model_is_built_under_the_seed_and_cast(start: Start) -> None:
    session = start(file=LINEAR)
    seen = session.call(ask(X, init=(2, 4)))
    torch.manual_seed(42)
    weight, bias = torch.randn(2, 4), torch.randn(2)
    assert torch.equal(value(seen.outputs[0]), X @ weight.t() + bias)
    half = session.call(ask(X.bfloat16(), init=(2, 4), dtype="bfloat16"))
    assert half.ok and half.outputs[0].dtype == "bfloat16"


def test_constructor_arguments_keep_their_types(start: Start) -> None:
    session = start(file=module("return x", init="print(init, flush=True)"))
    init = (1, 2.5, None, True, "text", [1, (2, 3)], {"a": (4,)}, float("inf"))
    assert session.call(ask(X, init=init)).ok
    assert session.log == f"{init}\n"
    with pytest.raises(TypeError, match="constructor argument"):
        session.call(ask(X, init=(object(),)))


def test_an_exception_in_the_constructor_says_so(start: Start) -> None:
    seen = start(file=module(init="raise ValueError('no')")).call(ask(X))
    assert (seen.status, seen.detail) == ("raised", "in the constructor")


def test_parameters_are_copied_in_place_and_read_anew(start: Start) -> None:
    session = start(file=LINEAR)
    for seed in (1, 2, 1):
        torch.manual_seed(seed)
        parameters = {"weight": torch.randn(2, 4), "bias": torch.randn(2), "shift": torch.randn(2), "count": torch.tensor(seed)}
        seen = session.call(ask(X, init=(2, 4), parameters=parameters))
        expected = X @ parameters["weight"].t() + parameters["bias"] + parameters["shift"]
        assert torch.equal(value(seen.outputs[0]), expected) and not seen.missing_parameters


def test_a_stale_copy_of_the_weights_shows(start: Start) -> None:
    body = "if not hasattr(self, 'packed'): self.packed = self.weight.clone()\nreturn x * self.packed"
    session = start(file=module(body, init="self.weight = nn.Parameter(torch.zeros(4))"))
    results = [session.call(ask(X, parameters={"weight": torch.full((4,), float(n))})) for n in (2, 3)]
    assert torch.equal(value(results[1].outputs[0]), X * 2)


def test_parameters_without_a_place_are_named(start: Start) -> None:
    parameters = {"weight": torch.ones(2, 4), "bias": torch.ones(3), "gamma": torch.ones(1)}
    session = start(file=LINEAR)
    built = session.call(ask(X, init=(2, 4)))
    seen = session.call(ask(X, init=(2, 4), parameters=parameters))
    assert seen.ok and seen.missing_parameters == ("bias", "gamma")
    # The others stay what they were, too: half of them would make a model that nobody asked for.
    assert value(seen.outputs[0]).equal(value(built.outputs[0]))


def test_an_entry_that_is_a_function_has_no_parameters(start: Start) -> None:
    session = start(file="import torch\nclass ModelNew:\n    def __call__(self, x): return x + 1")
    seen = session.call(ask(X, parameters={"weight": torch.ones(1)}))
    assert seen.ok and seen.missing_parameters == ("weight",)


def test_parameter_bytes_travel_once(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcbench.runtime.session.KEPT_PARAMETERS", 100)
    session = start(file=LINEAR)
    sent: list[int] = []
    encode = session._encode

    def counted(call: Call, keep: list[torch.Tensor]) -> object:
        found = encode(call, keep)
        sent.append(len(found[0]["new"]))
        return found

    monkeypatch.setattr(session, "_encode", counted)
    sets = [{"weight": torch.full((2, 4), float(n))} for n in range(8)]
    for index in (0, 0, 1, 1, 5, 6, 7, 0):
        seen = session.call(ask(X, init=(2, 4), parameters=sets[index]))
        assert seen.ok
        assert session.call(ask(X, init=(2, 4), parameters={"weight": sets[index]["weight"].clone()})).outputs == seen.outputs
    # Old ones were dropped on both sides, so the first has to travel again.
    assert sent[0::2] == [1, 0, 1, 0, 1, 1, 1, 1] and sent[1::2] == [0] * 8


def test_what_is_too_large_to_travel_is_said_to_be_and_harms_nothing(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    session = start("return x.repeat(4)")
    assert session.call(ask(torch.zeros(1))).ok
    monkeypatch.setattr("kcbench.runtime.worker.frames.MAX_PAYLOAD", 4000)
    weights = {"weight": torch.ones(900)}
    seen = session.call(ask(torch.zeros(200), parameters=weights))
    assert seen.status == "not-run" and "too large" in seen.detail
    seen = session.call(ask(torch.zeros(10), parameters=weights))
    assert seen.ok and seen.missing_parameters == ("weight",)
    # The worker was forked before; the grader refuses what is beyond its own limit.
    assert session.call(ask(torch.zeros(300))).detail == "broke the protocol"


def test_a_tensor_that_was_written_to_is_another_tensor(start: Start) -> None:
    session, weight = start(file=LINEAR), torch.ones(2, 4)
    first = session.call(ask(X, init=(2, 4), parameters={"weight": weight}))
    weight.mul_(2)
    assert session.call(ask(X, init=(2, 4), parameters={"weight": weight})).outputs != first.outputs


def test_instances_are_shared_by_name_and_constructor(start: Start) -> None:
    session = start("self.n = getattr(self, 'n', 0) + 1\nreturn x * 0 + self.n")
    calls = [ask(X), ask(X), ask(X, instance="fresh"), ask(X, init=(1,)), ask(X)]
    assert [float(value(session.call(call).outputs[0])[0, 0]) for call in calls] == [1, 2, 1, 1, 3]


# Repeats, poison, random numbers


def test_repeats_are_digested_and_the_first_that_differs_is_kept(start: Start) -> None:
    session = start("self.n = getattr(self, 'n', 0) + 1\nreturn x + (self.n == 3)")
    seen = session.call(ask(X, repeats=5))
    assert [digest == seen.repeats[0] for digest in seen.repeats] == [True, True, False, True, True]
    assert torch.equal(value(seen.outputs[0]), X) and torch.equal(value(seen.differing[0]), X + 1)
    quiet = session.call(ask(X, repeats=3))
    assert len(set(quiet.repeats)) == 1 and not quiet.differing


def test_random_numbers_follow_the_seed_of_the_call_which_counts_up(start: Start) -> None:
    session = start("return torch.rand(4)")
    first, second = session.call(ask(X, repeats=2, seed=7)), session.call(ask(X, seed=8))
    torch.manual_seed(7)
    assert torch.equal(value(first.outputs[0]), torch.rand(4))
    assert first.repeats[0] != first.repeats[1] == second.repeats[0]


@pytest.mark.parametrize("size", [1, 16, 1000, 100_000, 2_000_000])
def test_memory_that_was_not_written_shows(start: Start, size: int) -> None:
    session = start("return torch.empty_like(x), x + 0")
    seen = session.call(ask(torch.zeros(size), repeats=3, disturb=("dirty",)))
    # The C library reuses blocks below half a KiB in ways of its own; that they differ is what can be relied on.
    assert size < 128 or value(seen.outputs[0]).isnan().float().mean() > 0.9
    assert len(set(seen.repeats)) >= (3 if size >= 128 else 2)


def test_dirty_memory_changes_nothing_for_an_honest_kernel(start: Start) -> None:
    seen = start("y = torch.empty_like(x)\ny.copy_(x)\nreturn y").call(
        ask(X, repeats=6, disturb=("dirty", "busy"), stream="side")
    )
    assert len(set(seen.repeats)) == 1 and seen.peak_bytes is None and seen.host_copies is None


# Aliases and mutation

TRESPASS = """
import gc
y = x + 1
for item in gc.get_objects():
    if type(item) is torch.Tensor and item.dtype is torch.uint8 and item.shape == (512,):
        item[7] = 0
return y
"""
"""Writes to the memory that lies behind what a call is given, as a store that runs over would."""


def test_what_is_written_beside_the_memory_of_a_call_is_seen(start: Start) -> None:
    session = start(TRESPASS)
    assert session.call(ask(X)).outside and session.call(ask(X)).outside
    assert not start("return x + 1").call(ask(X, repeats=3)).outside


@pytest.mark.parametrize(
    ("result", "aliases"),
    [
        ("x", [("input", "a")]),
        ("x[1:].t()", [("input", "a")]),
        ("x.detach()", [("input", "a")]),
        ("self.weight", [("parameter", "weight")]),
        ("self.table[0]", [("parameter", "table")]),
        ("x + 0", []),
        ("x[:0]", [("input", "a")]),
        ("torch.empty(0)", []),
        ("torch.from_numpy(x.numpy()[1:])", [("input", "a")]),
    ],
)
def test_outputs_that_share_memory_are_seen(start: Start, result: str, aliases: list[tuple[str, str]]) -> None:
    init = "self.weight = nn.Parameter(torch.ones(3, 4))\nself.register_buffer('table', torch.ones(2, 3, 4))"
    seen = start(file=module(f"return {result}", init=init)).call(ask(X))
    assert seen.ok and [(alias.kind, alias.name) for alias in seen.aliases] == aliases


def test_a_recycled_output_buffer_is_seen_within_and_across_calls(start: Start) -> None:
    session = start(
        "self.out = getattr(self, 'out', None) if hasattr(self, 'out') else torch.empty_like(x)\nself.out.copy_(x)\nreturn self.out"
    )
    assert session.call(ask(X)).aliases == ()
    assert session.call(ask(X)).aliases == (Alias(0, "output", "output 0 of the previous call"),)
    fresh = session.call(ask(X, instance="fresh", repeats=2))
    assert fresh.aliases == (Alias(0, "output", "output 0 of the previous call"),)


def test_two_alternating_buffers_are_seen(start: Start) -> None:
    body = "self.n = getattr(self, 'n', 0) + 1\nout = self.outs[self.n % 2]\nout.copy_(x)\nreturn out"
    session = start(file=module(body, init="self.outs = [torch.empty(3, 4), torch.empty(3, 4)]"))
    assert [alias.name for alias in session.call(ask(X, repeats=3)).aliases] == ["output 0 of 2 calls ago"]


@pytest.mark.parametrize("body", ["x.add_(1)\nreturn x * 1", "x[0, 0] = -0.0\nreturn x * 1"])
def test_inputs_that_were_written_to_are_named(start: Start, body: str) -> None:
    seen = start(file=module(body, args="x, y")).call(ask(X, X))
    assert seen.mutated == ("a",)


# Gradients

LEAKY = module(
    "return torch.where(x > 0, x, x * self.slope), x.sum(1)",
    init="self.slope = nn.Parameter(torch.tensor([0.5]))\nself.unused = nn.Parameter(torch.ones(1))",
)


def test_gradients_of_inputs_and_parameters(start: Start) -> None:
    x, v, w = torch.randn(3, 4), torch.randn(3, 4), torch.randn(3)
    call = Call(
        ModelSpec((), "float32"),
        ("x",),
        (TensorArg(x, "transposed", True),),
        gradients=("x",),
        parameter_gradients=("slope", "unused"),
        cotangents=(v, w),
        repeats=2,
    )
    seen = start(file=LEAKY).call(call)
    assert seen.ok and seen.gradient_status == "ok" and len(set(seen.repeats)) == 1
    leaf, slope = x.clone().requires_grad_(), torch.tensor([0.5], requires_grad=True)
    expected = torch.autograd.grad([torch.where(leaf > 0, leaf, leaf * slope), leaf.sum(1)], [leaf, slope], [v, w])
    got = seen.gradients
    assert set(got) == {"input:x", "parameter:slope", "parameter:unused"} and got["parameter:unused"] is None
    assert torch.equal(value(got["input:x"]), expected[0])  # type: ignore[arg-type]
    torch.testing.assert_close(value(got["parameter:slope"]), expected[1])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ("x * 2", "ok"),
        ("x.detach() * 2", "no-grad"),
        ("torch.zeros(3, 4)", "no-grad"),
        ("x.round().long()", "no-grad"),
        ("Bad.apply(x)", "raised"),
        ("x[:2] * 1", "raised"),
        ("(x * 1, x * 2)", "raised"),
    ],
)
def test_missing_and_failing_gradients_are_told_apart(start: Start, result: str, status: str) -> None:
    head = """
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x): return x * 2
        @staticmethod
        def backward(ctx, g): raise ValueError("no backward")
    """
    seen = start(f"return {result}", head=head).call(ask(X, gradients=("a",), cotangents=(torch.ones(3, 4),)))
    assert seen.ok and seen.outputs and seen.gradient_status == status
    assert (seen.raised is not None) == (status == "raised") and (seen.gradients != {}) == (status == "ok")


def test_grad_mode_is_on_only_where_gradients_are_asked_for(start: Start) -> None:
    session = start("return x * 0 + torch.is_grad_enabled() + 2 * x.requires_grad")
    plain = session.call(ask(X))
    asked = session.call(ask(X, gradients=("a",), cotangents=(X,)))
    assert float(value(plain.outputs[0])[0, 0]) == 0 and float(value(asked.outputs[0])[0, 0]) == 3
    assert plain.gradient_status == "not-asked"


# Tampering

PATCH = """
import hashlib, json, builtins
def nothing(*args, **kwargs): return torch.zeros(3, 4)
for name in ("detach", "contiguous", "to", "cpu", "data_ptr", "clone", "untyped_storage", "copy_", "numpy", "view", "requires_grad_"):
    setattr(torch.Tensor, name, nothing)
for name in ("empty", "frombuffer", "as_strided", "manual_seed", "equal", "no_grad", "is_grad_enabled", "set_grad_enabled"):
    setattr(torch, name, nothing)
torch.Tensor.shape = torch.Tensor.dtype = property(lambda self: None)
hashlib.sha256 = json.dumps = json.loads = nothing
torch.autograd.grad = nothing
"""


def test_patching_torch_after_the_import_does_not_change_what_is_read(start: Start) -> None:
    with start("return x * 2") as session:
        expected = session.call(ask(X, repeats=2))
    with start("return x * 2", head=PATCH) as session:
        seen = session.call(ask(X, repeats=2))
    assert seen.ok and seen.outputs == expected.outputs and seen.repeats == expected.repeats
    leaking = start("return x", head=PATCH).call(ask(X))
    assert leaking.aliases == (Alias(0, "input", "a"),)
