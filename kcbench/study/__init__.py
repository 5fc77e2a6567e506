"""Studies of the gates themselves: many kernels of our own, scored with the worker's own code, in this process or a worker."""

from kcbench.study.isolated import Died, isolated
from kcbench.study.local import LocalSession
from kcbench.study.place import HERE, Here, Place, Workers, place_on
from kcbench.study.score import score_here, score_session

__all__ = [
    "HERE",
    "Died",
    "Here",
    "LocalSession",
    "Place",
    "Workers",
    "isolated",
    "place_on",
    "score_here",
    "score_session",
]
