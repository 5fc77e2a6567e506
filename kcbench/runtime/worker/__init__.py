"""What runs in the untrusted process: the standard library, torch, and the siblings in this folder.

The fork server loads this folder as a package of its own, by path, so that nothing else of kcbench is imported where a submission
runs.
"""
