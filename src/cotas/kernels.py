"""Kernels (document 002): functions k(x, x′) = φ(x)·φ(x′), and what keeps them valid."""

from cotas.kernel.functions import (
    Constant,
    Cosine,
    Custom,
    FromFeatures,
    Linear,
    Polynomial,
    Precomputed,
)
from cotas.kernel.gaussian import RBF, Gaussian
from cotas.kernel.gram_matrix import gram
from cotas.kernel.interface import Kernel, KernelValueError, Prepared

__all__ = [
    "RBF",
    "Constant",
    "Cosine",
    "Custom",
    "FromFeatures",
    "Gaussian",
    "Kernel",
    "KernelValueError",
    "Linear",
    "Polynomial",
    "Precomputed",
    "Prepared",
    "gram",
]
