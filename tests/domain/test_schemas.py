"""The schema files accept exactly what the dataclasses write, and refuse everything else in one line that says where."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kcbench.domain import verdict as v
from kcbench.domain.contract import Contract
from kcbench.domain.result import LegacyScore, Result
from kcbench.domain.schema import SCHEMAS, load_json, problems, read_json, validate
from kcbench.domain.submission import Submission
from kcbench.domain.timing import FLAGS, Stats, Timing
from kcbench.domain.verdict import Finding, Verdict
from kcbench.errors import KcbenchError
from kcbench.paths import data_root
from kcbench.report.catalog import GATES
from kcbench.report.gap import measure
from kcbench.tasks import list_tasks, load_task

DIGEST = "0" * 64
CONTRACT: dict[str, Any] = {
    "format": 1,
    "task": "level1/linear",
    "title": "Linear",
    "category": "matmul",
    "formula": "y = x W^T + b",
    "axes": {"rows": {"gate": 5, "legacy": 16, "minimum": 0}, "dim": {"gate": 7, "legacy": 64, "maximum": 4096}},
    "init": [{"axis": "dim"}, True, None, [1, 2]],
    "inputs": [
        {"name": "x", "shape": ["rows", "dim"]},
        {"name": "index", "shape": ["rows"], "kind": "index", "bound": "dim"},
        {"name": "scale", "shape": [], "kind": "scalar", "value": 0.5},
    ],
    "parameters": {"weight": {"kind": "normal", "std": 0.1}, "bias": {"kind": "uniform", "low": -1, "high": 1}},
    "dtypes": ["float32", "bfloat16"],
    "precision": "ieee",
    "reduction": {"length": ["dim"], "operands": [["x", 1], ["parameter:weight", 1]], "linear": True, "permutable": True},
    "designed": [
        {"kind": "absorption", "inputs": {"x": {"kind": "absorption", "dim": 1}}, "axes": {"dim": 4096}, "dtypes": ["float32"]},
        {"kind": "identity", "parameters": {"weight": {"kind": "eye", "dims": [0, 1], "at": {"0": 1}, "gain": 2}}},
    ],
    "nonfinite": "exact",
    "subnormals": "preserve",
    "deterministic": True,
    "gradient": {"inputs": ["x"], "parameters": ["weight"], "kinks": [0.0]},
    "reasons": {"CMP-02": "because"},
    "provenance": "hand",
}
RUN: dict[str, Any] = {
    "format": 1,
    "kcbench_version": "0.1.0",
    "created": "2026-01-02T03:04:05+00:00",
    "command": ["kcbench", "eval", "x"],
    "seed": "7",
    "device": {"kind": "cpu", "name": "x86_64"},
    "sandbox": {"tier": "process"},
    "versions": {"python": "3.11.7", "torch": "2.13.0", "triton": None, "cuda": None},
    "tasks": {"level1/softmax": DIGEST},
    "bounds": "stochastic",
    "jobs": 1,
    "legacy": ["kernelbench-v0"],
    "options": {"gates": []},
}

texts = st.text(max_size=20)
numbers = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | numbers | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
facts = st.dictionaries(texts, values, max_size=4)
codes = st.from_regex(r"[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,8})?", fullmatch=True)
findings = st.builds(
    Finding, code=codes, summary=st.text(min_size=1, max_size=20), silent=st.booleans(), probes=st.tuples(texts), evidence=facts
)


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    status = draw(st.sampled_from(v.STATUSES))
    found = draw(st.lists(findings, min_size=1, max_size=3)) if status == v.FAIL else []
    gate = draw(st.sampled_from([gate.id for gate in GATES]))
    notes = tuple(draw(st.lists(texts, max_size=2)))
    return Verdict(gate, status, tuple(found), draw(texts), draw(st.integers(0, 100)), notes, draw(facts))


submissions = st.builds(
    Submission,
    id=st.text(min_size=1, max_size=20),
    task=st.sampled_from(["", "level1/softmax", "level4/gated_delta_rule"]),
    source=texts,
    path=texts,
    author=texts,
    language=st.sampled_from(["torch", "triton", "cuda"]),
    packs_weights=st.booleans(),
    problem=texts,
)
scores = st.builds(
    LegacyScore,
    check=st.sampled_from(["kernelbench-v0", "kernelbench-v1"]),
    compiled=st.booleans(),
    correct=st.booleans(),
    trials=texts,
    max_difference=st.lists(numbers, max_size=5).map(tuple),
    reason=texts,
    size=st.sampled_from(["full", "reduced"]),
)
milliseconds = st.floats(0, 1e7)
stats = st.builds(
    Stats,
    median_ms=milliseconds,
    mean_ms=milliseconds,
    std_ms=milliseconds,
    min_ms=milliseconds,
    max_ms=milliseconds,
    trials=st.integers(1, 1000),
)
timings = st.builds(
    Timing,
    median_ms=milliseconds,
    mean_ms=milliseconds,
    std_ms=milliseconds,
    min_ms=milliseconds,
    max_ms=milliseconds,
    trials=st.integers(1, 1000),
    baselines=st.dictionaries(texts, stats, max_size=2),
    absent=st.dictionaries(texts, texts, max_size=2),
    flags=st.lists(st.sampled_from(sorted(FLAGS)), unique=True).map(tuple),
    device=texts,
    size=st.sampled_from(["full", "capped", "reduced"]),
    host_ms=milliseconds,
    floor_ms=st.none() | milliseconds,
    checked=st.integers(0, 3),
    detail=facts,
)
results = st.builds(
    Result,
    key=st.text(min_size=1, max_size=20),
    submission=submissions.map(Submission.to_json),
    status=st.sampled_from(["scored", "unloadable", "error"]),
    reason=texts,
    legacy=st.lists(scores, max_size=2).map(tuple),
    verdicts=st.lists(verdicts(), max_size=3).map(tuple),
    labels=st.lists(texts, max_size=3, unique=True).map(tuple),
    environment=facts,
    timings=st.dictionaries(texts, st.floats(0, 1e6), max_size=3),
    timing=st.none() | timings,
    untimed=texts,
)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_is_a_schema(name: str) -> None:
    schema = json.loads((data_root() / "schemas" / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] and schema["description"]


def test_no_schema_is_forgotten() -> None:
    assert {path.name for path in (data_root() / "schemas").iterdir()} == {f"{name}.schema.json" for name in SCHEMAS}


@given(submissions)
def test_submission(item: Submission) -> None:
    validate(item.to_json(), "submission", source="test")


@given(verdicts())
def test_verdict(item: Verdict) -> None:
    data = item.to_json()
    validate(data, "verdict", source="test")
    assert Verdict.from_json(json.loads(json.dumps(data))) == item


@given(results)
def test_result(item: Result) -> None:
    data = item.to_json()
    validate(data, "result", source="test")
    assert Result.from_json(json.loads(json.dumps(data))) == item


@given(st.lists(results, max_size=4, unique_by=lambda item: item.id))
def test_report(items: list[Result]) -> None:
    gap = measure(items, "kernelbench-v0").to_json()
    validate({"format": 1, "run": RUN, "results": [item.to_json() for item in items], "gap": gap}, "report", source="test")
    validate({"format": 1, "run": RUN, "results": [], "gap": None}, "report", source="test")


def test_run() -> None:
    validate(RUN, "run", source="run.json")


def test_contract() -> None:
    validate(CONTRACT, "contract", source="test")
    contract = Contract.from_json(CONTRACT)
    assert contract.input("x").recipe == {"kind": "normal"}
    assert contract.init_args({"dim": 3}) == (3, True, None, [1, 2])


@pytest.mark.parametrize("name", list_tasks())
def test_shipped_task(name: str) -> None:
    validate(load_task(name).to_json(), "task", source=name)


def test_verdicts_know_all_gates() -> None:
    schema = json.loads((data_root() / "schemas" / "verdict.schema.json").read_text())
    assert schema["properties"]["gate"]["enum"] == [gate.id for gate in GATES]
    assert tuple(schema["properties"]["status"]["enum"]) == v.STATUSES


def test_results_know_all_flags() -> None:
    schema = json.loads((data_root() / "schemas" / "result.schema.json").read_text())
    assert schema["$defs"]["timing"]["properties"]["flags"]["items"]["enum"] == list(FLAGS)


@given(results)
def test_results_of_before_there_was_a_timing_are_read(item: Result) -> None:
    data = dataclasses.replace(item, timing=None, untimed="").to_json()
    old = {key: value for key, value in data.items() if key not in ("timing", "untimed")}
    validate(old, "result", source="test")
    assert Result.from_json(old) == Result.from_json(data)


def test_findings_belong_to_fail() -> None:
    passed = Verdict("CMP-01", v.PASS).to_json()
    finding = Finding("value", "wrong").to_json()
    assert str(problems({**passed, "findings": [finding]}, "verdict")[0]).startswith("$.findings: expected at most 0 item(s)")
    assert str(problems({**passed, "status": "FAIL"}, "verdict")[0]) == "$.findings: expected at least 1 item(s), found []"


def _set(*path: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        place: Any = data
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


def _drop(*path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        place: Any = data
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return change


FORM = [
    (_set("format", value=2), "$.format: expected 1, found 2"),
    (_drop("axes"), "$: expected the key 'axes', found only"),
    (_set("axes", "dim", "gate", value=0), "$.axes.dim.gate: expected a number of at least 1, found 0"),
    (_set("axes", "dim", "gate", value="7"), '$.axes.dim.gate: expected a whole number, found "7"'),
    (_set("axes", "dim", "gate", value=7.5), "$.axes.dim.gate: expected a whole number, found 7.5"),
    (
        _set("axes", "dim", "varis", value=True),
        "$.axes.dim: expected only keys that the format has, found 'varis' (did you mean 'varies'?)",
    ),
    (_set("axes", value={}), "$.axes: expected at least 1 key(s), found {}"),
    (_set("inputs", 0, "shape", value="rows"), '$.inputs[0].shape: expected an array, found "rows"'),
    (_set("inputs", 0, "name", value="1x"), "$.inputs[0].name: expected text that matches"),
    (_set("dtypes", 0, value="fp32"), "$.dtypes[0]: expected one of float64, float32, float16, bfloat16, found"),
    (_set("dtypes", value=["float32", "float32"]), "$.dtypes: expected items that differ from each other"),
    (_set("precision", value="iee"), "(did you mean 'ieee'?)"),
    (_set("parameters", "bias", "kind", value="norml"), "(did you mean 'normal'?)"),
    (_set("reduction", value=3), "$.reduction: expected an object, found 3"),
    (_set("reduction", "operands", 0, value=["x"]), "$.reduction.operands[0]: expected at least 2 item(s)"),
    (_set("init", 0, value={"axs": "dim"}), "$.init[0]: expected"),
    (_set("init", 0, value={}), "$.init[0]: expected at least 1 key(s), found {}"),
    (_set("init", 0, value={"axis": "dim", "tuple": []}), "$.init[0]: expected at most 1 key(s)"),
    (_set("init", 0, value={"axis": "2 * dim"}), "$.init[0].axis: expected text that matches"),
    (_set("init", 0, value={"tuple": 3}), "$.init[0].tuple: expected an array, found 3"),
    (_set("inputs", 0, "shape", 0, value="2*"), "$.inputs[0].shape[0]: expected text that matches"),
    (_set("inputs", 0, "kind", value="giben"), "(did you mean 'given'?)"),
    (_set("untestable", value={"CMP-01": ""}), "$.untestable['CMP-01']: expected"),
    (_set("deterministic", value=None), "$.deterministic: expected true or false, found null"),
    (_set("memory_factor", value=0), "$.memory_factor: expected a number above 0, found 0"),
]
SENSE = [
    (_set("axes", "dim", "legacy", value=8192), "$.axes.dim.legacy: expected a size of at least 1 and at most 4096, found 8192"),
    (
        _set("axes", "dim", "multiple_of", value=4),
        "$.axes.dim.gate: expected a size of at least 1 and at most 4096, a multiple of 4, found 7",
    ),
    (_set("axes", "dim", "values", value=[64, 4096]), "$.axes.dim.gate: expected one of the sizes 64, 4096, found 7"),
    (_set("axes", "dim", "minimum", value=5000), "$.axes.dim.maximum: expected at least minimum = 5000, found 4096"),
    (_set("init", 0, value={"axis": "dem"}), "$.init[0].axis: expected an axis (rows, dim), found 'dem'"),
    (_set("init", 0, value={"axis": "2*dim*dem"}), "$.init[0].axis: expected an axis (rows, dim), found 'dem'"),
    (_set("init", 0, value={"tuple": [3, {"axis": "dem"}]}), "$.init[0][1].axis: expected an axis (rows, dim), found 'dem'"),
    (_set("init", 0, value=[1, [{"axis": "dem"}]]), "$.init[0][1][0].axis: expected an axis (rows, dim), found 'dem'"),
    (_set("inputs", 0, "shape", 0, value="row"), "$.inputs[0].shape[0]: expected an axis (rows, dim), found 'row'"),
    (_set("inputs", 0, "shape", 0, value="3*row"), "$.inputs[0].shape[0]: expected an axis (rows, dim), found 'row'"),
    (_set("inputs", 1, "name", value="x"), "$.inputs[1].name: expected a name that no other input has, found 'x' again"),
    (_drop("inputs", 1, "bound"), "$.inputs[1]: expected the key 'bound' for an index, found none"),
    (_set("inputs", 1, "bound", value="height"), "$.inputs[1].bound: expected an axis (rows, dim), found 'height'"),
    (_drop("inputs", 2, "value"), "$.inputs[2]: expected the key 'value' for a scalar, found none"),
    (_set("inputs", 2, "shape", value=["dim"]), "$.inputs[2].shape: expected [] for a scalar, found ['dim']"),
    (_set("inputs", 0, "bound", value=3), "$.inputs[0].bound: expected a bound only for an index, found 3 for a float"),
    (
        _set("inputs", 0, "recipe", value={"kind": "unit", "dim": 2}),
        "$.inputs[0].recipe.dim: expected a dimension of a tensor with 2",
    ),
    (
        _set("inputs", 0, "recipe", value={"kind": "constant"}),
        "$.inputs[0].recipe: expected the option 'value' of the kind constant",
    ),
    (
        _set("inputs", 0, "recipe", value={"kind": "normal", "sigma": 1}),
        "$.inputs[0].recipe.sigma: expected an option of the kind normal",
    ),
    (_set("parameters", "bias", "low", value=2), "$.parameters.bias.high: expected a number of at least low = 2, found 1"),
    (_set("reduction", "length", 0, value="dem"), "$.reduction.length[0]: expected an axis (rows, dim), found 'dem'"),
    (
        _set("reduction", "operands", 0, value=["y", 1]),
        "$.reduction.operands[0][0]: expected an input (x, index, scale), found 'y'",
    ),
    (
        _set("reduction", "operands", 0, value=["x", 2]),
        "$.reduction.operands[0][1]: expected a dimension of x, which has 2, found 2",
    ),
    (
        _set("reduction", "operands", 1, value=["parameter:w", 1]),
        "$.reduction.operands[1][0]: expected a parameter (weight, bias)",
    ),
    (
        _set("designed", 0, "inputs", value={"y": {"kind": "signs"}}),
        "$.designed[0].inputs.y: expected an input (x, index, scale), found 'y'",
    ),
    (
        _set("designed", 0, "axes", "dim", value=5000),
        "$.designed[0].axes.dim: expected a size of at least 1 and at most 4096, found 5000",
    ),
    (
        _set("designed", 0, "dtypes", 0, value="float16"),
        "$.designed[0].dtypes[0]: expected a dtype of the contract (float32, bfloat16)",
    ),
    (
        _set("designed", 1, "parameters", value={"w": {"kind": "signs"}}),
        "$.designed[1].parameters.w: expected a parameter (weight, bias)",
    ),
    (_set("gradient", "inputs", 0, value="index"), "$.gradient.inputs[0]: expected a floating input (x), found 'index'"),
    (_set("gradient", "parameters", 0, value="w"), "$.gradient.parameters[0]: expected a parameter (weight, bias), found 'w'"),
    (_set("gradient", value={}), "$.gradient: expected at least one input or parameter, found none"),
]


@pytest.mark.parametrize(("change", "expected"), FORM + SENSE, ids=[expected for _, expected in FORM + SENSE])
def test_broken_contract(change: Callable[[dict[str, Any]], None], expected: str, tmp_path: Path) -> None:
    data = copy.deepcopy(CONTRACT)
    change(data)
    found = [str(item) for item in problems(data, "contract")]
    assert any(expected in line for line in found), found
    path = tmp_path / "contract.json"
    path.write_text(json.dumps(data))
    with pytest.raises(KcbenchError) as error:
        load_json(path, "contract")
    assert str(error.value).startswith(f"{path}: $")
    assert "\n" not in str(error.value)


def test_task_names_the_path_inside_the_contract() -> None:
    contract = copy.deepcopy(CONTRACT)
    contract["gradient"]["inputs"] = ["y"]
    task = {"id": "level1/linear", "title": "t", "category": "matmul", "formula": "f", "code": "c", "contract": contract}
    assert str(problems(task, "task")[0]).startswith("$.contract.gradient.inputs[0]: ")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"a": 1', "line 1, column 8: not JSON: expecting ',' delimiter"),
        (b"", "line 1, column 1: not JSON: expecting value"),
        (b'{"a": NaN}', "not JSON: NaN is not a JSON number"),
        (b'{"a": 1, "a": 2}', "not JSON: the key 'a' appears twice in one object"),
        (b'{"a": "\xff"}', "expected UTF-8 text, found the byte 0xff at offset 7"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_not_json(content: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "contract.json"
    path.write_bytes(content)
    with pytest.raises(KcbenchError) as error:
        read_json(path)
    assert str(error.value).startswith(f"{path}: ")
    assert expected in str(error.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(KcbenchError, match="cannot be read: No such file or directory"):
        read_json(tmp_path / "contract.json")
    with pytest.raises(KcbenchError, match="cannot be read: Is a directory"):
        read_json(tmp_path)


@example({"\n": None, "\x85": {"\u2028": 0}})
@given(values)
def test_any_data_gives_one_line(data: Any) -> None:
    for name in SCHEMAS:
        for problem in problems(data, name):
            assert problem.path.startswith("$")
            assert len(str(problem).splitlines()) == 1
