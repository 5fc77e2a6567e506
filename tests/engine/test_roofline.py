"""Floors: what a card could do at best."""

from __future__ import annotations

import pytest

from kcbench.engine.roofline import bandwidth, floor_ms

MB = 1 << 20


@pytest.mark.parametrize(
    ("name", "terabytes"),
    [
        ("NVIDIA H200", 4.8),
        ("NVIDIA H100 80GB HBM3", 3.35),
        ("NVIDIA H100 NVL", 3.94),
        ("NVIDIA H20", 4.0),
        ("NVIDIA GH200 480GB", 4.9),
        ("NVIDIA A100-SXM4-80GB", 2.04),
        ("NVIDIA B200", 8.0),
        ("NVIDIA L40S", 0.865),
        ("NVIDIA L4", 0.301),
        ("NVIDIA A10G", 0.601),
        ("NVIDIA RTX 6000 Ada Generation", 0.961),
        ("Tesla T4", 0.321),
        ("Tesla V100-SXM2-16GB", 1.14),
    ],
)
def test_known_cards(name: str, terabytes: float) -> None:
    assert bandwidth(name) == terabytes * 1e12


@pytest.mark.parametrize("name", ["NVIDIA H2000", "x86_64", "", "AMD Instinct MI300X", "NVIDIA L400", "GeForce GTX 1080"])
def test_unknown_cards_have_no_floor(name: str) -> None:
    assert bandwidth(name) is None and floor_ms(1 << 40, 0, name) is None


def test_a_floor_by_hand() -> None:
    # 4.8 GB at 4.8 TB/s is a millisecond; what a cache of 60 MB holds is taken off.
    assert floor_ms(4_800_000_000, 0, "NVIDIA H200") == pytest.approx(1.0)
    assert floor_ms(4_800_000_000, 480_000_000, "NVIDIA H200") == pytest.approx(0.9)


def test_operands_that_fit_the_cache_have_no_floor() -> None:
    assert floor_ms(4 * 60 * MB - 1, 60 * MB, "NVIDIA H200") is None
    assert floor_ms(4 * 60 * MB, 60 * MB, "NVIDIA H200") == pytest.approx(3 * 60 * MB / 4.8e9)
