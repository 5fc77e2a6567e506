"""What all tests share."""

from __future__ import annotations

import functools
import importlib.util
import os

import pytest
from hypothesis import settings

# Test processes share few cores: one thread each, and that before torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.pop("KCBENCH_DEBUG", None)

# No deadline: how long an example takes says more about the machine than about the code.
# CI takes the same examples every time, so that a change is judged by what it changes; everybody else finds new ones.
settings.register_profile("default", deadline=None, max_examples=50, derandomize="CI" in os.environ)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session", autouse=True)
def _contracts_of_this_run_only(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Contracts that an earlier version inferred say nothing about this one. The processes of one run share theirs."""
    base = tmp_path_factory.getbasetemp()
    os.environ["KCBENCH_CACHE"] = str((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "contracts-cache")


@functools.cache
def _no_gpu() -> str:
    """Why tests that need a GPU cannot run; empty where they can."""
    if importlib.util.find_spec("torch") is None:
        return "needs torch"
    import torch

    return "" if torch.cuda.is_available() else "needs a CUDA device"


SHARED_BY = {"gates": "task_id", "infer": "name"}
"""By test package: the parameter whose value tests share something costly for, an oracle or an inferred contract."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        package = item.path.parent.name
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if SHARED_BY.get(package) in parameters:
            # With --dist loadgroup one process runs them all, and finds it out once.
            item.add_marker(pytest.mark.xdist_group(f"{package} {parameters[SHARED_BY[package]]}"))
        if item.get_closest_marker("gpu") is not None and _no_gpu():
            item.add_marker(pytest.mark.skip(reason=_no_gpu()))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Fail where several processes would each make what the tests of a group share: CI would take hours."""
    # Not by the environment, which processes that a test starts inherit.
    if hasattr(session.config, "workerinput") and session.config.getoption("loadgroup", default=False):
        apart = [item.nodeid for item in session.items if item.get_closest_marker("xdist_group") and "@" not in item.nodeid]
        if apart:
            raise pytest.UsageError(f"this pytest-xdist does not keep groups of tests together: {apart[0]}")
