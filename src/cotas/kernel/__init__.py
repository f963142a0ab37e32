"""Kernels, and the models that see the data through a kernel alone."""
