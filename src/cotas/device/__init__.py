"""Kernels on a GPU, by PyTorch and Triton; nothing here is imported unless a device is asked for."""
