"""Contracts by experiment: a KernelBench-format problem in, a task with a contract out."""

from kcbench.infer.cache import task_of_problem
from kcbench.infer.inference import Inference, infer
from kcbench.infer.shrink import CannotShrinkError

__all__ = ["CannotShrinkError", "Inference", "infer", "task_of_problem"]
