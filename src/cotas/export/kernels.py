"""Kernels as ONNX operations: k(x, zⱼ) for each row x and each of the given rows zⱼ."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.export.graph import Graph
from cotas.kernel.interface import Kernel


def block(kernel: Kernel, graph: Graph, X: str, Z: FloatArray) -> str:
    """The matrix of k(x, z) for the rows of X and those of Z."""
    try:
        return _values(kernel.spec(), graph, X, Z)
    except NotImplementedError:
        raise ValueError(
            f"The kernel {kernel} is a function of Python, which ONNX cannot hold. Kernels that "
            "can be exported are those of cotas.kernels without Custom and FromFeatures, and what "
            "+ * ** and exp make of them."
        ) from None


def _values(spec: Any, graph: Graph, X: str, Z: FloatArray | None) -> str:
    """The values of a formula for the rows of X and those of Z; k(x, x) as a column without Z."""
    match spec:
        case ("linear",):
            return graph.squared_norms(X) if Z is None else _products(graph, X, Z)
        case ("constant", value):
            return graph.repeated(np.full((1, 1 if Z is None else len(Z)), value), X)
        case ("rbf", _, _) | ("gaussian", _) if Z is None:
            return graph.repeated(np.ones((1, 1)), X)
        case ("rbf", gamma, sigma):
            return _falling(graph, X, Z, None, gamma / sigma**2)
        case ("gaussian", inverse_factor):
            return _falling(graph, X, Z, inverse_factor.T, 0.5)
        case ("sum" | "product" as kind, *parts):
            fold = partial(graph.op, "Add" if kind == "sum" else "Mul")
            return reduce(fold, (_values(part, graph, X, Z) for part in parts))
        case ("power", inside, exponent):
            values = _values(inside, graph, X, Z)
            return graph.op("Pow", values, graph.constant(float(exponent)))
        case ("exp", inside):
            return graph.op("Exp", _values(inside, graph, X, Z))
        case ("normalized", inside):
            return _normalized(inside, graph, X, Z)
        case ("columns", inside, chosen):
            some = None if Z is None else Z[:, list(chosen)]
            return _values(inside, graph, graph.columns(X, list(chosen)), some)
    raise NotImplementedError(spec[0])


def _products(graph: Graph, X: str, Z: FloatArray) -> str:
    return graph.op("MatMul", X, graph.constant(Z.T))


def _falling(graph: Graph, X: str, Z: Any, whiten: FloatArray | None, gamma: float) -> str:
    """exp(−γ‖x − z‖²) for rows that are multiplied by a matrix before, if there is one."""
    # Distances do not change when all is moved, and near the origin they round less.
    centre = Z.mean(axis=0, keepdims=True) if len(Z) else np.zeros((1, Z.shape[1]))
    X, Z = graph.op("Sub", X, graph.constant(centre)), Z - centre
    if whiten is not None:
        X, Z = graph.op("MatMul", X, graph.constant(whiten)), Z @ whiten
    products = _products(graph, X, -2 * gamma * Z)
    lengths = graph.op("Mul", graph.squared_norms(X), graph.constant(gamma))
    fixed = gamma * np.einsum("ij,ij->i", Z, Z)[None, :]
    distances = graph.op("Add", graph.op("Add", products, lengths), graph.constant(fixed))
    # Rounding must not make a distance negative.
    return graph.op("Exp", graph.op("Neg", graph.op("Max", distances, graph.constant(0.0))))


def _normalized(inside: Any, graph: Graph, X: str, Z: FloatArray | None) -> str:
    """k(x, z)/√(k(x, x)·k(z, z)), and zero where one of the two is zero."""
    squares = _values(inside, graph, X, None)
    if Z is None:
        return graph.cast(graph.op("Greater", squares, graph.constant(0.0)), np.float64)
    fixed = _lengths(graph, _values(inside, graph, graph.constant(Z), None))
    values = graph.op("Div", _values(inside, graph, X, Z), graph.op("Transpose", fixed))
    return graph.op("Div", values, _lengths(graph, squares))


def _lengths(graph: Graph, squares: str) -> str:
    """The square roots, and infinity for zero, so that what is divided by it becomes zero."""
    roots = graph.op("Sqrt", squares)
    positive = graph.op("Greater", roots, graph.constant(0.0))
    return graph.op("Where", positive, roots, graph.constant(np.inf))
