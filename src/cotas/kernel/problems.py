"""The binary problems that a classification with several classes is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from cotas.arrays import BoolArray, FloatArray, IntArray, Matrix
from cotas.certificates import presentation
from cotas.fitting.data import Examples


def named(negative: Any, positive: Any) -> str:
    """The name of what tells two classes apart, or one from the rest."""
    if negative is None:
        return presentation.against_the_rest(positive)
    return presentation.against(negative, positive)


@dataclass(frozen=True)
class BinaryProblem:
    """One class against another, or against the rest.

    Attributes
    ----------
    positive, negative : the two labels; `negative` is None for the rest
    rows : the rows that take part; None stands for all
    signs, weights : ±1 and sᵢ of those rows; the weights sum to one
    equal : whether all the weights are the same
    lam : λ
    """

    positive: Any
    negative: Any
    rows: IntArray | None
    signs: FloatArray
    weights: FloatArray
    equal: bool
    lam: float

    @property
    def label(self) -> Any:
        """What reports call it."""
        return self.positive if self.negative is None else (self.negative, self.positive)

    def of(self, X: Matrix, square: bool) -> Matrix:
        """The rows of X that take part, and the same columns of a square Gram matrix."""
        if self.rows is None:
            return X
        return X[self.rows][:, self.rows] if square else X[self.rows]


def against_the_rest(examples: Examples, lam: float, C: float | None) -> list[BinaryProblem]:
    """Each class against all the others; the second against the first if there are two."""
    every = np.ones(examples.n_rows, dtype=np.bool_)
    return [_problem(examples, every, int(code), None, lam, C) for code in examples.positives()]


def one_against_one(examples: Examples, lam: float, C: float | None) -> list[BinaryProblem]:
    """Each pair of classes, the later one being +1; two classes are all the rows."""
    if len(examples.classes) == 2:
        return against_the_rest(examples, lam, C)
    codes, used = examples.codes, np.ones(examples.n_rows, dtype=np.bool_)
    if examples.weights is not None:
        used = examples.weights > 0
    return [
        _problem(examples, used & ((codes == first) | (codes == second)), second, first, lam, C)
        for first, second in combinations(range(len(examples.classes)), 2)
    ]


def _problem(
    examples: Examples,
    chosen: BoolArray,
    positive: int,
    negative: int | None,
    lam: float,
    C: float | None,
) -> BinaryProblem:
    rows = None if negative is None else np.flatnonzero(chosen).astype(np.int32)
    part = slice(None) if rows is None else rows
    signs = np.where(examples.codes[part] == positive, 1.0, -1.0)
    given = np.ones(len(signs)) if examples.weights is None else examples.weights[part]
    total = float(given.sum())
    return BinaryProblem(
        positive=examples.classes[positive],
        negative=None if negative is None else examples.classes[negative],
        rows=rows,
        signs=signs,
        weights=given / total,
        equal=examples.weights is None,
        lam=lam if C is None else 1.0 / (C * total),
    )


def gathered(
    problems: Sequence[BinaryProblem], coefs: Sequence[FloatArray], n_rows: int
) -> tuple[IntArray, FloatArray]:
    """The rows with a coefficient in some problem, and theirs in each of the problems."""
    part = [slice(None) if problem.rows is None else problem.rows for problem in problems]
    support = np.zeros(n_rows, dtype=np.bool_)
    for rows, coef in zip(part, coefs, strict=True):
        support[rows] |= coef != 0
    chosen = np.flatnonzero(support)
    beta, row = np.zeros((len(coefs), len(chosen))), np.zeros(n_rows)
    for out, rows, coef in zip(beta, part, coefs, strict=True):
        row[:] = 0.0
        row[rows] = coef
        out[:] = row[chosen]
    return chosen, beta
