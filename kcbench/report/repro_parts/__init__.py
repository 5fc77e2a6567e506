"""Parts of reproduction scripts. kcbench reads these files as text and never imports them.

:mod:`kcbench.report.repro` takes from them the check that a finding needs, and what that check uses.
"""
