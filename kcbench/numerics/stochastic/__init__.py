"""The stochastic-rounding error model: a tolerance for every output element of any torch reference.

The reference is evaluated in float64 on operands already rounded to the candidate's dtype, several times, and each time every
operation adds the noise of the roundings that the declared regime allows (:func:`estimate`). The spread of the results is
sigma; an error is judged as ``z = max((|err| - u_out |y*| - eta) / sigma)`` (:func:`z_score`) and passes at ``z <= KAPPA``.
Nothing is derived from the kernel under judgement, and nothing is tuned per kernel.

The model. u is 2^-24 (accumulation is in float32 for 16-bit dtypes), xi a fresh standard normal per element, g a sign that all
operations of a run share. :mod:`rules_contraction` has the formulas for sums of N products, with sixteen partial sums in
natural order; :mod:`rules_reduction` those of variances, norms and scans; :mod:`rules_linear` those of scatters and pools;
:mod:`rules_elementwise` the roundoffs of elementwise operations; :mod:`rules_composite`, :mod:`rules_norm` and
:mod:`rules_attention` take fused operations apart at the float32 level; :mod:`rules_decision` holds what jumps. Composites
without a rule use torch's own decomposition, operations without either a black-box rule, and are named in
:attr:`Estimate.blackbox`. With 16-bit storage each result of an eager operation is rounded when something first reads it
(:mod:`mode`), so that the last rounding appears only in u_out.

Sources. Mean-zero rounding errors that add up like sqrt(N): N. J. Higham and T. Mary, SIAM J. Sci. Comput. 41 (2019).
Truncating tensor cores: M. Fasi et al., PeerJ Computer Science 7:e330 (2021). The constants were fitted once to honest
re-implementations and planted faults of 29 problems in four regimes on a CPU, then checked with cuBLAS, cuDNN, eager and
compiled kernels on an H200. Four additions to that fit are argued from formulas rather than measured there: sums of equal terms
(:func:`rules_contraction.coherent`), the absolute roundoff of tanh and erf, softplus and ELU by their textbook formulas, and
normalisation folded into one multiplication and one addition.

Failure modes.

- Chaotic references: any rounding moves the result by its size. :attr:`Estimate.vacuous` says so; check step by step.
- Jumps (round, floor, comparisons, argmax, the derivative of ReLU): elements that a rounding may move across one are in
  :attr:`Estimate.ambiguous` and must be left out.
- Biased rounding, other than of equal terms: a sum of a few distinct values in sequence can drift further than sqrt(N).
- Overflow: float64 hides it. Where the class of an element is in question ask eager at the same dtype.
- Eager at 16 bit where it accumulates in 16 bit (cumsum on CUDA; batch norm, cross entropy, scatter-like adjoints on a CPU)
  breaks the bound: the check is then invalid for that dtype, the model is not.
- What lies under the declared rounding cannot be seen: a float16 accumulator behind bfloat16 stores, tf32 operands in a long
  positive sum. Inputs designed for the fault decide there.
- ``run`` must be a function of its operands: copies made in it, or literals it draws, take part in the rounding.
"""

from __future__ import annotations

from kcbench.numerics.stochastic import (  # noqa: F401  (importing a family registers its rules)
    rules_attention,
    rules_composite,
    rules_contraction,
    rules_convolution,
    rules_decision,
    rules_elementwise,
    rules_linear,
    rules_norm,
    rules_reduction,
)
from kcbench.numerics.stochastic.sigma import KAPPA, Estimate, estimate, z_score

__all__ = ["KAPPA", "Estimate", "estimate", "z_score"]
