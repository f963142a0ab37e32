"""Kernels (Fuentes-Pineda): functions k(x, x′) = φ(x)·φ(x′), and what keeps them valid."""

from cotas.kernel.feature_map import FeatureMap, feature_map
from cotas.kernel.functions import (
    Constant,
    Cosine,
    Linear,
    Polynomial,
    Precomputed,
)
from cotas.kernel.gaussian import RBF, Gaussian
from cotas.kernel.gram_matrix import Mercer, gram, is_mercer
from cotas.kernel.interface import Kernel, KernelValueError, Prepared
from cotas.kernel.own import Custom, FromFeatures

__all__ = [
    "RBF",
    "Constant",
    "Cosine",
    "Custom",
    "FeatureMap",
    "FromFeatures",
    "Gaussian",
    "Kernel",
    "KernelValueError",
    "Linear",
    "Mercer",
    "Polynomial",
    "Precomputed",
    "Prepared",
    "feature_map",
    "gram",
    "is_mercer",
]
