"""Source text to a class, in this process: the ensemble's own texts only, never a stranger's."""

from __future__ import annotations

import linecache
import os
import re
import sys
import types

from torch import nn

from kcbench.ensemble.variant import TRITON, Variant
from kcbench.errors import KcbenchError


def load(variant: Variant) -> type[nn.Module]:
    """The variant's ``ModelNew``; Triton kernels run on Triton's interpreter.

    Raises:
        KcbenchError: Triton is already in use here, and not on its interpreter.
    """
    if variant.language == TRITON:
        if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
            raise KcbenchError("triton was imported for a GPU", where=variant.id, fix="set TRITON_INTERPRET=1 beforehand")
        os.environ["TRITON_INTERPRET"] = "1"
    name = f"<{variant.id}>"
    # Triton reads a kernel's text where a debugger would look for it.
    linecache.cache[name] = len(variant.source), None, variant.source.splitlines(keepends=True), name
    module = types.ModuleType(re.sub(r"\W", "_", f"kcbench_variant_{variant.id}"))
    module.__file__ = name
    # Triton also looks the kernel's module up by name.
    sys.modules[module.__name__] = module
    exec(compile(variant.source, name, "exec"), module.__dict__)
    entry: type[nn.Module] = module.__dict__["ModelNew"]
    return entry
