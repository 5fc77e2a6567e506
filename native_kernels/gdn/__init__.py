"""Gated linear recurrences on tensor cores: kernels, their mathematics as a model, and differentiable functions."""
