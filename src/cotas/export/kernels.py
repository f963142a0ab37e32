"""Kernels as ONNX operations: k(x, zⱼ) for each row x and each of the given rows zⱼ."""

from __future__ import annotations

from functools import reduce
from operator import add, mul
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.export.graph import Value
from cotas.kernel.interface import Kernel
from cotas.refusals import ParameterError


def block(kernel: Kernel, X: Value, Z: FloatArray) -> Value:
    """Return the matrix of k(x, z) for the rows of X and those of Z."""
    try:
        return _values(kernel.spec(), X, Z)
    except NotImplementedError:
        raise ParameterError(
            "model",
            f"The kernel {kernel} is a function of Python, which ONNX cannot hold. Kernels that "
            "can be exported are those of cotas.kernels without Custom and FromFeatures, and what "
            "+ * ** and exp make of them.",
        ) from None


def _values(spec: Any, X: Value, Z: FloatArray | None) -> Value:
    """Compute the values of a formula for the rows of X and those of Z; k(x, x) as a column without
    Z."""
    match spec:
        case ("linear",):
            return X.squared_norms() if Z is None else X @ Z.T
        case ("constant", value):
            return X.repeated(np.full((1, 1 if Z is None else len(Z)), value))
        case ("rbf", _, _) | ("gaussian", _) if Z is None:
            return X.repeated(np.ones((1, 1)))
        case ("rbf", gamma, sigma):
            return _falling(X, Z, None, gamma / sigma**2)
        case ("gaussian", inverse_factor):
            return _falling(X, Z, inverse_factor.T, 0.5)
        case ("sum" | "product" as kind, *parts):
            return reduce(add if kind == "sum" else mul, (_values(p, X, Z) for p in parts))
        case ("power", inside, exponent):
            return _values(inside, X, Z) ** float(exponent)
        case ("exp", inside):
            return _values(inside, X, Z).op("Exp")
        case ("normalized", inside):
            return _normalized(inside, X, Z)
        case ("columns", inside, chosen):
            some = None if Z is None else Z[:, list(chosen)]
            return _values(inside, X.columns(list(chosen)), some)
    raise NotImplementedError(spec[0])


def _falling(X: Value, Z: Any, whiten: FloatArray | None, gamma: float) -> Value:
    """Compute exp(−γ‖x − z‖²) for rows that are multiplied by a matrix before, if there is one."""
    # Distances do not change when all is moved, and near the origin they round less.
    centre = Z.mean(axis=0, keepdims=True) if len(Z) else np.zeros((1, Z.shape[1]))
    X, Z = X - centre, Z - centre
    if whiten is not None:
        X, Z = X @ whiten, Z @ whiten
    fixed = gamma * np.einsum("ij,ij->i", Z, Z)[None, :]
    distances: Value = X @ (-2 * gamma * Z.T) + X.squared_norms() * gamma + fixed
    # Rounding must not make a distance negative.
    return distances.op("Max", 0.0).op("Neg").op("Exp")


def _normalized(inside: Any, X: Value, Z: FloatArray | None) -> Value:
    """Compute k(x, z)/√(k(x, x)·k(z, z)), and zero where one of the two is zero."""
    squares = _values(inside, X, None)
    if Z is None:
        return (squares > 0.0).cast(np.float64)
    fixed = _lengths(_values(inside, X.graph.constant(Z), None)).op("Transpose")
    return _values(inside, X, Z) / fixed / _lengths(squares)


def _lengths(squares: Value) -> Value:
    """Compute the square roots, and infinity for zero, so that what is divided by it becomes
    zero."""
    roots = squares.op("Sqrt")
    return (roots > 0.0).where(roots, np.inf)
