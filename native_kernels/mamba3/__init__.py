"""Mamba-3 in Triton: forward and backward pass over sequences, and a decode step."""
