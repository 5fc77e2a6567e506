"""Kernels written by hand in CUDA C++, with what checks them."""
