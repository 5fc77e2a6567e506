"""The untrusted side of a run: workers in which submissions execute, and the sessions through which the grader talks to them."""

from __future__ import annotations

from kcbench.runtime.call import Call, Limits, LoadReport, ModelSpec, ScalarArg, TensorArg
from kcbench.runtime.pool import WorkerPool
from kcbench.runtime.session import WorkerSession

__all__ = ["Call", "Limits", "LoadReport", "ModelSpec", "ScalarArg", "TensorArg", "WorkerPool", "WorkerSession"]
