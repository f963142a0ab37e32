"""Least squares and ridge: how far from the best, by the slope and a proved curvature."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude_bounds
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.curvature import SquaredFound, SquaredRisk
from cotas.certificates.core.gap import Claim, all_bounds
from cotas.certificates.passes import (
    EPS,
    ROUNDED,
    Sketch,
    constant_model,
    refuse_other_rows,
    rows_of,
    sketches_in_passing,
    targets_of,
)
from cotas.certificates.presentation import OPTIMIZATION_ONLY, at_least, ends, mean_of
from cotas.certificates.witnesses import Together
from cotas.problem import AS_GOOD_AS_ZERO
from cotas.source import Source
from cotas.words import say

# A bound this small in comparison with the objective is not worth another pass over the data.
NEAR_ENOUGH = 1e-10
# Up to so many features the Hessian is formed, and its spectrum shown.
LARGEST_HESSIAN, LARGEST_SPECTRUM = 2000, 500
HOW = {
    "penalty": "The bound rests on the curvature of the penalty alone.",
    "few rows": "The bound rests on the curvature of some of the rows.",
    "rows": "The bound rests on the curvature of all the rows.",
    "turned": "The bound rests on the curvature of the rows, in a basis that suits them.",
    "duality": "The bound rests on weak duality.",
    "zero": "The bound rests on squares, which are never negative.",
}
WITHIN_RHO = (
    "The columns are collinear up to rounding, or too many: the claim is about models whose "
    "coefficients, in units of their columns, have a length of at most ρ."
)
SPECTRUM = "The spectrum, and what follows from it for gradient descent, is not enclosed."
TOO_FAR = "So many steps of gradient descent must come nearer to the best than this."


@dataclass(frozen=True)
class DescentBound:
    """Gradient descent with a constant step from zero: Pₖ − P* ≤ ρ²ᵏ (P₀ − P*).

    ρ is the largest |1 − step·e| over the positive eigenvalues e of the Hessian. The run worked
    on the rows (1, x), or with `centre` and `scale` on (1, (x − centre)/scale).
    """

    step: float
    iterations: int
    centre: FloatArray | None = field(default=None, repr=False)
    scale: FloatArray | None = field(default=None, repr=False)

    def factor(self, eigenvalues: FloatArray) -> float:
        """Compute ρ²ᵏ."""
        rho = float(np.abs(1.0 - self.step * eigenvalues).max(initial=0.0))
        with np.errstate(over="ignore"):
            return float(np.float64(rho) ** (2 * self.iterations))


@dataclass(frozen=True)
class SquaredLossPoint(Together):
    """A linear model of one target, and the problem it is measured by.

        P(θ, θ₀) = ½ Σ sᵢ(yᵢ − θ·xᵢ − θ₀)²/S + (λ/2) Σ (σⱼθⱼ)²

    Attributes
    ----------
    coef, intercept : the model
    lam : λ, zero for least squares
    free_bias : whether θ₀ is free, or fixed at `intercept` = 0
    column : the column of y that the model predicts; None where y is a vector
    weights : sᵢ ≥ 0, of any sum; None stands for ones
    penalty_scale : σⱼ; None stands for ones
    descent : the run that found the model, where it was gradient descent with a constant step
    """

    coef: FloatArray
    intercept: float
    lam: float
    free_bias: bool
    column: int | None = None
    weights: FloatArray | None = field(default=None, repr=False)
    penalty_scale: FloatArray | None = field(default=None, repr=False)
    descent: DescentBound | None = None

    shared: ClassVar[tuple[str, ...]] = ("lam", "penalty_scale", "free_bias")

    @property
    def takes_blocks(self) -> bool:
        """Tell whether X of `check` may be a source: the spectrum needs all rows in memory."""
        return self.descent is None

    @classmethod
    def check_all(
        cls, points: Sequence[Self], X: Matrix | Source, y: Any = None, each: Each = map
    ) -> list[Certificate]:
        """Return the certificates of several targets of one fit, from common passes over the data.

        X may be a source of row blocks, which has y.
        """
        if isinstance(X, Source):
            from cotas.certificates.block_points import squared_certificates

            return squared_certificates(points, X, each)
        return SquaredChecker(X, y, points, each).certificates(points)

    def check_from_products(self, X: Matrix, y: Any) -> Certificate | None:
        """Prove the same in another way, where there are no more columns than rows."""
        from cotas.certificates.streamed import Stream

        stream = Stream.of_few_columns(X, y, self.weights, self.column)
        return None if stream is None else stream.proved([self], collinear=True)[0]


class SquaredChecker:
    """The data of one fit and what is known of their curvature, for any models of one problem."""

    def __init__(
        self, X: Matrix, y: AnyArray, points: Sequence[SquaredLossPoint], each: Each = map
    ) -> None:
        one = points[0]
        self.rows = rows_of(X, one.free_bias, each=each)
        refuse_other_rows(self.rows.n, weights=one.weights)
        self.targets = targets_of(self.rows.n, y, [p.column for p in points])
        constants = (constant_model(y, one.weights, one.free_bias) for y in self.targets.T)
        # P of the best constant model, and what rounding may hide of it.
        self.constants = [spread + ROUNDED * square for spread, square in constants]
        self.sketches: Callable[[], list[Sketch]]
        self.sketches = cache(sketches_in_passing(self.rows, self.targets))
        self.risk: SquaredRisk | Objection
        try:
            given = (one.free_bias, one.weights, LARGEST_HESSIAN)
            self.risk = SquaredRisk(float(one.lam), one.penalty_scale, self.rows, *given)
        except Objection as objection:
            self.risk = objection

    def take(
        self, sketches: list[Sketch], shift: FloatArray | None, G: FloatArray, additions: int
    ) -> None:
        """Take what another proof of the same rows has read of them.

        G is Σ s(x − m, 1)(x − m, 1)ᵀ, and helps if m is the shift of the rows here.
        """
        self.rows.also, self.sketches = None, lambda: sketches
        own = self.rows.shift
        same = own is None if shift is None else own is not None and np.array_equal(own, shift)
        if same and not isinstance(self.risk, Objection):
            self.risk.take_squares(G, additions)

    def certificates(self, points: Sequence[SquaredLossPoint]) -> list[Certificate]:
        said = []
        for c, (point, found) in enumerate(zip(points, self._bounds(points), strict=True)):
            about = (self.constants[c], self.sketches()[c], *self._spectrum(c, point, found))
            said.append(in_certificate(point, found, *about, weights=point.weights))
        return said

    def _bounds(self, points: Sequence[SquaredLossPoint]) -> list[SquaredFound]:
        if isinstance(self.risk, Objection):
            return [SquaredFound(self.risk)] * len(points)
        claims = [
            Claim(self.risk.risk, y, np.asarray(p.coef, np.float64), float(p.intercept))
            for y, p in zip(self.targets.T, points, strict=True)
        ]
        if self.rows.d <= LARGEST_HESSIAN or not points[0].lam:
            near = [NEAR_ENOUGH * AS_GOOD_AS_ZERO * constant for constant in self.constants]
            return self.risk.bounds(claims, NEAR_ENOUGH, near)
        dual = all_bounds(self.rows, claims, points[0].weights)
        return [SquaredFound(found.bounds, "duality") for found in dual]

    def _spectrum(
        self, c: int, point: SquaredLossPoint, found: SquaredFound
    ) -> tuple[dict[str, float], str]:
        """Return what gradient descent is promised, from eigenvalues as NumPy computes them.

        With what speaks against so many steps of it.
        """
        descent, rows, bounds = point.descent, self.rows, found.bounds
        if descent is None or rows.d > LARGEST_SPECTRUM or isinstance(bounds, Objection):
            return {}, ""
        assert not isinstance(self.risk, Objection)  # or there would be no bounds
        s = self.risk.w.s / self.risk.w.high
        X = rows.read(slice(0, rows.n))
        X = (X.toarray() if rows.sparse else X) + (0.0 if rows.shift is None else rows.shift)
        added = self.risk.curved
        if descent.scale is not None and descent.centre is not None:
            stretch = np.divide(1.0, descent.scale, where=descent.scale > 0, out=np.zeros(rows.d))
            X, added = (X - descent.centre) * stretch, added * stretch**2
        X = np.column_stack([np.ones(rows.n), X]) if point.free_bias else X
        added = np.append(0.0, added) if point.free_bias else added
        values = np.linalg.eigvalsh(X.T @ (s[:, None] * X) + np.diag(added))
        positive = values[values > 8 * len(values) * EPS * max(float(values[-1]), 0.0)]
        start = 0.5 * float(s @ self.targets[:, c] ** 2)
        allowed = descent.factor(positive) * max(0.0, start - bounds.lower)
        # Along directions that rounding takes for flat, no step gets anywhere.
        known = len(positive) == len(values) and math.isinf(found.within)
        nearer = bounds.gap <= (1 + 1e-6) * allowed + bounds.charge + NEAR_ENOUGH * bounds.upper
        figures = {
            "condition number": float(positive[-1] / positive[0]) if len(positive) else 1.0,
            "step · largest curvature": descent.step * float(values[-1]),
            "gap that the rate of gradient descent allows": allowed,
        }
        return figures, TOO_FAR if known and not nearer else ""


def in_certificate(
    point: SquaredLossPoint,
    found: SquaredFound,
    constant: float,
    sketch: Sketch,
    spectral: Mapping[str, float] | None = None,
    against: str = "",
    *,
    weights: FloatArray | None,
) -> Certificate:
    """Return both values and what follows from them in words; these are some of the weights."""
    bounds, within, spectral = found.bounds, found.within, spectral or {}
    lower, upper = bounds.lower, bounds.upper
    return conclude_bounds(
        bounds,
        kind="gradient",
        objection=against,
        # P ≥ 0 was known before, and this objective is not near zero.
        vacuous=lower <= 0.01 * upper and upper > AS_GOOD_AS_ZERO * constant,
        statement=lambda: say(
            "No linear model has a smaller ½ {mean} squared error{penalty} than {lower}; this one "
            "has {upper}."
            if math.isinf(within)
            else "No linear model within ρ = {rho} has a smaller ½ {mean} squared error{penalty} "
            "than {lower}; this one has {upper}.",
            rho=at_least(within),
            mean=mean_of(weights),
            penalty=penalty_in_words(point),
            **ends(lower, upper),
        ),
        reference="P(θ) − P* ≤ ½ ∇PᵀH⁻¹∇P, docs/theory/least-squares.md",
        figures={
            **({"λ": point.lam} if point.lam else {}),
            **({} if math.isinf(within) else {"ρ": within}),
            **spectral,
        },
        remarks=(
            *((WITHIN_RHO,) if math.isfinite(within) else ()),
            *((SPECTRUM,) if spectral else ()),
            OPTIMIZATION_ONLY,
        ),
        scale=constant,
        witness=point,
        sketch=sketch,
        notes=(HOW[found.how],) if found.how in HOW else (),
    )


def penalty_in_words(point: SquaredLossPoint) -> str:
    """Return what the objective has besides the mean square."""
    weight = " + (λ/2)‖θ‖²" if point.penalty_scale is None else " + (λ/2)Σ(σⱼθⱼ)²"
    weight = weight if point.lam else ""
    return weight if point.free_bias else say("{weight} (without bias)", weight=weight)
