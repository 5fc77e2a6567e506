"""Plan, run, judge: scores submissions and hands back results.

The engine asks every gate for its probes, runs each distinct probe once in the submission's worker, and gives the observations
back to the gates. What depends on the task only (truth, noise, eager behaviour, legacy trials) is made once and shared.
"""

from __future__ import annotations

from kcbench.engine.calls import build_call, plan_context
from kcbench.engine.options import BASELINES, LEGACY, Options, resolve_device
from kcbench.engine.run import Event, run
from kcbench.engine.scorer import Scorer, evaluate

__all__ = ["BASELINES", "LEGACY", "Event", "Options", "Scorer", "build_call", "evaluate", "plan_context", "resolve_device", "run"]
