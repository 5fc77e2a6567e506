"""Builds libraries of the kernels before anything waits for them; run it as ``python -m native_kernels.gdn.prebuild``."""

from __future__ import annotations

import argparse
import itertools

import torch

from native_kernels.gdn import device
from native_kernels.gdn.call import Instance, instance_for
from native_kernels.gdn.emulator import Emulator
from native_kernels.gdn.errors import KernelError
from native_kernels.gdn.members import MEMBERS

DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
BACKENDS = {"100a": "sm100", "103a": "sm100", "90a": "sm90"}


def main() -> None:
    """Build one library after the other, and name each."""
    parser = argparse.ArgumentParser(description="Build libraries of the kernels before anything waits for them.")
    parser.add_argument("--target", default="", help="such as 100a, 103a or 90a; the present card's, or the emulator without one")
    parser.add_argument("--members", nargs="+", default=list(MEMBERS), choices=MEMBERS)
    parser.add_argument("--dtypes", nargs="+", default=list(DTYPES), choices=DTYPES)
    parser.add_argument("--keys", nargs="+", type=int, default=[64, 128], choices=[64, 128])
    options = parser.parse_args()
    target = options.target
    if not target and torch.cuda.is_available():
        target = device.backend_of(torch.cuda.get_device_capability())[1]
    for name, dtype, key_dim in itertools.product(options.members, options.dtypes, options.keys):
        instance = instance_for(MEMBERS[name], DTYPES[dtype], key_dim)
        try:
            _build(instance, target)
        except KernelError as error:
            parser.exit(2, f"{error}\n")
        print(f"{name} {dtype} {key_dim} for {target or 'the emulator'}", flush=True)


def _build(instance: Instance, target: str) -> None:
    if target:
        device.build(instance, BACKENDS.get(target, "software"), target)
    else:
        Emulator(instance).build()


if __name__ == "__main__":
    main()
