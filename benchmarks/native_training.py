"""Does a model train through the native kernels as it does through the recurrence in float32?

    python benchmarks/native_training.py [--members gdn kda] [--dtype bfloat16] [--steps 300] [--device cuda]

A two-layer model of each member learns, from the same start and on the same data, once with its recurrence computed by the
kernels on operands of ``--dtype``, and once token by token in float32. Each sequence follows a random map of its own, with
mistakes, so that only what the state remembers can predict it. One row a member: mean loss of both over the last 20 steps, and
their ratio. Exits with 1 if a loss or a gradient was not finite, or where the ratio is off by more than a hundredth.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from itertools import chain

import torch
from torch import Tensor, nn
from torch.nn import functional

from native_kernels.gdn.functional import backend_for
from native_kernels.gdn.members import MEMBERS, Member
from native_kernels.gdn.ops import recurrence as by_kernels
from native_kernels.gdn.recurrence import recurrence as by_token

SYMBOLS, BATCH, HEADS, HEAD_DIM = 16, 32, 2, 64
WIDTH = HEADS * HEAD_DIM
MISTAKES = 0.1
TAIL = 20
ALLOWED = 0.01

Mix = Callable[[Member, Tensor, Tensor, Tensor, Tensor | None, Tensor | None], Tensor]
"""A recurrence: the member, q, k, v, g and beta in the layout ``[batch, time, heads, ...]``; float32 out."""


def kernels(dtype: torch.dtype) -> Mix:
    """The native kernels, on operands of a dtype."""

    def mix(member: Member, q: Tensor, k: Tensor, v: Tensor, g: Tensor | None, beta: Tensor | None) -> Tensor:
        q, k, v = (x.to(dtype) for x in (q, k, v))
        return by_kernels(member, backend_for(q), q, k, v, g, beta)[0].float()

    return mix


def tokens(member: Member, q: Tensor, k: Tensor, v: Tensor, g: Tensor | None, beta: Tensor | None) -> Tensor:
    """The recurrence, token by token in float32."""
    rows = [x.transpose(1, 2).flatten(0, 1) for x in (q, k, v)]
    gate, strength = (None if x is None else x.transpose(1, 2).flatten(0, 1) for x in (g, beta))
    state = q.new_zeros(q.shape[0] * q.shape[2], q.shape[3], v.shape[3])
    out, _ = by_token(member, rows[0], rows[1], rows[2], gate, strength, state, 1 / math.sqrt(q.shape[3]))
    result: Tensor = out.unflatten(0, (q.shape[0], q.shape[2])).transpose(1, 2)
    return result


class Layer(nn.Module):
    """A recurrence between two projections, and a perceptron."""

    def __init__(self, member: Member, mix: Mix) -> None:
        super().__init__()
        self.member, self.mix = member, mix
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        gates = {"none": 0, "scalar": HEADS, "channel": WIDTH}[member.gate]
        self.gate = nn.Linear(WIDTH, gates) if gates else None
        self.beta = nn.Linear(WIDTH, HEADS) if member.delta else None
        self.perceptron = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        normed = self.norms[0](x)
        q, k, v = (part.unflatten(2, (HEADS, HEAD_DIM)) for part in self.qkv(normed).chunk(3, 2))
        k = functional.pad(k, (0, 0, 0, 0, 1, 0))[:, :-1]  # what follows a symbol is stored under that symbol
        q, k = functional.normalize(q, dim=3), functional.normalize(k, dim=3)
        g = None if self.gate is None else functional.logsigmoid(self.gate(normed)) / 8
        if g is not None and self.member.gate == "channel":
            g = g.unflatten(2, (HEADS, HEAD_DIM))
        beta = None if self.beta is None else self.beta(normed).sigmoid()
        x = x + self.out(self.mix(self.member, q, k, v, g, beta).flatten(2))
        found: Tensor = x + self.perceptron(self.norms[1](x))
        return found


def model_of(member: Member, mix: Mix, device: str) -> nn.Module:
    """The model from its one start."""
    torch.manual_seed(0)
    layers = [Layer(member, mix) for _ in range(2)]
    model = nn.Sequential(nn.Embedding(SYMBOLS, WIDTH), *layers, nn.LayerNorm(WIDTH), nn.Linear(WIDTH, SYMBOLS))
    return model.to(device)


def batches(steps: int, length: int) -> Iterator[Tensor]:
    """Sequences ``[batch, length + 1]``: each symbol is its sequence's map of the one before, or now and then any symbol."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        maps = torch.rand(BATCH, SYMBOLS, generator=generator).argsort(1)
        wrong = torch.rand(BATCH, length, generator=generator) < MISTAKES
        noise = torch.randint(SYMBOLS, (BATCH, length + 1), generator=generator)
        symbols = [noise[:, 0]]
        for t in range(length):
            following = maps.gather(1, symbols[-1][:, None])[:, 0]
            symbols.append(torch.where(wrong[:, t], noise[:, t + 1], following))
        yield torch.stack(symbols, 1)


def train(model: nn.Module, steps: int, length: int, device: str) -> tuple[list[float], int]:
    """The loss of each step, and in how many steps a gradient or the loss was not finite."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses, bad = [], torch.zeros((), dtype=torch.int64, device=device)
    for sequence in batches(steps, length):
        sequence = sequence.to(device)
        loss = functional.cross_entropy(model(sequence[:, :-1]).flatten(0, 1), sequence[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        seen = chain([loss], (weight.grad for weight in model.parameters() if weight.grad is not None))
        bad += ~torch.stack([value.isfinite().all() for value in seen]).all()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).tolist(), int(bad)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", nargs="+", default=list(MEMBERS), choices=MEMBERS)
    parser.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float16", "float32"])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--tokens", type=int, default=150, help="length of a sequence; a multiple of 64 leaves no short chunk")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    print(f"{'member':9} {'first loss':>10} {'kernels':>9} {'float32':>9} {'ratio':>8} {'not finite':>11}")
    good = True
    for member in (MEMBERS[name] for name in options.members):
        runs = [
            train(model_of(member, mix, options.device), options.steps, options.tokens, options.device)
            for mix in (kernels(getattr(torch, options.dtype)), tokens)
        ]
        means = [sum(losses[-TAIL:]) / len(losses[-TAIL:]) for losses, _ in runs]
        ratio, bad = means[0] / means[1], runs[0][1]
        good = good and not bad and abs(ratio - 1) <= ALLOWED
        print(f"{member.name:9} {runs[0][0][0]:10.4f} {means[0]:9.4f} {means[1]:9.4f} {ratio:8.4f} {bad:11}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
