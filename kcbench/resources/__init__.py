"""What compiled kernels ask of a multiprocessor, read from PTX, SASS, cubins and Triton's cache, and whether there is that much.

The plan of Tensor Memory is read from the code itself (``plan``): the assembler checks single allocations, not what they add up
to nor whether they are freed.
"""
