"""Finding submissions: which files, under which ids, for which tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcbench.errors import KcbenchError
from kcbench.suites.folder import discover, parse_submission

KNOWN = ["level1/relu", "level1/softmax", "level2/linear_bias_gelu"]
GOOD = "class ModelNew:\n    pass\n"


def write(root: Path, *names: str, text: str = GOOD) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_folder(tmp_path: Path) -> None:
    write(tmp_path, "level1/softmax/b.py", "level1/softmax/a.py", "level1/relu/a.py", "level2/linear_bias_gelu/x/y.py")
    write(
        tmp_path,
        "level1/softmax/.hidden.py",
        "level1/softmax/__init__.py",
        ".git/x.py",
        "__pycache__/x.py",
        "notes.txt",
        "level1/pack/x.pyc",
    )
    found = discover([tmp_path], known=KNOWN)
    assert [(item.id, item.task, item.problem) for item in found] == [
        ("level1/relu/a", "level1/relu", ""),
        ("level1/softmax/a", "level1/softmax", ""),
        ("level1/softmax/b", "level1/softmax", ""),
        ("level2/linear_bias_gelu/x/y", "level2/linear_bias_gelu", ""),
    ]
    assert found[0].path == str(tmp_path / "level1/relu/a.py")


def write_package(folder: Path) -> Path:
    write(folder, "modules/__init__.py", "modules/helpers.py", text="LIMIT = 3\n")
    return folder / "modules"


def test_modules_of_a_package_are_no_submissions(tmp_path: Path) -> None:
    write(tmp_path, "pack/__init__.py", "pack/helpers.py", text="LIMIT = 3\n")
    write(tmp_path, "pack/level1/relu/a.py", "pack/b.py")
    write(tmp_path, "pack/c.py", text="# kcbench: task=level1/softmax\n")
    write(tmp_path, "loose/helpers.py", "pack/level1/relu/__init__.py", "pack/level1/relu/no_class.py", text="LIMIT = 3\n")
    found = discover([tmp_path], known=KNOWN)
    with pytest.raises(KcbenchError, match="no submission in this folder"):
        discover([write_package(tmp_path)], known=KNOWN)
    samples = ["pack/level1/relu/a", "pack/level1/relu/no_class"]
    assert [item.id for item in found] == ["loose/helpers", "pack/b", "pack/c", *samples]


def test_file(tmp_path: Path) -> None:
    write(tmp_path, "kernel.py")
    (item,) = discover([tmp_path / "kernel.py"], known=KNOWN, task="level1/relu")
    assert (item.id, item.task, item.entry, item.language, item.problem) == ("kernel", "level1/relu", "ModelNew", "torch", "")


def test_task_option_wins_over_header_over_place(tmp_path: Path) -> None:
    write(tmp_path, "level1/softmax/a.py", text=f"# kcbench: task=level1/relu\n{GOOD}")
    assert [item.task for item in discover([tmp_path], known=KNOWN)] == ["level1/relu"]
    assert [item.task for item in discover([tmp_path], known=KNOWN, task="level2/linear_bias_gelu")] == [
        "level2/linear_bias_gelu"
    ]


def test_misspelt_place(tmp_path: Path) -> None:
    write(tmp_path, "level1/sofmax/a.py")
    (item,) = discover([tmp_path], known=KNOWN)
    assert (item.task, item.problem) == ("", "unknown task 'level1/sofmax' (did you mean 'level1/softmax'?)")


def test_one_file_is_found_once(tmp_path: Path) -> None:
    write(tmp_path, "level1/relu/a.py")
    (tmp_path / "link.py").symlink_to(tmp_path / "level1/relu/a.py")
    found = discover([tmp_path, tmp_path / "level1", tmp_path / "level1/relu/a.py"], known=KNOWN)
    assert [item.id for item in found] == ["level1/relu/a"]


def test_ids_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "one/level1/relu/a.py", "two/level1/relu/a.py", "two/level1/relu/b.py")
    found = discover([Path("one"), Path("two")], known=KNOWN)
    assert [item.id for item in found] == ["one/level1/relu/a", "two/level1/relu/a", "level1/relu/b"]


def test_ids_differ_where_paths_do_not_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.py", "inner/a.py")
    monkeypatch.chdir(tmp_path / "inner")
    found = discover([Path("a.py"), Path("../a.py")], known=KNOWN, task="level1/relu")
    assert [item.id for item in found] == ["a", "a-2"]


def test_problems_do_not_stop_the_others(tmp_path: Path) -> None:
    write(tmp_path, "level1/relu/a.py", text="def")
    write(tmp_path, "level1/relu/b.py")
    (tmp_path / "level1/relu/c.py").write_bytes(b"\xff")
    problems = [item.problem for item in discover([tmp_path], known=KNOWN)]
    assert problems == ["syntax error in line 1: invalid syntax", "", "not UTF-8 text: byte 0xff at offset 0"]


def test_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\xef\xbb\xbf# kcbench: author=A\r\n" + GOOD.encode())
    (item,) = discover([tmp_path], known=KNOWN, task="level1/relu")
    assert (item.author, item.problem) == ("A", "")


def test_unknown_task_option(tmp_path: Path) -> None:
    write(tmp_path, "a.py")
    with pytest.raises(KcbenchError, match=r"unknown task 'softmax' \(did you mean 'level1/softmax'\?\)"):
        discover([tmp_path], known=KNOWN, task="softmax")


def test_text_in_memory() -> None:
    item = parse_submission(GOOD, path="<source>", id="x", task="level1/relu")
    assert (item.id, item.task, item.path, item.source, item.problem) == ("x", "level1/relu", "<source>", GOOD, "")
    assert parse_submission("", path="", id="x", task="level1/relu").problem == "the file is empty"
