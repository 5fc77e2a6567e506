"""KernelBench checkouts, run folders and mapping files: every kernel is accounted for, and none is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcbench.domain.schema import validate
from kcbench.domain.submission import Submission
from kcbench.errors import KcbenchError
from kcbench.suites.kernelbench import Problem, load_problems, make_problem
from kcbench.suites.kernelbench_runs import read_run
from kcbench.suites.mapping import read_mapping
from kcbench.suites.samples import Place, count_samples, parse_number, parse_pair
from kcbench.suites.source import repeats

PROBLEM = """import torch
import torch.nn as nn

raise RuntimeError("nothing here is ever run")

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.rand(4)]

def get_init_inputs():
    return []
"""
KERNEL = "raise RuntimeError('never run')\n\n\nclass ModelNew:\n    pass\n"


def write(root: Path, *names: str, text: str = KERNEL) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def name_of(level: int, problem: int, sample: int = 0) -> str:
    return f"level_{level}_problem_{problem}_sample_{sample}_kernel.py"


def places(found: list[Submission]) -> list[tuple[int | None, int | None, int | None]]:
    return [(item.origin["level"], item.origin["problem_id"], item.origin["sample_id"]) for item in found]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    write(root, "KernelBench/level1/1_Relu.py", "KernelBench/level1/2_Other_.py", "KernelBench/level2/10_Fused.py", text=PROBLEM)
    write(root, "KernelBench/level1/notes.py", "KernelBench/changelog/1_x.py", "scripts/level1/1_x.py", text="x = 1\n")
    return root


@pytest.fixture
def problems(checkout: Path) -> dict[tuple[int, int], Problem]:
    return load_problems(checkout)


# --- Checkouts


def test_checkout_and_its_inner_folder(checkout: Path) -> None:
    found = load_problems(checkout)
    assert list(found) == [(1, 1), (1, 2), (2, 10)]
    one = found[1, 1]
    assert (one.level, one.problem_id, one.name, one.task_id, one.defect) == (1, 1, "1_Relu", "level1/1_Relu", "")
    assert one.code == PROBLEM
    assert one.path == str(checkout / "KernelBench/level1/1_Relu.py")
    assert load_problems(checkout / "KernelBench") == found


def test_level_folders_by_themselves(tmp_path: Path) -> None:
    write(tmp_path, "level_3/7_a b-c.2.py", text=PROBLEM)
    (problem,) = load_problems(tmp_path).values()
    assert (problem.level, problem.name, problem.task_id) == (3, "7_a b-c.2", "level3/7_a_b-c.2")


@pytest.mark.parametrize(
    ("text", "defect"),
    [
        ("def", "the problem cannot be used: syntax error in line 1: invalid syntax"),
        ("class Model: pass\n", "the problem cannot be used: it defines no get_inputs and no get_init_inputs"),
        (PROBLEM.replace("class Model(", "class Other("), "the problem cannot be used: it defines no Model"),
        ("", "the problem cannot be used: it defines no Model and no get_inputs and no get_init_inputs"),
    ],
)
def test_defects_of_problems(text: str, defect: str, tmp_path: Path) -> None:
    write(tmp_path, "level1/1_a.py", text=text)
    assert load_problems(tmp_path)[1, 1].defect == defect


def test_a_problem_that_is_no_text(tmp_path: Path) -> None:
    write(tmp_path, "level1/1_a.py")
    (tmp_path / "level1/1_a.py").write_bytes(b"\xff")
    assert load_problems(tmp_path)[1, 1].defect == "the problem cannot be used: not UTF-8 text: byte 0xff at offset 0"


def test_two_problems_with_one_id(checkout: Path) -> None:
    write(checkout, "KernelBench/level1/1_Copy.py", text=PROBLEM)
    assert load_problems(checkout)[1, 1].defect == "two files have the id 1 in level 1: 1_Copy.py and 1_Relu.py"


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("nowhere", r"nowhere: no such folder \(name a checkout of KernelBench\)"),
        ("scripts", ""),
        ("KernelBench/level1", r"level1: holds no folder level1, level2, ... \(name the folder above it, .*KernelBench\)"),
        ("KernelBench/changelog", r"changelog: holds no folder level1, level2, ... \(name a checkout of KernelBench\)"),
    ],
)
def test_what_is_no_checkout(inside: str, message: str, checkout: Path) -> None:
    if not message:
        assert list(load_problems(checkout / inside)) == [(1, 1)]
        return
    with pytest.raises(KcbenchError, match=message):
        load_problems(checkout / inside)


def test_levels_without_problems(tmp_path: Path) -> None:
    write(tmp_path, "level1/readme.py")
    with pytest.raises(KcbenchError, match=r"holds no problem \(<id>_<Name>.py\)"):
        load_problems(tmp_path)


# --- Run folders


def test_run_folder(tmp_path: Path, problems: dict[tuple[int, int], Problem]) -> None:
    run = tmp_path / "run"
    write(run, name_of(2, 10), name_of(1, 2, 1), name_of(1, 2), name_of(1, 1), "generation_config.yaml", "eval_results.json")
    found = read_run(run, problems)
    assert places(found) == [(1, 1, 0), (1, 2, 0), (1, 2, 1), (2, 10, 0)]
    assert [item.task for item in found] == ["level1/1_Relu", "level1/2_Other_", "level1/2_Other_", "level2/10_Fused"]
    assert not any(item.problem for item in found)
    assert found[0].id == "level_1_problem_1_sample_0_kernel"
    assert found[0].origin == {"suite": "kernelbench", "level": 1, "problem_id": 1, "sample_id": 0}
    for item in found:
        validate(item.to_json(), "submission", source=item.id)


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        ({"suite": "kernelbench"}, r"\$.origin: expected the key"),
        ({"suite": "other", "level": 1, "problem_id": 1, "sample_id": 0}, "expected one of kernelbench, found"),
        ({"suite": "kernelbench", "level": -1, "problem_id": 1, "sample_id": 0}, "expected a number of at least 0, found -1"),
        ({"suite": "kernelbench", "level": 1, "problem_id": "1", "sample_id": 0}, "expected a whole number or null"),
    ],
)
def test_the_schema_of_origins(origin: dict[str, object], message: str) -> None:
    item = Submission("a", "level1/x", "", "a.py")
    validate(item.to_json(), "submission", source="a")
    with pytest.raises(KcbenchError, match=message):
        validate({**item.to_json(), "origin": origin}, "submission", source="a")


def test_folders_by_level(tmp_path: Path, problems: dict[tuple[int, int], Problem]) -> None:
    run = tmp_path / "run"
    write(run, "generated/level_1/problem_1.py", "level2/task_10.py", "level_1/problem_2_sample_3.py")
    assert places(read_run(run, problems)) == [(1, 1, 0), (1, 2, 3), (2, 10, 0)]


def test_nothing_is_dropped(tmp_path: Path, problems: dict[tuple[int, int], Problem]) -> None:
    run = tmp_path / "run"
    write(run, name_of(1, 1), name_of(1, 77), name_of(9, 1), f"again/{name_of(1, 1)}", "other.py")
    write(run, name_of(1, 2), text="def")
    write(run, "level_2_problem_10_sample_0_kernel.cu", text="__global__ void f() {}")
    (run / name_of(1, 2, 1)).write_bytes(b"\0")
    found = {item.id: item for item in read_run(run, problems)}
    said = {name: item.problem for name, item in found.items()}
    first = "again/level_1_problem_1_sample_0_kernel"
    assert said == {
        first: "",
        "level_1_problem_1_sample_0_kernel": f"a second kernel for level 1, problem 1, sample 0: the first is {run / first}.py",
        "level_1_problem_77_sample_0_kernel": "level 1 of the suite has no problem 77",
        "level_9_problem_1_sample_0_kernel": "the suite has no level 9 (it has 1, 2)",
        "level_1_problem_2_sample_0_kernel": "syntax error in line 1: invalid syntax",
        "level_1_problem_2_sample_1_kernel": "not Python source: the file is binary",
        "level_2_problem_10_sample_0_kernel.cu": "expected a Python file (.py)",
        "other": "its name does not say which problem it is for (level_<L>_problem_<P>_sample_<S>_kernel.py): "
        "name it in a --mapping",
    }
    # What has no place of its own has no sample; what is broken keeps its place, and counts as not correct.
    kept = {name for name, item in found.items() if item.origin["sample_id"] is not None}
    assert kept == {
        first,
        "level_1_problem_2_sample_0_kernel",
        "level_1_problem_2_sample_1_kernel",
        "level_2_problem_10_sample_0_kernel.cu",
    }
    for item in found.values():
        validate(item.to_json(), "submission", source=item.id)


def test_sources_beside_a_kernel_belong_to_it(tmp_path: Path, problems: dict[tuple[int, int], Problem]) -> None:
    run = tmp_path / "run"
    write(run, name_of(1, 1), "level_1_problem_1_sample_0_kernel.cu", "level_1_problem_1_sample_0_kernel.json")
    assert [item.problem for item in read_run(run, problems)] == [""]


def test_run_folders_of_kcbench_are_left_out(tmp_path: Path, problems: dict[tuple[int, int], Problem]) -> None:
    run = tmp_path / "run"
    write(run, name_of(1, 1), "scored/repro/a.py", "scored/run.json", "scored/verdicts.jsonl")
    assert len(read_run(run, problems)) == 1


@pytest.mark.parametrize(
    ("source", "entry", "problem"),
    [
        ("class Model: pass\nclass ModelNew: pass\n", "ModelNew", ""),
        ("class Model:\n    def forward(self, x):\n        return x\n", "Model", ""),
        ("def Model():\n    return make()\n", "Model", ""),
        ("class ModelNew: pass\n\n\nclass ModelNew:\n    x = 1\n", "ModelNew", ""),
        (PROBLEM, "Model", "no class ModelNew, and nothing but what the problem itself defines"),
        (PROBLEM.replace("raise", "# a copy\nraise").partition("def get_inputs")[0], "Model", "no class ModelNew, and nothing"),
        (f"{PROBLEM}Model = torch.compile(Model)\n", "Model", ""),
        (f"# kcbench: entry=Model\n{PROBLEM}", "Model", ""),
        ("class Other: pass\n", "ModelNew", "no class ModelNew"),
    ],
)
def test_entry(source: str, entry: str, problem: str, tmp_path: Path, problems: dict[tuple[int, int], Problem]) -> None:
    run = tmp_path / "run"
    write(run, name_of(1, 1), text=source)
    (item,) = read_run(run, problems)
    assert item.entry == entry
    assert item.problem.startswith(problem) and bool(item.problem) == bool(problem)


def test_a_problem_with_a_defect_is_not_the_kernel_s_fault(tmp_path: Path) -> None:
    write(tmp_path, "suite/level1/1_a.py", text="def")
    write(tmp_path, f"run/{name_of(1, 1)}")
    (item,) = read_run(tmp_path / "run", load_problems(tmp_path / "suite"))
    assert (item.problem, item.task) == ("", "level1/1_a")


def test_no_kernels(tmp_path: Path, problems: dict[tuple[int, int], Problem]) -> None:
    with pytest.raises(KcbenchError, match="no such folder"):
        read_run(tmp_path / "nowhere", problems)
    write(tmp_path / "run", "eval_results.json")
    with pytest.raises(KcbenchError, match="expected a folder of kernels"):
        read_run(tmp_path / "run/eval_results.json", problems)
    with pytest.raises(KcbenchError, match=r"holds no kernel \(their names are level_<L>_problem_<P>_sample_<S>_kernel.py"):
        read_run(tmp_path / "run", problems)


# --- Mapping files


def test_mapping_of_a_flat_folder(tmp_path: Path, problems: dict[tuple[int, int], Problem]) -> None:
    run = tmp_path / "run"
    write(run, "a.py", "deep/b.py", "c.py", name_of(2, 10))
    mapping = tmp_path / "map.json"
    mapping.write_text(json.dumps({"a.py": "1/2", "./deep/b": "level1/2_Other_", "gone.py": "1/1"}))
    found = {item.id: item for item in read_run(run, problems, mapping=mapping)}
    assert {name: (item.task, item.origin["sample_id"], item.problem) for name, item in found.items()} == {
        "a": ("level1/2_Other_", 0, ""),
        "deep/b": ("level1/2_Other_", 1, ""),
        "gone": ("level1/1_Relu", 0, "the mapping names it, and there is no such file"),
        "level_2_problem_10_sample_0_kernel": ("level2/10_Fused", 0, ""),
        "c": ("", None, "the mapping does not name it, and its name does not say which problem it is for"),
    }


def test_mapping_wins_over_the_name(tmp_path: Path, problems: dict[tuple[int, int], Problem]) -> None:
    write(tmp_path / "run", name_of(1, 1))
    (tmp_path / "map.csv").write_text(f"file,problem\n{name_of(1, 1)},2/10\n")
    assert places(read_run(tmp_path / "run", problems, mapping=tmp_path / "map.csv")) == [(2, 10, 0)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.json", '{"a.py": {"level": 1, "problem_id": 36, "sample_id": 2}, "b.py": "1/36"}'),
        (
            "m.json",
            '[{"file": "a.py", "level": "level_1", "problem_id": "36", "sample_id": 2}, {"file": "b.py", "problem": "1/36"}]',
        ),
        ("m.csv", "file,level,problem_id,sample_id\na.py,1,36,2\nb.py,1,36,\n"),
        ("m.csv", '\ufefffile, problem, sample_id, note\r\na.py, 1/36, 2, x\r\n"b.py", level1/36_RMSNorm_,\r\n'),
    ],
)
def test_mapping_forms(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert read_mapping(path) == {"a.py": Place(1, 36, 2), "b.py": Place(1, 36, 0)}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("m.json", "{", "m.json: line 1, column 2: not JSON"),
        ("m.json", "3", "expected an object or a list"),
        ("m.json", "{}", "the mapping is empty"),
        ("m.json", '{"a.py": "36"}', r"the entry of 'a.py' does not say which problem 'a.py' is for \(write \"1/36\""),
        ("m.json", '{"a.py": {"level": 1.5, "problem_id": 2}}', "does not say which problem"),
        ("m.json", '{"a.py": {"level": true, "problem_id": 2}}', "does not say which problem"),
        ("m.json", '{"a.py": {"problem": 5}}', "does not say which problem"),
        ("m.json", '{"a.py": {"problem": "1/2", "sample_id": "x"}}', "does not say which problem"),
        ("m.json", '["a.py"]', "entry 1 names no file"),
        ("m.json", '{"a.py": "1/1", "./a.py": "1/2"}', "the entry of './a.py' names 'a.py' again"),
        ("m.csv", "name,problem\na.py,1/1\n", "has no column 'file'"),
        ("m.csv", "file,problem\n,1/1\n", "line 2 names no file"),
        ("m.csv", 'file,problem\n"a.py,1/1\n', "is not CSV"),
        ("m.csv", "file,problem\na.py\n", "line 2 does not say which problem"),
        ("m.csv", "", "has no column 'file'"),
    ],
)
def test_bad_mappings(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(KcbenchError, match=message):
        read_mapping(tmp_path / name)


def test_a_mapping_that_cannot_be_read(tmp_path: Path) -> None:
    for name in ("m.csv", "m.json"):
        with pytest.raises(KcbenchError, match=f"{name}: cannot be read"):
            read_mapping(tmp_path / name)
    (tmp_path / "m.csv").write_bytes(b"file\xff")
    with pytest.raises(KcbenchError, match="is not UTF-8 text"):
        read_mapping(tmp_path / "m.csv")


def test_a_file_that_is_named_twice(tmp_path: Path, problems: dict[tuple[int, int], Problem]) -> None:
    write(tmp_path / "run", "a.py")
    (tmp_path / "m.json").write_text('{"a": "1/1", "a.py": "1/2"}')
    with pytest.raises(KcbenchError, match=r"names 'a\.py' twice"):
        read_run(tmp_path / "run", problems, mapping=tmp_path / "m.json")


@given(text=st.text() | st.text(alphabet='{}[]":,/1234 aepfil\n'), name=st.sampled_from(["m.json", "m.csv"]))
def test_mappings_are_read_or_refused(text: str, name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("mapping") / name
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        found = read_mapping(path)
    except KcbenchError:
        return
    assert found and all(place.sample_id is not None for place in found.values())


# --- Ids and samples


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        ("3", 3),
        (" level_3 ", 3),
        ("level3", 3),
        (0, 0),
        (-1, None),
        (True, None),
        (3.0, None),
        ("3x", None),
        (None, None),
        ("", None),
        ("9" * 40, None),
        (10**9, None),
    ],
)
def test_numbers(value: object, number: int | None) -> None:
    assert parse_number(value) == number


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from(["{}/{}", "level{}/{}", "level_{}/{}_Name_"]))
def test_pairs(level: int, problem: int, form: str) -> None:
    assert parse_pair(form.format(level, problem)) == Place(level, problem)


@given(st.lists(st.builds(Place, st.integers(1, 2), st.integers(1, 3), st.none() | st.integers(0, 3)), max_size=12))
def test_samples_are_counted_into_the_gaps(given: list[Place]) -> None:
    counted = count_samples(given)
    told = {place for place in given if place.sample_id is not None}
    made = [after for before, after in zip(given, counted, strict=True) if before.sample_id is None]
    assert [after for before, after in zip(given, counted, strict=True) if before.sample_id is not None] == [
        place for place in given if place.sample_id is not None
    ]
    assert len(set(made)) == len(made) and not told & set(made)
    for place in made:
        assert place.sample_id is not None
        below = {
            other.sample_id for other in (*told, *made) if (other.level, other.problem_id) == (place.level, place.problem_id)
        }
        assert set(range(place.sample_id)) <= below, "no number is left out"


@given(st.text())
def test_any_text_is_a_problem_or_has_a_defect(code: str) -> None:
    problem = make_problem(code, level=None, problem_id=None, name="", path="")
    assert "\n" not in problem.defect
    assert problem.task_id == "problem/unnamed"


def test_a_sum_of_thousands_of_terms_is_compared_or_not() -> None:
    long = f"class Model: pass\nx = {' + '.join(['1'] * 3000)}\n"
    assert repeats(long, PROBLEM) is False
    assert repeats(PROBLEM, long) is False
