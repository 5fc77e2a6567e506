"""What every failure code means, in plain language: what the gate asked, and what the kernel did."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Sentence(NamedTuple):
    """Two halves of an explanation."""

    asked: str
    """A whole sentence without its full stop."""
    did: str
    """The same, ready to be followed by a colon and the details."""


_CRASH = Sentence(
    "Every call inside the contract's class of sizes, layouts, dtypes and values must be computed",
    "The kernel ended the call without a result",
)

SENTENCES: Mapping[str, Sentence] = MappingProxyType(
    {
        **{
            f"{gate}.crash": _CRASH
            for gate in ("CMP-01", "CMP-02", "CMP-03", "ORD-01", "ORD-02", "ORD-03", "PRC-01", "PRC-02", "EXC-01", "EXC-02")
        },
        "GUARD.weights-stale": Sentence(
            "Parameters are inputs too: after weights change in place, the next call must use the new values",
            "The kernel kept computing with a copy of the old ones",
        ),
        "GUARD.mutates-input": Sentence(
            "A kernel may read its inputs but must leave their bytes as they are",
            "The kernel wrote into an input",
        ),
        "GUARD.writes-outside": Sentence(
            "A kernel may write to what it allocates, and to nothing else",
            "The kernel wrote beyond the end of its memory, as a store without a mask does",
        ),
        "GUARD.subclass": Sentence(
            "Outputs must be plain tensors, so that their values exist when the call returns",
            "The kernel returned an object of another class, which could compute lazily or answer comparisons itself",
        ),
        "GUARD.output-dtype": Sentence(
            "Outputs must have the dtype that the task's eager model returns for the same inputs",
            "The kernel returned another dtype",
        ),
        "GUARD.output-shape": Sentence(
            "Outputs must have the number and shapes that the task's eager model returns for the same inputs",
            "The kernel returned another shape",
        ),
        "GUARD.stateful": Sentence(
            "A call's result may depend on its inputs and parameters alone, so a used model object must answer like a fresh one",
            "The kernel's answer depends on the calls before it",
        ),
        "GUARD.unfinished": Sentence(
            "All calls of the run must come back within the limits of time and memory",
            "The kernel ended a call, or the run, without a result",
        ),
        "CMP-01.value": Sentence(
            "For every distribution, scale and sign of the inputs, each output must lie within the derived rounding bound around "
            "the float64 result",
            "The kernel's result is further off than rounding can explain",
        ),
        "CMP-01.integer": Sentence(
            "On small integers every partial result is exactly representable, so any correct order of operations is exact",
            "The kernel's result is not the exact one",
        ),
        "CMP-01.zeros": Sentence(
            "The outputs must carry the values that these inputs produce",
            "The kernel returned zeros instead",
        ),
        "CMP-01.input-blind": Sentence(
            "When the inputs change, the outputs must follow",
            "The kernel gave the same output for different inputs",
        ),
        "CMP-02.vjp": Sentence(
            "With a random cotangent, the gradient must lie within the derived bound around float64 autograd, away from kinks",
            "The kernel's backward pass gives another gradient",
        ),
        "CMP-02.forward": Sentence(
            "A call whose gradient is taken must return the same values as any other call",
            "The kernel's result in such a call is further off than rounding can explain",
        ),
        "CMP-02.missing": Sentence(
            "The contract asks for gradients, and autograd must be able to take them through the kernel's output",
            "The kernel does not give one",
        ),
        "CMP-03.shape": Sentence(
            "Results must stay right for every size in the contract's class: one, primes, one off a tile, tall and wide",
            "The kernel's result is wrong at this size",
        ),
        "CMP-03.stride": Sentence(
            "Non-contiguous and offset inputs hold the same values, so they must give the same results",
            "The kernel's result is wrong for this layout",
        ),
        "CMP-03.batch": Sentence(
            "A batch of one is inside the contract's class and must be as right as a larger one",
            "The kernel's result is wrong for a batch of one",
        ),
        "CMP-03.empty": Sentence(
            "An empty tensor is inside the contract's class and must give the empty or neutral result of eager torch",
            "The kernel does not handle it",
        ),
        "ORD-01.order": Sentence(
            "Permuting the summed axis changes only the order of additions, so the result may move by rounding alone",
            "The kernel's result moved further",
        ),
        "ORD-02.nondeterministic": Sentence(
            "Repeated calls on the same inputs must give the same bytes, on a quiet and a loaded device and with used memory",
            "The kernel's repeats differ",
        ),
        "ORD-02.alias-input": Sentence(
            "An output must own its storage, because the caller may change an input or a parameter afterwards",
            "The kernel returned memory that belongs to one of them",
        ),
        "ORD-02.alias-output": Sentence(
            "An earlier output must stay as it is while the caller holds it",
            "The kernel handed out the same memory again in a later call",
        ),
        "ORD-02.mutates-input": Sentence(
            "A call must leave the bytes of its inputs as they are",
            "The kernel wrote into an input",
        ),
        "ORD-02.stateful": Sentence(
            "The same inputs must give the same bytes after other calls as before them",
            "The kernel's result depends on what was called in between",
        ),
        "ORD-03.cancellation": Sentence(
            "Large terms that cancel must leave the small ones standing, within a bound on the sum of magnitudes",
            "The kernel's result is further off",
        ),
        "PRC-01.value": Sentence(
            "For each declared dtype, every output must lie within the bound that the dtype and the contract's regime allow",
            "The kernel's result is further off",
        ),
        "PRC-01.tf32": Sentence(
            "The contract owes IEEE float32 products: multiplying by an identity matrix must return the operand unchanged",
            "The kernel dropped the low mantissa bits, as TF32 does",
        ),
        "PRC-01.narrowed": Sentence(
            "Inputs must be used at the precision in which they arrive: an identity operation must return them unchanged",
            "The kernel did not, as if it had rounded them to a narrower type first",
        ),
        "PRC-01.dtype": Sentence(
            "Outputs must have the dtype that eager torch returns for these inputs",
            "The kernel returned another dtype",
        ),
        "PRC-02.accumulator": Sentence(
            "Every partial sum of these inputs fits float32 exactly, so any order of float32 additions gives the exact sum",
            "The kernel's sum is another one, as a float16 or bfloat16 accumulator gives",
        ),
        "EXC-01.absorbed": Sentence(
            "A NaN or infinity in an input must show in every output that depends on it, as in exact arithmetic",
            "The kernel hid it",
        ),
        "EXC-01.minted": Sentence(
            "Finite inputs with a finite exact result must give a finite output",
            "The kernel produced a NaN or an infinity of its own",
        ),
        "EXC-01.spread": Sentence(
            "A NaN or infinity may show in no more outputs than in exact arithmetic, and an infinity may not decay to NaN",
            "The kernel spread it further",
        ),
        "EXC-01.sign": Sentence(
            "An infinite output must have the sign that exact arithmetic gives it",
            "The kernel returned the other infinity",
        ),
        "EXC-02.flushed": Sentence(
            "Subnormal numbers must fare as the contract says: kept, unless it asks that they are flushed to zero",
            "The kernel treats them the other way",
        ),
        "EXC-02.inconsistent": Sentence(
            "Subnormal numbers must all fare alike, and as the contract says",
            "The kernel keeps some of them and flushes others",
        ),
        "EXC-02.minted": Sentence(
            "Subnormal inputs have finite results here",
            "The kernel produced a NaN or an infinity from them",
        ),
        "RES-01.device": Sentence(
            "Outputs must lie on the device of the inputs",
            "The kernel returned a tensor that lies elsewhere",
        ),
        "RES-01.host-copy": Sentence(
            "The work must stay on the device",
            "The kernel copied tensors to the host during the call",
        ),
        "RES-01.stream": Sentence(
            "Work must be ordered by the CUDA stream that is current during the call",
            "The kernel ran on another stream, so that the caller could read the output before it was written",
        ),
        "RES-01.memory": Sentence(
            "Peak device memory must stay within the contract's multiple of the operands' own bytes",
            "The kernel took more",
        ),
        "RES-02.registers": Sentence(
            "A compiled kernel must launch within the target's registers per thread and per block",
            "The kernel needs more",
        ),
        "RES-02.shared": Sentence(
            "A compiled kernel must fit the target's shared memory per block",
            "The kernel needs more",
        ),
        "RES-02.tmem": Sentence(
            "Tensor Memory must be taken in powers of two from 32 columns, at most 512 over co-resident blocks",
            "The kernel's allocation breaks that rule",
        ),
        "RES-02.tmem-leak": Sentence(
            "Tensor Memory must be freed on every path through the kernel",
            "The kernel leaves some allocated",
        ),
        "RES-02.spill-storm": Sentence(
            "A compiled kernel must keep its working set in registers, apart from a few spills",
            "The kernel spills heavily to local memory",
        ),
    }
)
"""By ``GATE.code``: every code that a gate or the guard may give."""
