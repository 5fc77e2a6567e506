"""One module per fault class, each with ``OPERATORS``; a module that is added here is found by name."""
