"""Where submissions come from: one module for each layout in which kernels are found."""
