"""Certificates of linear models whose rows come in blocks, from disk or from other machines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates import duality, lasso, least_squares
from cotas.certificates.blocks import (
    Signs,
    TargetColumns,
    Watched,
    as_source,
    claims_of,
    class_factors,
    in_spans,
)
from cotas.certificates.certificate import Certificate
from cotas.certificates.core.blocks import Claims, block_bounds
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.curvature import SquaredFound, WeightedL2
from cotas.certificates.core.gap import Found, Risk
from cotas.certificates.core.residuals import Squared
from cotas.certificates.core.squared_blocks import BlockSquaredRisk
from cotas.certificates.lasso import LassoPoint
from cotas.certificates.least_squares import LARGEST_HESSIAN, NEAR_ENOUGH, SquaredLossPoint
from cotas.certificates.passes import ROUNDED, refuse_other_features
from cotas.certificates.witnesses import Together
from cotas.problem import AS_GOOD_AS_ZERO, RegularizedRisk
from cotas.rounds import Rounds
from cotas.source import Source


@np.errstate(all="ignore")
def dual_of_rounds(rounds: Rounds, X: Matrix, y: FloatArray, s: FloatArray) -> FloatArray:
    """Compute c = −s·y·α of some rows, from the rounds of the solver."""
    return np.asarray(-s * y * in_spans(X, lambda rows, span: rounds.parts(rows, y[span])))


@dataclass(frozen=True)
class BlockPoint(Together):
    """A linear classifier whose rows come in blocks: it has no number for each of them.

    Its dual variables are a function of the row, made of the rounds of the solver or of the slopes
    of the loss.

    Attributes
    ----------
    problem : what is minimized
    coef, intercept, positive : the model, and the label that counts as +1
    thetas, biases, smoothings : the rounds of the solver, which make α; none of them where α are
        the slopes of the loss at the model
    labels, factors : the weight that each class has besides those of its rows; none for ones
    """

    takes_blocks: ClassVar[bool] = True  # X of `check` may be a source
    shared: ClassVar[tuple[str, ...]] = ("problem", "labels", "factors")

    problem: RegularizedRisk
    coef: FloatArray
    intercept: float
    positive: Any
    thetas: FloatArray = field(repr=False)
    biases: FloatArray = field(repr=False)
    smoothings: FloatArray = field(repr=False)
    labels: AnyArray | None = None
    factors: FloatArray | None = None

    @classmethod
    def check_all(
        cls, points: Sequence[Self], X: Any, y: Any = None, each: Each = map
    ) -> list[Certificate]:
        """Return the certificates of several classes of one fit, from common passes over blocks."""
        one, source = points[0], as_source(X, y)
        factors = class_factors(one.labels, one.factors)
        watched = Watched.over(source, Signs(tuple(p.positive for p in points), factors), each)
        risk, duals = duality.risk_of(one.problem), [point._dual() for point in points]
        claims = claims_of(risk, points, watched, duals)
        refuse_other_features(source.n_features, claims.thetas.shape[0])
        found = block_bounds(watched, claims)
        parts = zip(points, found, watched.sketches(), strict=True)
        weights = watched.ends_of_weights()
        return [
            duality.in_certificate(one, found.bounds, sketch, weights)
            for one, found, sketch in parts
        ]

    def _dual(self) -> Callable[..., FloatArray] | None:
        if not len(self.biases):
            return None
        sizes = (np.asarray(self.thetas, np.float64), self.biases, self.smoothings)
        if sizes[0].shape != (len(self.biases), len(self.coef)) or len(sizes[2]) != len(sizes[1]):
            raise ValueError("The rounds of the witness are of another size than its model.")
        return partial(dual_of_rounds, Rounds(*(np.asarray(a, np.float64) for a in sizes)))


def squared_certificates(
    points: Sequence[SquaredLossPoint], source: Source, each: Each = map
) -> list[Certificate]:
    """Return the certificates of several targets of one fit from blocks, in one pass."""
    one = points[0]
    watched = Watched.over(source, TargetColumns(tuple(point.column for point in points)), each)
    sigma = None if one.penalty_scale is None else np.asarray(one.penalty_scale, np.float64)
    risk = Risk(Squared(), WeightedL2(float(one.lam), sigma), bool(one.free_bias))
    claims = claims_of(risk, points, watched, [None] * len(points))
    found, constants = _squared_bounds(watched, claims)
    sketches, some = watched.sketches(), watched.ends_of_weights()
    return [
        least_squares.in_certificate(point, bounds, constant, sketch, weights=some)
        for point, bounds, constant, sketch in zip(points, found, constants, sketches, strict=True)
    ]


def _squared_bounds(watched: Watched, claims: Claims) -> tuple[list[SquaredFound], list[float]]:
    k = len(claims.biases)
    try:
        risk = BlockSquaredRisk(watched, claims, LARGEST_HESSIAN)
    except Objection as objection:
        return [SquaredFound(objection)] * k, [math.nan] * k
    moments = watched.moments().constants(claims.risk.free_bias)
    constants = [value + ROUNDED * square for value, square in moments]
    near = [NEAR_ENOUGH * AS_GOOD_AS_ZERO * constant for constant in constants]
    if claims.d <= LARGEST_HESSIAN or not claims.risk.regularizer.lam:
        return risk.all_bounds(NEAR_ENOUGH, near), constants
    dual = block_bounds(watched, claims)
    return [SquaredFound(found.bounds, "duality") for found in dual], constants


def lasso_certificate(point: LassoPoint, source: Source, each: Each = map) -> Certificate:
    """Return the certificate of a model of one target, from blocks."""
    watched = Watched.over(source, TargetColumns((point.column,)), each)
    try:
        claims = claims_of(point.problem.risk(point.penalty_scale), [point], watched, [None])
        found = block_bounds(watched, claims)[0]
    except Objection as objection:
        found = Found(objection)
    sketch, moments = watched.sketches()[0], watched.moments()
    constant = moments.constants(point.problem.free_bias)[0]
    weights = watched.ends_of_weights()
    return lasso.in_certificate(point, found, (moments.total, weights), constant, sketch)
