"""Fuentes-Pineda: support vector machines with three kernels, and what a kernel is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.experiments.samples import LabelledSample, two_moons, two_rings
from cotas.kernel.svm import KernelSVM
from cotas.kernels import RBF, Linear, Polynomial
from cotas.linear.separability import separability

LAM = 1e-3


@dataclass(frozen=True)
class KernelFit:
    """A kernel machine on points of the plane, with its training error and proved gap."""

    name: str
    data: LabelledSample
    support: int
    error: float
    gap: float
    model: Any


@dataclass(frozen=True)
class Lifted:
    """Points of the plane, the same points in three features, and whether a plane separates."""

    data: LabelledSample
    features: FloatArray
    separable: bool
    separable_lifted: bool
    normal: FloatArray
    offset: float


def linear(seed: int = 0, n: int = 120) -> KernelFit:
    """The linear kernel on two half circles; λ = 0.001 (chosen) for all three kernels."""
    return _fit("linear", Linear(), seed, n)


def radial(seed: int = 0, n: int = 120) -> KernelFit:
    """The radial basis function with σ = 0.5 (chosen)."""
    return _fit("RBF", RBF(0.5), seed, n)


def polynomial(seed: int = 0, n: int = 120) -> KernelFit:
    """The polynomial kernel (x·z + 1)³; degree and constant are chosen."""
    return _fit("polynomial", Polynomial(degree=3, coef0=1.0), seed, n)


def lifted(seed: int = 0, n: int = 120) -> Lifted:
    """The intuition: φ(x) = (x₁, x₂, x₁² + x₂²), whose inner product is x·z + ‖x‖²‖z‖².

    The slide shows a picture only. Chosen: a disc inside a ring, and this φ, which can be drawn.
    """
    data = two_rings(seed, n)
    features = np.column_stack([data.X, (data.X**2).sum(axis=1)])
    before, after = separability(data.X, data.y), separability(features, data.y, widest=True)
    assert after.coef is not None
    assert after.intercept is not None
    return Lifted(data, features, before.separable, after.separable, after.coef, after.intercept)


def _fit(name: str, kernel: Any, seed: int, n: int) -> KernelFit:
    data = two_moons(seed, n)
    model: Any = KernelSVM(kernel=kernel, lam=LAM, tol=1e-6).fit(*data)
    return KernelFit(
        name,
        data,
        len(model.support_),
        1 - float(model.score(*data)),
        model.certificate_.relative_gap,
        model,
    )
