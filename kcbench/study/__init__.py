"""Studies of the gates themselves: many kernels of our own, scored in this process with the worker's own code."""

from kcbench.study.isolated import Died, isolated
from kcbench.study.local import LocalSession
from kcbench.study.score import score_here

__all__ = ["Died", "LocalSession", "isolated", "score_here"]
