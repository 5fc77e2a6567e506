"""What the functions raise. Nothing here imports kcbench: a submission cannot."""

from __future__ import annotations


class KernelError(ValueError):
    """Arguments do not fit together, or a library cannot be built or started; one line says what, where and what to do."""

    def __init__(self, what: str, *, where: str, fix: str = "") -> None:
        super().__init__(f"{where}: {what}" + (f" ({fix})" if fix else ""))
