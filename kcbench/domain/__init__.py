"""The nouns of kcbench: plain data, no torch.

Task, Contract, Probe, Observation, Verdict, Submission and Report live in one module each. Everything here can be read from JSON,
written to JSON, and imported in milliseconds.
"""
