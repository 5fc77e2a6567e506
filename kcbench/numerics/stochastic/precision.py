"""Precision: the roundings that a declared regime and a storage dtype allow, as numbers."""

from __future__ import annotations

from dataclasses import dataclass

from kcbench.numerics.formats import format_of

FLOAT64_PROXY = 2.0**-40
"""Roundoff at which a float64 evaluation is simulated. Noise of 2^-53 would itself be lost in float64 arithmetic; sigma is
linear in u, so it is measured at this u and scaled down."""


@dataclass(frozen=True)
class Precision:
    """The roundings of one evaluation."""

    u: float
    """Roundoff of every operation: products, accumulators, elementwise results."""
    tiny: float
    """Absolute error of every operation: what flushing a subnormal result may cost."""
    store: float
    """Roundoff of what eager stores between two operations; 0.0 where that is ``u`` itself."""
    store_eta: float
    """Absolute error of such a store (float16 subnormals); 0.0 where ``tiny`` covers it."""
    tf32: bool
    """Whether contractions round or truncate their inputs to 11 significand bits."""
    truncates: bool
    """Whether contractions may run on tensor cores, whose accumulators truncate."""
    rescale: float
    """Factor from the simulated sigma to the true one; 1.0 but for float64."""
    chaotic: float
    """Relative sigma above which comparing values says nothing: 1e-3 in float32, a sign of chaos. Where the declared rounding
    is coarse, 1/8, above which a kernel that returns zeros would pass at kappa = 8."""

    @classmethod
    def of(cls, regime: str, store: str) -> Precision:
        """The precision of a regime (``ieee`` or ``tf32``) and a storage dtype.

        Raises:
            ValueError: If either name is unknown.
        """
        if regime not in ("ieee", "tf32"):
            raise ValueError(f"unknown precision regime {regime!r}")
        form, working = format_of(store), format_of("float32")
        if store == "float64":
            # The truth carries float64 roundings of its own, as large as the candidate's: hence the square root of two.
            scale = form.u / FLOAT64_PROXY * 2.0**0.5
            return cls(FLOAT64_PROXY, 0.0, 0.0, 0.0, tf32=False, truncates=False, rescale=scale, chaotic=1e-3)
        half = store != "float32"
        # 16-bit inputs are exact in tf32, so the regime changes float32 contractions alone.
        tf32 = regime == "tf32" and not half
        return cls(
            u=working.u,
            tiny=working.smallest_normal,
            store=form.u if half else 0.0,
            store_eta=form.smallest_subnormal if store == "float16" else 0.0,
            tf32=tf32,
            truncates=tf32 or half,
            rescale=1.0,
            chaotic=0.125 if tf32 or half else 1e-3,
        )
