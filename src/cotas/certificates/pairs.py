"""The certificate of two classes of several, kept without the rows that have no part in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, IntArray, Matrix
from cotas.certificates.certificate import Certificate
from cotas.certificates.kernel_duality import KernelDualPoint, KernelFunction
from cotas.certificates.sweep import Facts, gather_facts
from cotas.problem import RegularisedRisk


@dataclass(frozen=True)
class PairPoint:
    """A `KernelDualPoint` in which all but some rows have no weight.

    One against one, k classes make k(k−1)/2 machines, and each is about two classes only: the
    other rows add nothing to P nor to D. The certificate is about the data of the whole fit all
    the same, and any change of those data shows.

    Attributes
    ----------
    rows : the rows of the two classes, of `n_rows`
    square : whether X is the Gram matrix itself, so that its columns are rows too
    some_coef, multipliers, weights : βᵢ, αᵢ/sᵢ and sᵢ of those rows
    """

    problem: RegularisedRisk
    kernel: KernelFunction
    n_rows: int
    square: bool
    rows: IntArray = field(repr=False)
    some_coef: FloatArray = field(repr=False)
    intercept: float
    positive: Any
    multipliers: AnyArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    subject: str = ""

    @property
    def coef(self) -> FloatArray:
        """β of all the rows."""
        return self._spread(self.some_coef)

    def whole(self) -> KernelDualPoint:
        """The same point with the zeros of all other rows."""
        return KernelDualPoint(
            problem=self.problem,
            kernel=self.kernel,
            coef=self.coef,
            intercept=self.intercept,
            positive=self.positive,
            multipliers=self._spread(self.multipliers),
            weights=self._spread(self.weights),
            subject=self.subject,
        )

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        """The certificate of this point, recomputed from the data."""
        if np.shape(X)[0] != self.n_rows:
            raise ValueError(
                f"X has {np.shape(X)[0]} rows; the certificate is about {self.n_rows}."
            )
        y = np.asarray(y)
        facts = gather_facts(X, y, [self.positive])
        some = X[self.rows][:, self.rows] if self.square else X[self.rows]
        return self.check_part(some, y[self.rows], facts)[0]

    def check_part(
        self, some: Matrix, y: AnyArray, facts: Facts, each: Each = map
    ) -> tuple[Certificate, FloatArray]:
        """The certificate, and Kβ as it was computed for it, from the rows that take part.

        `facts` are those of all the rows.
        """
        certificate, scores = self._alone().check_and_score(some, y, facts, each)
        return replace(certificate, witness=self), scores

    def _alone(self) -> KernelDualPoint:
        """The point on the rows that take part, and no others."""
        return KernelDualPoint(
            problem=self.problem,
            kernel=self.kernel,
            coef=self.some_coef,
            intercept=self.intercept,
            positive=self.positive,
            multipliers=self.multipliers,
            weights=self.weights,
            subject=self.subject,
        )

    def about(self, coef: FloatArray, intercept: float) -> Self | KernelDualPoint:
        """The same dual point, said to measure other coefficients."""
        return self.whole().about(coef, intercept)

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types."""
        return self.whole().to_dict()

    def _spread(self, values: FloatArray) -> FloatArray:
        everywhere = np.zeros(self.n_rows)
        everywhere[self.rows] = values
        return everywhere
