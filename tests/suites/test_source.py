"""What parsing tells of a submission's text."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcbench.suites.source import parse

MODEL = "class ModelNew:\n    pass\n"


@pytest.mark.parametrize(
    ("source", "language"),
    [
        ("", "torch"),
        ("import triton\n@triton.jit\ndef k(): pass\n", "triton"),
        ("import triton as t\n@t.autotune(configs=[], key=[])\n@t.jit\ndef k(): pass\n", "triton"),
        ("from triton import jit\n@jit\ndef k(): pass\n", "triton"),
        ("from triton import jit as compiled\n@compiled(do_not_specialize=[])\ndef k(): pass\n", "triton"),
        ("import triton.language as tl\nimport triton\ndef f():\n    @triton.jit\n    def k(): pass\n", "triton"),
        ("from triton.experimental import gluon\n@gluon.jit\ndef k(): pass\n", "triton"),
        ("import triton\n", "torch"),
        ("import torch\n@torch.jit.script\ndef f(x): return x\n", "torch"),
        ("from numba import jit\n@jit\ndef f(x): return x\n", "torch"),
        ("from torch.utils.cpp_extension import load_inline\nm = load_inline('m', cpp_sources='')\n", "cuda"),
        ("import torch.utils.cpp_extension as ext\nm = ext.load('m', [])\n", "cuda"),
        ("import torch\nm = torch.utils.cpp_extension.load_inline('m', '')\n", "cuda"),
        ("# triton.jit load_inline\ntext = 'triton.jit load_inline'\n", "torch"),
        ("# kcbench: language=triton\nfrom package import kernel\n", "triton"),
        ("# kcbench: language=cuda\nfrom package import kernel\n", "cuda"),
        ("# kcbench: language=Triton\nfrom package import kernel\n", "torch"),
        ("# kcbench: language=cuda\nimport triton\n@triton.jit\ndef k(): pass\n", "triton"),
    ],
)
def test_language(source: str, language: str) -> None:
    assert parse(source + MODEL).language == language


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (MODEL, ""),
        ("try:\n    import triton\nexcept ImportError:\n    triton = None\nelse:\n    class ModelNew:\n        pass\n", ""),
        ("import torch\nclass A: pass\nModelNew = torch.compile(A)\n", ""),
        ("class ModelNew:\n    pass\nModelNew = decorate(ModelNew)\n", ""),
        ("ModelNew: type\n", "no class ModelNew"),
        ("def f():\n    class ModelNew: pass\n", "no class ModelNew"),
        (
            "if a:\n    class ModelNew: pass\nelse:\n    class ModelNew: pass\n",
            "2 classes ModelNew, in lines 2 and 4: one is wanted",
        ),
        ("class ModelNew(:\n", "syntax error in line 1: invalid syntax"),
    ],
)
def test_entry(source: str, problem: str) -> None:
    assert parse(source).problem == problem


def test_header() -> None:
    source = "#!/usr/bin/env python\n\n# kcbench: task = level1/relu \n#kcbench: author=A. Nonymous, B\n# kcbench: entry=Fast\n# kcbench: note=x=y\n"
    found = parse(source + "# something else\nclass Fast: pass\n# kcbench: task=level1/softmax\n")
    assert found.header == {"task": "level1/relu", "author": "A. Nonymous, B", "entry": "Fast", "note": "x=y"}
    assert (found.entry, found.problem) == ("Fast", "")


def test_header_is_read_where_the_rest_cannot_be_parsed() -> None:
    assert parse("# kcbench: task=level1/relu\ndef").header == {"task": "level1/relu"}


def test_no_warnings() -> None:
    with warnings.catch_warnings(action="error"):
        assert parse(f"x = '\\d'\ny = 1 is 1\n{MODEL}").problem == ""


@given(st.text() | st.text(alphabet="()[]{}:\n \\'\"#=@.classdefModelNew"))
def test_never_fails(source: str) -> None:
    assert "\n" not in parse(source).problem
