"""One module per family of tasks; each has ``variants() -> Iterator[Variant]``."""
