"""Reports: the rigor gap, the run folder, and what people read of it.

Everything here is built from :class:`kcbench.domain.result.Result` and the run's header; no torch is imported.
"""
