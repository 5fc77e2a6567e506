"""The kernels on a GPU: the same source, compiled by nvcc for the device at hand."""

from __future__ import annotations

import ctypes
import os
import shutil
from dataclasses import dataclass

import torch

from native_kernels.gdn.build import library
from native_kernels.gdn.call import Call, Instance
from native_kernels.gdn.errors import KernelError


@dataclass(frozen=True)
class Device:
    """One instance on a CUDA device.

    Attributes:
        instance: Which kernels.
        device: Where the tensors lie.
        backend: ``sm100``, ``sm90`` or ``software``; by default what the device has.
    """

    instance: Instance
    device: torch.device
    backend: str = ""

    def run(self, stage: int, call: Call) -> None:
        """Start one stage on the device's current stream.

        Raises:
            KernelError: There is no nvcc, it refuses the source, or the launch is refused.
        """
        with torch.cuda.device(self.device):
            self._run(stage, call)

    def _run(self, stage: int, call: Call) -> None:
        code = self._library()
        stream = torch.cuda.current_stream().cuda_stream
        code.gdn_scratch.restype = ctypes.c_ulonglong
        # The caching allocator gives the scratch to nobody else before the launch is over on this stream.
        scratch = torch.empty(code.gdn_scratch(stage, ctypes.byref(call)), dtype=torch.uint8, device="cuda")
        error = code.gdn_launch(
            stage, ctypes.byref(call), ctypes.c_void_p(stream), ctypes.c_void_p(scratch.data_ptr() if scratch.numel() else None)
        )
        if error:
            code.gdn_error.restype = ctypes.c_char_p
            raise KernelError(
                f"stage {stage} is not launched: {code.gdn_error(error).decode()}", where=self.instance.gate.lower()
            )

    def _library(self) -> ctypes.CDLL:
        backend, target = backend_of(torch.cuda.get_device_capability(self.device))
        return build(self.instance, self.backend or backend, target)


def build(instance: Instance, backend: str, target: str) -> ctypes.CDLL:
    """The library of an instance for a backend and a target, such as ``sm100`` and ``100a``. It needs no GPU.

    Raises:
        KernelError: There is no nvcc, or it refuses the source.
    """
    options = ("-shared", "-Xcompiler", "-fPIC", *instance.macros())
    return library((*command(compiler(), backend, target), *options), "device.cu")


def backend_of(capability: tuple[int, int]) -> tuple[str, str]:
    """The backend for a compute capability, and the target that nvcc compiles for."""
    number = 10 * capability[0] + capability[1]
    if capability[0] == 10:
        return "sm100", f"{number}a"
    return ("sm90", "90a") if capability == (9, 0) else ("software", str(number))


def command(tool: str, backend: str, target: str) -> tuple[str, ...]:
    """How nvcc is called for a backend and a target, such as ``100a``."""
    code = f"arch=compute_{target},code=sm_{target}"
    return tool, "-std=c++20", "-O3", "-gencode", code, f"-DGDN_BACKEND={backend}"


def compiler() -> str:
    """Path of nvcc, or an empty string."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    return shutil.which("nvcc") or shutil.which("nvcc", path=os.path.join(home, "bin")) or ""
