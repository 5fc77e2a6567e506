"""Errors of the native kernels against the recurrence in float64: norm of the difference over that of the truth, times 1e4.

    python benchmarks/native_errors.py --tokens 63 500 --keys 64 128 [--device cuda]

One row for each member, regime, length and key dimension; on the CPU the kernels run on the emulator. `--bit-equal N` also
repeats both passes N times and counts the runs whose bits differ from the first. ``--backend`` takes another backend than the
GPU's own, such as the unit in software.
"""

from __future__ import annotations

import argparse
from functools import partial

import torch

from native_kernels.gdn.cases import MEAN_GATE, Case, by_kernels, error, make_case, truth
from native_kernels.gdn.device import Device
from native_kernels.gdn.functional import backend_for
from native_kernels.gdn.members import MEMBERS

NAMES = {"out": "o", "last": "S", "q": "dq", "k": "dk", "v": "dv", "g": "dg", "beta": "dbeta", "state": "dS0"}


def on(case: Case, device: str) -> Case:
    return case.with_tensors(**{name: x.to(device) for name, x in case.tensors.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", nargs="+", default=list(MEMBERS), choices=MEMBERS)
    parser.add_argument("--regimes", nargs="+", default=list(MEAN_GATE), choices=MEAN_GATE)
    parser.add_argument("--tokens", nargs="+", type=int, default=[63, 500])
    parser.add_argument("--keys", nargs="+", type=int, default=[64, 128], help="key and value dimension")
    parser.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float16", "float32"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--backend", default="", choices=["sm100", "sm90", "software"], help="on a GPU: not the card's own")
    parser.add_argument("--bit-equal", type=int, default=0, metavar="N")
    options = parser.parse_args()
    if options.backend and options.device == "cpu":
        parser.error("--backend is for a GPU: add --device cuda, or leave it away and the kernels run on the emulator")
    print(f"{'member':9} {'regime':11} {'T':>5} {'D':>4} " + " ".join(f"{name:>6}" for name in NAMES.values()))
    worst: dict[str, float] = {}
    for member in (MEMBERS[name] for name in options.members):
        for regime in options.regimes:
            if member.gate == "none" and regime in ("slow", "fast"):
                continue  # nothing decays
            for dim in options.keys:
                for tokens in options.tokens:
                    case = make_case(member, tokens, dim, dim, group=2, regime=regime, dtype=getattr(torch, options.dtype))
                    here = on(case, options.device)
                    other = partial(Device, device=here.q.device, backend=options.backend)
                    backend = other if options.backend else backend_for(here.q)
                    found, wanted = by_kernels(here, backend), truth(case)
                    errors = {name: error(found[name].cpu(), x) for name, x in wanted.items()}
                    worst[regime] = max(worst.get(regime, 0.0), *errors.values())
                    cells = " ".join(f"{1e4 * errors[name]:6.2f}" if name in errors else " " * 6 for name in NAMES)
                    print(f"{member.name:9} {regime:11} {tokens:5} {dim:4} {cells}", flush=True)
                    different = 0
                    for _ in range(options.bit_equal):
                        again = by_kernels(here, backend)
                        different += any(not torch.equal(again[name], x) for name, x in found.items())
                    if options.bit_equal:
                        print(f"{'':9} {different} of {options.bit_equal} further runs differ in a bit", flush=True)
    print("worst    " + "  ".join(f"{regime} {1e4 * value:.2f}" for regime, value in worst.items()))


if __name__ == "__main__":
    main()
