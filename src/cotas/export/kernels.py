"""Kernels as ONNX operations: k(x, zⱼ) for each row x and each of the given rows zⱼ."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from cotas.arrays import FloatArray
from cotas.export.graph import Graph
from cotas.kernel.algebra import (
    ExponentialOf,
    Normalized,
    OnColumns,
    Power,
    Product,
    Scaled,
    Sum,
)
from cotas.kernel.functions import Constant, Cosine, Linear, Polynomial
from cotas.kernel.gaussian import RBF, Gaussian


@singledispatch
def block(kernel: Any, graph: Graph, X: str, Z: FloatArray) -> str:
    """The matrix of k(x, z) for the rows of X and those of Z."""
    raise ValueError(
        f"The kernel {kernel} is a function of Python, which ONNX cannot hold. Kernels that can be "
        "exported are those of cotas.kernels without Custom and FromFeatures, and what + * ** "
        "and exp make of them."
    )


@singledispatch
def diagonal(kernel: Any, graph: Graph, X: str) -> str:
    """k(x, x) for each row of X, as a column."""
    raise NotImplementedError(type(kernel).__name__)


@block.register
def _(kernel: Linear, graph: Graph, X: str, Z: FloatArray) -> str:
    return graph.op("MatMul", X, graph.constant(Z.T))


@diagonal.register
def _(kernel: Linear, graph: Graph, X: str) -> str:
    return graph.squared_norms(X)


@block.register
def _(kernel: Constant, graph: Graph, X: str, Z: FloatArray) -> str:
    return graph.repeated(np.full((1, len(Z)), float(kernel.value)), X)


@diagonal.register
def _(kernel: Constant, graph: Graph, X: str) -> str:
    return graph.repeated(np.full((1, 1), float(kernel.value)), X)


def _polynomial(kernel: Polynomial, graph: Graph, products: str) -> str:
    inside = graph.op("Add", products, graph.constant(float(kernel.coef0)))
    return graph.op("Pow", inside, graph.constant(float(kernel.degree)))


@block.register
def _(kernel: Polynomial, graph: Graph, X: str, Z: FloatArray) -> str:
    return _polynomial(kernel, graph, block(Linear(), graph, X, kernel.gamma * Z))


@diagonal.register
def _(kernel: Polynomial, graph: Graph, X: str) -> str:
    squares = graph.squared_norms(X)
    scaled = graph.op("Mul", squares, graph.constant(float(kernel.gamma)))
    return _polynomial(kernel, graph, scaled)


def _falling(graph: Graph, X: str, Z: FloatArray, gamma: float) -> str:
    """exp(−γ‖x − z‖²)"""
    products = graph.op("MatMul", X, graph.constant(-2 * gamma * Z.T))
    lengths = graph.op("Mul", graph.squared_norms(X), graph.constant(gamma))
    fixed = gamma * np.einsum("ij,ij->i", Z, Z)[None, :]
    distances = graph.op("Add", graph.op("Add", products, lengths), graph.constant(fixed))
    # Rounding must not make a distance negative.
    return graph.op("Exp", graph.op("Neg", graph.op("Max", distances, graph.constant(0.0))))


@block.register
def _(kernel: RBF, graph: Graph, X: str, Z: FloatArray) -> str:
    # Distances do not change when all is moved, and near the origin they round less.
    centre = _centre(Z)
    moved = graph.op("Sub", X, graph.constant(centre))
    return _falling(graph, moved, Z - centre, kernel.inverse_length**2)


@block.register
def _(kernel: Gaussian, graph: Graph, X: str, Z: FloatArray) -> str:
    centre = _centre(Z)
    factor = np.linalg.cholesky(np.array(kernel.covariance))
    whiten = solve_triangular(factor, np.eye(len(factor)), lower=True).T
    moved = graph.op("Sub", X, graph.constant(centre))
    rows = graph.op("MatMul", moved, graph.constant(whiten))
    return _falling(graph, rows, (Z - centre) @ whiten, 0.5)


@diagonal.register(RBF)
@diagonal.register(Gaussian)
def _(kernel: Any, graph: Graph, X: str) -> str:
    return graph.repeated(np.ones((1, 1)), X)


def _centre(Z: FloatArray) -> FloatArray:
    return np.asarray(Z.mean(axis=0, keepdims=True) if len(Z) else np.zeros((1, Z.shape[1])))


def _lengths(graph: Graph, squares: str) -> str:
    """The square roots, and infinity for zero, so that what is divided by it becomes zero."""
    roots = graph.op("Sqrt", squares)
    positive = graph.op("Greater", roots, graph.constant(0.0))
    return graph.op("Where", positive, roots, graph.constant(np.inf))


@block.register
def _(kernel: Cosine, graph: Graph, X: str, Z: FloatArray) -> str:
    return block(Normalized(Linear()), graph, X, Z)


@diagonal.register
def _(kernel: Cosine, graph: Graph, X: str) -> str:
    return diagonal(Normalized(Linear()), graph, X)


@block.register
def _(kernel: Normalized, graph: Graph, X: str, Z: FloatArray) -> str:
    lengths = np.sqrt(kernel.kernel.diagonal(Z))[None, :]
    lengths = np.where(lengths > 0, lengths, np.inf)
    inner = graph.op("Div", block(kernel.kernel, graph, X, Z), graph.constant(lengths))
    return graph.op("Div", inner, _lengths(graph, diagonal(kernel.kernel, graph, X)))


@diagonal.register
def _(kernel: Normalized, graph: Graph, X: str) -> str:
    positive = graph.op("Greater", diagonal(kernel.kernel, graph, X), graph.constant(0.0))
    return graph.cast(positive, np.float64)


def _folded(graph: Graph, kind: str, parts: list[str]) -> str:
    total = parts[0]
    for part in parts[1:]:
        total = graph.op(kind, total, part)
    return total


@block.register
def _(kernel: Sum, graph: Graph, X: str, Z: FloatArray) -> str:
    return _folded(graph, "Add", [block(part, graph, X, Z) for part in kernel.parts])


@diagonal.register
def _(kernel: Sum, graph: Graph, X: str) -> str:
    return _folded(graph, "Add", [diagonal(part, graph, X) for part in kernel.parts])


@block.register
def _(kernel: Product, graph: Graph, X: str, Z: FloatArray) -> str:
    return _folded(graph, "Mul", [block(part, graph, X, Z) for part in kernel.parts])


@diagonal.register
def _(kernel: Product, graph: Graph, X: str) -> str:
    return _folded(graph, "Mul", [diagonal(part, graph, X) for part in kernel.parts])


def _changed(kernel: Any, graph: Graph, values: str, width: int) -> str:
    """What a kernel of one other makes of its values, so many in a row."""
    if isinstance(kernel, Scaled):
        # A whole row: onnxruntime joins a product of matrices and a single factor in one step,
        # in which the factor is in single precision.
        return graph.op("Mul", values, graph.constant(np.full((1, width), float(kernel.factor))))
    if isinstance(kernel, Power):
        return graph.op("Pow", values, graph.constant(float(kernel.exponent)))
    return graph.op("Exp", values)


@block.register(Scaled)
@block.register(Power)
@block.register(ExponentialOf)
def _(kernel: Any, graph: Graph, X: str, Z: FloatArray) -> str:
    return _changed(kernel, graph, block(kernel.kernel, graph, X, Z), len(Z))


@diagonal.register(Scaled)
@diagonal.register(Power)
@diagonal.register(ExponentialOf)
def _(kernel: Any, graph: Graph, X: str) -> str:
    return _changed(kernel, graph, diagonal(kernel.kernel, graph, X), 1)


@block.register
def _(kernel: OnColumns, graph: Graph, X: str, Z: FloatArray) -> str:
    chosen = list(kernel.columns)
    return block(kernel.kernel, graph, graph.columns(X, chosen), Z[:, chosen])


@diagonal.register
def _(kernel: OnColumns, graph: Graph, X: str) -> str:
    return diagonal(kernel.kernel, graph, graph.columns(X, list(kernel.columns)))
