"""Kernels on a GPU, by PyTorch and Triton, which are imported only if one is asked for."""
