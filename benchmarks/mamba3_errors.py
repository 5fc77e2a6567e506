"""Errors of the Mamba-3 kernels and of eager torch against their tasks' models in float64, and their times on a GPU.

    python benchmarks/mamba3_errors.py [--device cuda --tokens 1000 2048]

One row for each task, dtype and length: the worst norm of a difference over that of the truth among outputs and gradients, times
1e4, and which it is. Without a GPU the kernels run on Triton's interpreter. ``--bit-equal N`` repeats both passes and counts the
runs whose bits differ. On a GPU the last two columns are milliseconds of both passes: of the kernels, and of the task's model.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial

import torch


def milliseconds(call: Callable[[], object], repeats: int = 10) -> float:
    """Median time of a call, after one that warms up."""
    call()
    taken = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        taken.append(1e3 * (time.perf_counter() - start))
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", nargs="+", type=int, default=[63, 130])
    parser.add_argument("--decoded", type=int, default=4, metavar="N", help="tokens of a decode step")
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--angles", type=int, default=16, help="a quarter of the key dimension")
    parser.add_argument("--values", type=int, default=64)
    parser.add_argument("--rank", type=int, default=4)
    parser.add_argument("--dtypes", nargs="+", default=["float32", "float16"], choices=["float32", "float16", "bfloat16"])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--bit-equal", type=int, default=0, metavar="N")
    options = parser.parse_args()
    if options.device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported
    from native_kernels.gdn.cases import error
    from native_kernels.mamba3.cases import NAMES, entry_model, make_inputs, results, truth_model

    sizes = {"batch_size": 2, "num_heads": options.heads, "num_angles": options.angles, "value_dim": options.values}
    print(
        f"{'task':19} {'dtype':9} {'T':>5} {'kernels':>8} {'of':7} {'eager':>8} {'of':7} {'differ':>7} {'ms':>8} {'ms eager':>9}"
    )
    for name in NAMES:
        entry, model = entry_model(name), truth_model(name)
        for dtype in options.dtypes:
            for tokens in [options.decoded] if name.endswith("_decode") else options.tokens:
                bounds = (0, tokens // 3, tokens // 3 + 1, tokens)
                plain = make_inputs(name, boundaries=bounds, seq_len=tokens, mimo_rank=options.rank, **sizes)
                rounded = {key: x.to(getattr(torch, dtype)) if x.is_floating_point() else x for key, x in plain.items()}
                exact = {key: x.double() if x.is_floating_point() else x for key, x in rounded.items()}
                wanted = results(name, model, exact)
                inputs = {key: x.to(options.device) for key, x in rounded.items()}
                found = results(name, entry, inputs)
                cells = []
                for mine in (found, results(name, model, inputs)):
                    errors = {key: error(mine[key].cpu(), x) for key, x in wanted.items()}
                    worst = max(errors, key=lambda key: errors[key])
                    cells.append(f"{1e4 * errors[worst]:8.4f} {worst:7}")
                again = (results(name, entry, inputs) for _ in range(options.bit_equal))
                different = sum(any(not torch.equal(x, run[key]) for key, x in found.items()) for run in again)
                cells.append(f"{different:7}" if options.bit_equal else " " * 7)
                if options.device == "cuda":
                    cells.append(f"{milliseconds(partial(results, name, entry, inputs)):8.2f}")
                    cells.append(f"{milliseconds(partial(results, name, model, inputs), 3):9.2f}")
                print(f"{name:19} {dtype:9} {tokens:5} " + " ".join(cells), flush=True)


if __name__ == "__main__":
    main()
