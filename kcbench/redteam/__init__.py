"""Red-team kernels, broken ones and honest ones that look suspicious, and the matrix that judges the gates by them."""

from kcbench.redteam.catalog import BROKEN, HONEST, PUBLISHED_DEFECTS, Entry, defects, load_catalog, parse_entry
from kcbench.redteam.matrix import Judgement, Matrix, judge, render

__all__ = [
    "BROKEN",
    "HONEST",
    "PUBLISHED_DEFECTS",
    "Entry",
    "Judgement",
    "Matrix",
    "defects",
    "judge",
    "load_catalog",
    "parse_entry",
    "render",
]
