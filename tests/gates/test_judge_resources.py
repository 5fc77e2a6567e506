"""What RES-02 says of the kernels that were launched."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from kcbench.domain.observation import Launch
from kcbench.domain.verdict import FAIL, NOT_APPLICABLE, PASS


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ({"n_regs": 255, "num_warps": 16}, "registers"),
        ({"shared": 300 << 10}, "shared"),
        ({"tmem_size": 544}, "tmem"),
        ({"tmem_size": 48}, "tmem"),
        ({"n_spills": 12800}, "spill-storm"),
    ],
)
def test_resources_over_the_limits_are_refused(judge, metadata, code) -> None:
    verdict = judge("RES-02", "level1/matmul", launches=(Launch("kernel", "sm_100", {"num_warps": 4, **metadata}),))
    assert [finding.code for finding in verdict.findings] == [code]


@pytest.mark.parametrize(("name", "code"), [("leak_on_one_branch", "tmem-leak"), ("two_512", "tmem"), ("one_warp", "")])
def test_the_way_through_the_ptx_is_followed(judge, name, code) -> None:
    ptx = (Path(__file__).parents[1] / "resources" / "plans" / f"{name}.ptx").read_text()
    launch = Launch("kernel", "sm_100", {"num_warps": 4, "tmem_size": 64}, ptx=ptx)
    verdict = judge("RES-02", "level1/matmul", launches=(launch,))
    assert [finding.code for finding in verdict.findings] == ([code] if code else [])
    if code:
        assert verdict.findings[0].evidence["line"] and "kernel for sm_100: " in verdict.findings[0].summary
    # Elsewhere nothing is said of it: that code is not for other targets.
    assert judge("RES-02", "level1/matmul", launches=(dataclasses.replace(launch, target="sm_90", metadata={}),)).findings == ()


def test_resources_ask_for_one_fitting_target_unless_one_is_named(judge) -> None:
    big = {"num_warps": 4, "shared": 200 << 10}
    launches = (Launch("kernel", "sm_80", big), Launch("kernel", "sm_90", big))
    assert judge("RES-02", "level1/matmul", launches=launches).status == PASS
    assert judge("RES-02", "level1/matmul", launches=launches, targets=("sm_80",)).status == FAIL
    assert judge("RES-02", "level1/matmul").status == NOT_APPLICABLE
