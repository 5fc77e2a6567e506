"""Calibration: what honest and broken kernels say of the gates' free constants, and of the gates themselves. No torch."""
