"""Every refusal is explained in two sentences, whatever evidence there is."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcbench.domain.result import Result
from kcbench.domain.verdict import ERROR, Finding
from kcbench.report.explain import explain, explain_result, headline, outcome
from kcbench.report.repro import kinds
from kcbench.report.sentences import SENTENCES

WHERE = {"probe": "lognormal", "dtype": "float32", "axes": {"dim": 127}}
ELEMENT = {"output": 0, "index": [3, 17], "expected": 1.2, "got": 1.25}


def told(code: str, **evidence: Any) -> str:
    gate, _, name = code.partition(".")
    return explain(gate, Finding(name, "it failed", True, (), {**WHERE, **evidence})).text


def test_a_value_outside_the_tolerance() -> None:
    assert told("CMP-01.value", kind="value", **ELEMENT, tolerance=3e-6, ratio=16666.7) == (
        "For every distribution, scale and sign of the inputs, each output must lie within the derived rounding bound around the float64 "
        "result. The kernel's result is further off than rounding can explain: on probe “lognormal” (float32, dim=127), output 0 at [3, 17] "
        "is 1.25 where 1.2 ± 3e-06 is right, 16,700 times the tolerance away."
    )


@pytest.mark.parametrize(
    ("code", "evidence", "words"),
    [
        (
            "PRC-02.accumulator",
            {"kind": "bits", **ELEMENT, "wrong": 3},
            "is 1.25 where 1.2 is right exactly (3 elements differ).",
        ),
        ("EXC-01.absorbed", {"kind": "class", **ELEMENT, "expected": "nan"}, "output 0 at [3, 17] is 1.25 where NaN is right."),
        ("EXC-01.sign", {"kind": "class", **ELEMENT, "expected": "-inf", "got": "inf"}, "is +Inf where -Inf is right."),
        ("ORD-02.nondeterministic", {"kind": "repeat", "runs": 10, "distinct": 3}, "10 runs gave 3 different results."),
        ("ORD-02.alias-input", {"kind": "alias-input", "output": 0, "shares_with": "x"}, "output 0 shares storage with 'x'."),
        ("GUARD.mutates-input", {"kind": "mutates", "inputs": ["x", "mask"]}, "'x', 'mask' held other bytes after the call."),
        (
            "ORD-02.stateful",
            {"kind": "stateful", "expected": "aa", "got": "bb"},
            "the digest of the output bytes went from aa to bb.",
        ),
        ("GUARD.stateful", {"kind": "stateful", **ELEMENT}, "is 1.25 where 1.2 is right."),
        ("CMP-02.vjp", {"kind": "gradient", **ELEMENT, "gradient": "input:x"}, "the gradient of input:x at [3, 17] is 1.25"),
        ("CMP-02.missing", {"kind": "missing-gradient", "gradients": ["input:x"]}, "none for 'input:x'."),
        ("CMP-03.crash", {"kind": "raised", "message": "ValueError: no"}, "The kernel ended the call without a result: on probe"),
        (
            "ORD-01.order",
            {"kind": "pair", **ELEMENT, "tolerance": 1e-6},
            "is 1.25 in one call and 1.2 in the other, where 1e-06 is allowed.",
        ),
        ("PRC-01.dtype", {"kind": "dtype", "expected": "float16", "got": "float32"}, "it gave float32 where float16 was due."),
        ("GUARD.output-shape", {"kind": "shape", "expected": [3, 4], "got": [2, 4]}, "it gave [2, 4] where [3, 4] was due."),
        (
            "GUARD.weights-stale",
            {"kind": "weights", **ELEMENT, "unchanged": True},
            "; the whole output is bit for bit the old one.",
        ),
        ("RES-01.memory", {"kind": "memory", "expected": 100, "got": 200}, "it gave 200 where 100 was due."),
    ],
)
def test_each_kind_says_what_happened(code: str, evidence: dict[str, Any], words: str) -> None:
    assert words in told(code, **evidence)


def test_a_compiled_kernel_over_its_limit() -> None:
    finding = Finding(
        "shared", "too much", True, (), {"kind": "resource", "kernel": "k", "target": "sm_90", "got": 300000, "expected": 232448}
    )
    assert "kernel 'k', compiled for sm_90, has 300000 where the limit is 232448." in explain("RES-02", finding).text


@pytest.mark.parametrize("code", SENTENCES)
def test_missing_evidence_never_breaks_it(code: str) -> None:
    gate, _, name = code.partition(".")
    some: tuple[dict[str, Any], ...] = ({}, {"index": [1]}, {"got": None, "expected": "nan"}, {"runs": 3}, {"kernel": "k"})
    for evidence, kind in itertools.product(some, (None, "odd", *kinds())):
        explanation = explain(gate, Finding(name, "it failed", True, (), {**evidence, "kind": kind}))
        assert explanation.asked.endswith(".") and explanation.did.endswith(".")
        assert explanation.did.count("..") == 0 and ": ." not in explanation.did


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5), lambda x: st.lists(x, max_size=3), max_leaves=4
)
names = (
    "probe dtype axes output index expected got tolerance ratio wrong runs distinct shares_with inputs gradient gradients message "
    "kernel target unchanged kind"
)
keys = st.sampled_from(names.split())


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(SENTENCES)), st.sampled_from(kinds()), st.dictionaries(keys, junk))
def test_any_evidence_is_survived(code: str, kind: str, evidence: dict[str, Any]) -> None:
    gate, _, name = code.partition(".")
    explanation = explain(gate, Finding(name, "it failed", True, (), {"kind": kind, **evidence}))
    assert "\n" not in explanation.text
    assert all(isinstance(value, str) for pair in explanation.facts for value in pair)


def test_an_unknown_gate_and_code_are_explained_all_the_same() -> None:
    text = explain("NEW-01", Finding("odd", "something else.", True)).text
    assert text == "The gate asks that the kernel keeps the contract. The kernel did not do so: something else."


def test_hostile_text_cannot_steer_a_terminal() -> None:
    finding = Finding("value", "\x1b[2J\u202egone", True, (), {"probe": "\x1b]0;title\x07", "message": "\x9b31m"})
    explanation = explain("CMP-01", finding)
    for text in (explanation.text, explanation.summary, *(value for _, value in explanation.facts)):
        assert not set(text) & set("\x1b\x07\x9b\u202e")
    assert "\\x1b" in explanation.summary


@pytest.mark.parametrize(
    ("arguments", "ended", "line"),
    [
        ({}, "clean", "clean: 13 pass, 0 fail, 0 n.a."),
        (
            {"codes": ["CMP-01.value"], "statuses": {"EXC-01": ERROR}},
            "refused",
            "refused: 11 pass, 1 fail, 0 n.a., 1 harness error",
        ),
        ({"statuses": {"EXC-01": ERROR}}, "error", "no full verdict: 12 pass, 0 fail, 0 n.a., 1 harness error"),
        ({"status": "unloadable"}, "unloadable", "refused: the file could not be loaded (SyntaxError: invalid syntax)"),
        ({"status": "skipped"}, "skipped", "no verdict: this machine cannot run it (SyntaxError: invalid syntax)"),
        ({"status": "error"}, "error", "no verdict: the harness failed (SyntaxError: invalid syntax)"),
    ],
)
def test_how_a_result_stands(make: Callable[..., Result], arguments: dict[str, Any], ended: str, line: str) -> None:
    result = make("a", *arguments.pop("codes", ()), **arguments)
    assert (outcome(result), headline(result)) == (ended, line)


def test_all_refusals_of_a_result(make: Callable[..., Result]) -> None:
    result = make("a", "EXC-01.absorbed", "GUARD.stateful", "EXC-01.sign")
    assert [item.code for item in explain_result(result)] == ["GUARD.stateful", "EXC-01.absorbed", "EXC-01.sign"]
