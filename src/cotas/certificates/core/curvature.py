"""Least squares and ridge: the smallest value of a quadratic, from its slope and its curvature.

    P(θ, b) = ½ Σ sᵢ(yᵢ − θ·xᵢ − b)²/S + (λ/2) Σ (σⱼθⱼ)²,    g = ∇P,    H = ∇²P

For any a, with e = g − Ha, a model that is v away has P + g·v + ½vᵀHv = P + e·v + aᵀHv + ½vᵀHv, so

    P − min P  ≤  ½aᵀHa + ‖e‖‖a‖ + ‖e‖²/2μ    where H ⪰ μ > 0,
    P − P(v)   ≤  ½aᵀHa + ‖e‖‖v‖              in any case.

A Cholesky factorization of H − (μ + ε)I in floating point that runs through proves H ⪰ μ, ε being
its a-priori error and that of H (Rump 2006). Leaving rows out makes H smaller, so that what a few
of them prove holds. Squares of nearly collinear columns are singular in double precision. Then
another basis T of the models is taken, from a factor of H + εI: rows xT are nearly orthogonal, and
TᵀHT ⪰ μ > 0 can only be if T is a basis; it need not be trusted (shifted CholeskyQR, Fukaya 2020).
Where no μ is proved, the claim is about models within ρ of zero only. All lengths are in the units
of the columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from cotas.certificates.core import choices
from cotas.certificates.core.bounds import Bounds, Objection, Pull
from cotas.certificates.core.gap import L2, Claim, Risk, Weights, upper
from cotas.certificates.core.hessian import Hessian, hessian, in_units, squares
from cotas.certificates.core.residuals import Squared
from cotas.certificates.core.rows import pairwise

from cotas.certificates.core.rounding import (  # isort: skip
    TINY, FloatArray, U, above, below, down, gamma, norm_up, ratio, total,
    total_down, total_up, up,
)  # fmt: skip

# 2³¹ squares that underflow, in units no smaller than the first, are less than 2⁻¹⁴⁰ of the second.
LEAST_UNIT, LEAST_SQUARE = 2.0**-100, 2.0**-700
# ρ in multiples of the length of the model.
WITHIN = 1000.0


@dataclass(frozen=True)
class WeightedL2(L2):
    """The regularizer (λ/2) Σ (σⱼθⱼ)², None for ones; σ by which θ is multiplied divides u."""

    sigma: Any = field(default=None, repr=False)

    def refuse(self, theta: FloatArray) -> None:
        """Refuse parameters that are none."""
        super().refuse(theta)
        s = self.sigma
        if s is not None and not (s.shape == theta.shape and ((s >= 0) & (s < math.inf)).all()):
            raise Objection("parameters")

    def value(self, theta: FloatArray) -> float:
        return super().value(theta if self.sigma is None else theta * self.sigma)

    def conjugate(self, pull: Pull, t: float, share: float) -> float:
        if self.sigma is None:
            return super().conjugate(pull, t, share)
        if not (self.sigma > 0).all():
            return math.inf
        divided = Pull(pull.u / self.sigma, pull.unit / self.sigma, pull.off)  # one rounding each
        return above(super().conjugate(divided, t, share), 4)

    def radius(self, level: float) -> float:
        """Return the radius of σθ, over the least σ."""
        least = 1.0 if self.sigma is None else float(self.sigma.min(initial=math.inf))
        return above(ratio(super().radius(level), least))


def penalties(lam: float, sigma: FloatArray) -> FloatArray:
    """Compute λσⱼ², off by two roundings; refuses what does not have all its digits."""
    once = lam * sigma
    found = once * sigma
    lost = (sigma > 0) & ((once < TINY) | (found < TINY)) if lam > 0 else False
    if np.any(lost) or not np.isfinite(found).all():
        raise Objection("parameters")
    return np.asarray(found)


class Fall(NamedTuple):
    """A bound of P − min P, and what of it is rounding."""

    most: float = math.inf
    blur: float = math.inf


def fall(H: Hessian, mu: float, g: FloatArray, off: float, reach: float = 0.0) -> Fall:
    """Compute P − min P at most, for every slope within `off` of g, where H ⪰ μ > 0.

    With μ = 0 it is P − P(v) for models no farther than `reach`, in units of `scale`.
    """
    slope, off, d = g * H.scale, above(off * float(H.scale.max(initial=0.0))), len(g)
    shift = 0.0 if mu > 0 else 2 * (H.rounding() + H.off)
    a = np.asarray(np.linalg.solve(H.matrix + shift * np.eye(d), slope), np.float64)
    size, Ha = norm_up(a), H.matrix @ a
    # ½aᵀHa and ‖g − Ha‖, each with the errors of g, of H and of the products.
    sizes = np.asarray(np.abs(H.matrix) @ np.abs(a), np.float64)
    wide = above(norm_up(sizes) * gamma(d + 2), d + 4)
    left = above(norm_up(slope - Ha) * (1 + 4 * U) + off + H.off * size + wide, 6)
    value, error = total(a * Ha)
    error += 4 * U * float(np.abs(a) @ np.abs(Ha)) + wide * size
    quadratic = above(max(0.0, value) + error + H.off * size * size, 8) / 2
    most = above(quadratic + left * (size + left / (2 * mu) if mu > 0 else reach), 6)
    return Fall(most, max(0.0, most - 0.5 * value)) if math.isfinite(most) else Fall()


class Slope(NamedTuple):
    """The objective P of one model, rounded up and down, and ∇P in the units of the columns, the
    bias last."""

    upper: float
    least: float
    g: FloatArray
    off: float
    model: FloatArray  # (θ, b) in the same units
    reach: float  # how far the targets are spread, and the residuals
    r: Any = None  # the residuals, and how far they may be off, where they are in memory
    doubt: Any = None


class ResidualSums(NamedTuple):
    """A sum Σ sᵢrᵢ between two numbers, what doubt of r costs Xᵀ(s·r) at most, Σ sᵢrᵢ² at least."""

    mean: tuple[float, float]
    felt: float
    near: float


def doubt_of(r: FloatArray, off: FloatArray) -> FloatArray:
    """Tell how far residuals may be off, their own rounding included."""
    return np.asarray(off + 4 * U * np.abs(r))


def residual_sums(
    s: FloatArray, r: FloatArray, off: FloatArray, lengths: FloatArray
) -> ResidualSums:
    """Sum the residuals of some rows, whose lengths are those of `Rows`."""
    value, slack = total(s * r)
    felt = total_up(s * doubt_of(r, off) * np.hypot(lengths, 1.0))
    near = np.square(np.maximum(np.abs(r) * (1 - 4 * U) - off, 0.0))
    return ResidualSums((down(value - slack), up(value + slack)), felt, total_down(s * near))


class SquaredFound(NamedTuple):
    """The bounds or the objection, from which curvature they follow, and ρ where it matters."""

    bounds: Bounds | Objection
    how: str = ""
    within: float = math.inf


class SquaredRisk:
    """The objective P for some data: what is known of its curvature is kept for the next models.

    Attributes
    ----------
    lam, sigma : λ and σⱼ, None for ones
    largest : so many columns at most have their Hessian formed
    """

    ways: tuple[tuple[bool, int], ...] = choices.WAYS
    room = 64 * U  # what sums in another order may differ by, as a part of P

    @np.errstate(all="ignore")  # what is not finite is refused
    def __init__(
        self, lam: float, sigma: Any, rows: Any, free_bias: bool, weights: Any, largest: int
    ) -> None:
        if not (0.0 <= lam < math.inf):
            raise Objection("penalty")
        if sigma is not None:
            sigma = np.asarray(sigma, np.float64)
            if sigma.shape != (rows.d,) or not (sigma >= 0).all():
                raise Objection("weights")
        self.rows, self.w, self.largest = rows, Weights.of(weights, rows.n), largest
        self.risk = Risk(Squared(), WeightedL2(lam, sigma), free_bias)
        self.curved = penalties(lam, np.ones(rows.d) if sigma is None else sigma)
        self.added = self.curved / rows.unit / rows.unit
        self.loose = 8 * U + (self.w.high / self.w.low - 1.0)
        self._known: dict[tuple[bool, int], tuple[Hessian, float]] = {}
        self._squares: tuple[FloatArray, int] | None = None

    @np.errstate(all="ignore")
    def bounds(
        self, models: Sequence[Claim], close: float, near: Sequence[float] | None = None
    ) -> list[SquaredFound]:
        """Bound each model; X is read twice for all. A gap of `close`·P is near enough.

        So is a P of `near`, if given for each: no P is below zero.
        """
        try:
            models = [model._replace(risk=self.risk) for model in models]
            for model in models:
                model.refuse(self.rows.n, self.rows.d)
            return [
                self._conclude(slope, close, near[k] if near else 0.0)
                for k, slope in enumerate(self._slopes(models))
            ]
        except Objection as objection:
            return [SquaredFound(objection)] * len(models)

    def _slopes(self, models: Sequence[Claim]) -> list[Slope]:
        rows, w = self.rows, self.w
        claims, middles = zip(*(model.moved(w) for model in models), strict=True)
        biases = [(claim.bias, -middle) for claim, middle in zip(claims, middles, strict=True)]
        y = np.array([claim.y for claim in claims]).T

        def combine(span: slice, block: Any, z: FloatArray) -> FloatArray:
            return np.asarray(rows.combine(block, w.s[span, None] * (z - y[span])))

        thetas = np.array([claim.theta for claim in claims]).T
        z, off, whole = rows.scores(thetas, biases, combine)
        residuals, found = z - y, list[Slope]()
        for k, pull in enumerate(rows.pull(w.s[:, None] * residuals, whole)):
            r = residuals[:, k]
            most = upper(claims[k], w, z[:, k], off[:, k])
            sums = residual_sums(w.s, r, off[:, k], rows.lengths)
            far = float(np.abs(y[:, k]).max(initial=0.0))
            slope = self._slope(claims[k], biases[k], most, pull, sums, far)
            found.append(slope._replace(r=r, doubt=doubt_of(r, off[:, k])))
        return found

    def _slope(
        self,
        claim: Claim,
        biases: Sequence[float],
        most: float,
        pull: Any,
        sums: ResidualSums,
        far: float,
    ) -> Slope:
        """Compute P and ∇P from Xᵀ(s·r) and the other sums; max |y| is `far`."""
        rows, w, free, theta = self.rows, self.w, self.risk.free_bias, claim.theta
        mean = 0.5 * (sums.mean[0] + sums.mean[1])
        slack = up(0.5 * (sums.mean[1] - sums.mean[0])) + 2 * U * abs(mean)
        pulled, bent = pull.u / rows.unit / w.low, self.curved * theta / rows.unit
        g = np.append(pulled + bent, [mean / w.low] * free)
        # The residuals are off themselves, and what they are added up to is too.
        sizes = norm_up(pulled) + norm_up(bent) + abs(mean) / w.low
        noise = above((pull.off + sums.felt + slack) / w.low + self.loose * sizes, 12)
        if not math.isfinite(noise):
            raise Objection("not finite")
        place = np.append(theta * rows.unit, [self._moved_bias(theta, biases)] * free)
        reach = above(math.sqrt(2 * most)) + far
        return Slope(most, self._least(theta, sums.near), g, noise, place, reach)

    def _moved_bias(self, theta: FloatArray, biases: Sequence[float]) -> float:
        """Compute b + m·θ"""
        return float(self.rows.moved_bias(theta, biases)[0])

    def _least(self, theta: FloatArray, near: float) -> float:
        """Compute P, rounded down."""
        mean = below(0.5 * max(0.0, near) / self.w.high, 6)
        penalty = below(max(0.0, total_down(0.5 * self.curved * theta * theta)), 8)
        return max(0.0, down(mean + penalty))

    def _conclude(self, slope: Slope, close: float, near: float) -> SquaredFound:
        best, how, within = self._by_penalty(slope), "penalty", math.inf
        tolerated = close * slope.upper
        if slope.upper <= near:
            best, how = Fall(slope.upper, 0.0), "zero"
        # With fewer rows than columns there is no curvature but that of the penalty.
        for some, rotations in () if self.rows.n < self.rows.d else self.ways:
            if self.rows.d > self.largest:
                break
            if not choices.worth(best, how, tolerated, some, rotations, self.rows.d):
                break
            if (some, rotations) != self.ways[0] and self.flat:
                break
            H, mu = self.curvature(some, rotations)
            found = fall(H, mu, *self._seen(slope, H)) if mu > 0 else Fall()
            if found.most < best.most:
                best, how = found, "turned" if rotations else "few rows" if some else "rows"
        if not math.isfinite(best.most):
            within, best = self._within(slope)
            how = "within"
        lower = max(0.0, down(slope.least - best.most))
        charge = choices.squared_charge(slope.upper, slope.least, best.blur, self.room)
        # The objective of the model does not feel what blurs the fall from it.
        own = choices.squared_charge(slope.upper, slope.least, 0.0, self.room)
        return SquaredFound(Bounds.proved(lower, slope.upper, charge, 0.0, own), how, within)

    def _by_penalty(self, slope: Slope) -> Fall:
        """Compute ½gᵀH⁻¹g with the curvature of the penalty alone.

        A free bias has the curvature one; without it there is what the penalty and the covariance
        of the rows have, and the slope g − h·∂P/∂b, where h is the mean of the rows.
        """
        rows = self.rows
        if not (self.added > 0).all():
            return Fall()
        size = norm_up(slope.g[: rows.d] / np.sqrt(self.added))
        bias = up(abs(float(slope.g[-1])) + slope.off) if self.risk.free_bias else 0.0
        mean = self._mean_length() if bias else 0.0
        worst = above((slope.off + mean * bias) / math.sqrt(float(self.added.min())), 6)
        both = up(size + worst)
        most = above(0.5 * above(both * both + bias * bias, 12), 6)
        return Fall(most, max(0.0, most - 0.5 * size * size)) if math.isfinite(most) else Fall()

    def _mean_length(self) -> float:
        """Compute Σ sᵢ‖xᵢ‖/S, rounded up."""
        return above(total_up(self.w.s * self.rows.lengths) / self.w.low, 4)

    def curvature(self, some: bool, rotations: int) -> tuple[Hessian, float]:
        """Compute H and a proved lower bound of its eigenvalues, computed once."""
        if (some, rotations) not in self._known:
            T = self.curvature(True, rotations - 1)[0].basis() if rotations else None
            known = None if some or rotations else self.squares()
            H = hessian(self.rows, self.w, self.added, self.risk.free_bias, some, T, known)
            self._known[some, rotations] = (H, H.least())
        return self._known[some, rotations]

    @np.errstate(all="ignore")
    def squares(self) -> tuple[FloatArray, int]:
        """Compute Σ sᵢaᵢaᵢᵀ of all rows (x/unit, 1), and its additions."""
        if self._squares is None:
            self._squares = squares(self.rows, None, self.w.s, self.risk.free_bias)
        return self._squares

    def take_squares(self, G: FloatArray, additions: int) -> None:
        """Take those of (x, 1), moved like the rows, that a checker has added up already.

        Not where squares may have underflowed that count in the units: they would be missing.
        """
        unit = np.append(self.rows.unit, [1.0] * self.risk.free_bias)
        found = G[: len(unit), : len(unit)] / unit / unit[:, None]
        if (unit >= LEAST_UNIT).all() and (found.diagonal() > LEAST_SQUARE).all():
            self._squares = (found, additions)

    def _seen(self, slope: Slope, H: Hessian) -> tuple[FloatArray, float]:
        """Compute ∇P in the basis of H, from the rows in that basis, and how far it may be off.

        Of Σ sᵢrᵢxᵢT/S the residuals are off, and so are the rows; both are charged by Cauchy and
        Schwarz.
        """
        if H.T is None:
            return slope.g, slope.off
        rows, w, T, free = self.rows, self.w, H.T, self.risk.free_bias

        def read(span: slice) -> FloatArray:
            A, s = in_units(rows, span, free, T), w.s[span]
            return np.append(A.T @ (s * slope.r[span]), s @ np.square(A).sum(axis=1))

        spans = rows.spans
        whole, additions = pairwise(rows.each(read, spans))
        roundings = max(span.stop - span.start for span in spans) + additions + len(T) + 8
        wide = above(math.sqrt(above(float(whole[-1]) / w.low, roundings)), 2)
        r, doubt = (
            above(math.sqrt(above(total_up(w.s * part * part) / w.low, 6)))
            for part in (slope.r, slope.doubt)
        )
        bent = self.curved / rows.unit / rows.unit * slope.model[: rows.d]
        bent = np.append(bent, [0.0] * free)
        g = whole[:-1] / w.low + T.T @ bent
        rounding = gamma(roundings) * (r * wide + norm_up(np.abs(T.T) @ np.abs(bent)))
        sizes = norm_up(whole[:-1]) / w.low + norm_up(T.T @ bent)
        off = (wide + H.spill) * doubt + H.spill * r + rounding + self.loose * sizes
        return g, above(off, len(T) + 20)

    @cached_property
    def flat(self) -> bool:
        """Tell whether what a few rows do not bend, no row bends: then nothing proves more.

        A guess, from one combination of these directions.
        """
        H, rows = self.curvature(*self.ways[0])[0], self.rows
        values, vectors = np.linalg.eigh(H.matrix)
        null = vectors[:, values <= H.rounding() + H.off]
        along = H.scale * (null @ np.sqrt(np.arange(1.0, null.shape[1] + 1)))
        theta, bias = along[: rows.d] / rows.unit, along[rows.d :].sum()
        most = max(rows.blocks(lambda span, A: float(np.abs(A @ theta + bias).max())))
        return bool(null.size and most <= gamma(8 * len(along)) * norm_up(along))

    @cached_property
    def sizes(self) -> FloatArray:
        """Compute the largest entry of each column in its unit, the bias last; one for zeros.

        Units come from a look at some rows, in which a column may have had nothing to measure.
        """
        rows, used = self.rows, self.w.s > 0

        def largest(span: slice, A: Any) -> FloatArray:
            A, found = A if used[span].all() else A[used[span]], np.zeros(rows.d)
            if rows.sparse:
                np.maximum.at(found, A.indices, np.abs(A.data))
            else:
                np.maximum(A.max(axis=0, initial=0.0), -A.min(axis=0, initial=0.0), out=found)
            return found

        most = np.maximum.reduce([*rows.blocks(largest)]) / rows.unit
        return np.append(np.where(most > 0, most, 1.0), [1.0] * self.risk.free_bias)

    def _within(self, slope: Slope) -> tuple[float, Fall]:
        """Compute ρ, and how far P falls at most on the way to a model within ρ.

        A curvature helps where the slope is more than what rounding leaves of none.
        """
        H, scale = None, np.ones(len(slope.g))
        if norm_up(slope.g) > slope.off and self.rows.d <= self.largest:
            H = self.curvature(False, 0)[0]
            scale = H.scale
        if (small := self.sizes * scale < 0.5).any():  # ρ would exclude coefficients near one
            H, scale = None, np.where(small, np.exp2(-np.floor(np.log2(self.sizes))), scale)
        length, off = norm_up(slope.model / scale), above(slope.off * float(scale.max()))
        rho = above(WITHIN * max(length, slope.reach))
        way = up(rho + length)
        flat = Fall(above((norm_up(slope.g * scale) + off) * way, 4), above(off * way))
        return rho, flat if H is None else min(flat, fall(H, 0.0, slope.g, slope.off, way))
