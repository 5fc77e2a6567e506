"""The kernels on the CPU emulator: their own source, compiled by a C++20 compiler."""

from __future__ import annotations

import ctypes
import os
import shutil
from dataclasses import dataclass, field

from native_kernels.gdn.build import library
from native_kernels.gdn.call import Call, Instance

EAGER, LATE, RANDOM = range(3)


class EmulatorTrap(RuntimeError):
    """The emulator found a kernel doing what hardware would punish."""


@dataclass
class Emulator:
    """One instance on the emulator.

    Attributes:
        instance: Which kernels.
        schedule: When asynchronous work is done: at once, as late as it may, or at random.
        seed: Of the random schedule.
        columns: By stage, the most Tensor Memory that a CTA held in the last run.
    """

    instance: Instance
    schedule: int = EAGER
    seed: int = 0
    columns: dict[int, int] = field(default_factory=dict)

    def run(self, stage: int, call: Call) -> None:
        """Run one stage on tensors of the CPU.

        Raises:
            EmulatorTrap: A trap ended the launch.
            KernelError: There is no C++20 compiler, or it refuses the source.
        """
        message, columns = ctypes.create_string_buffer(1024), ctypes.c_int()
        failed = self.build().gdn_run(
            stage, ctypes.byref(call), self.schedule, ctypes.c_ulonglong(self.seed), message, len(message), ctypes.byref(columns)
        )
        if failed:
            raise EmulatorTrap(message.value.decode())
        self.columns[stage] = columns.value

    def build(self) -> ctypes.CDLL:
        """The library of the instance.

        Raises:
            KernelError: There is no C++20 compiler, or it refuses the source.
        """
        return library((*command(), *self.instance.macros()), "emulated.cpp")


def needs(instance: Instance, stage: int) -> tuple[int, int]:
    """Bytes of shared memory and columns of Tensor Memory that a CTA of a stage asks for, on any backend."""
    shared, columns = ctypes.c_int(), ctypes.c_int()
    code = library((*command(), *instance.macros()), "needs.cpp")
    code.gdn_needs(stage, ctypes.byref(shared), ctypes.byref(columns))
    return shared.value, columns.value


def command() -> tuple[str, ...]:
    """How the C++ compiler is called."""
    return compiler(), "-std=c++20", "-O2", "-shared", "-fPIC"


def compiler() -> str:
    """Path of the C++ compiler, or an empty string."""
    return shutil.which(os.environ.get("CXX", "g++")) or ""
