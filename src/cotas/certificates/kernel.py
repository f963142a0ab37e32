"""The duality gap of a kernel machine, from kernel values that the core computes itself.

    f(x) = Σ βᵢ k(xᵢ, x) + θ₀,    P(θ, θ₀) = Σ sᵢ H(yᵢ f(xᵢ)) + (λ/2) βᵀKβ

`core/gram.py` evaluates k, multiplies by K and bounds both sides. Here stand the witnesses and the
words. Where the formula does not show that K is positive semi-definite, K is
examined on up to `LARGEST_EXAMINED` rows, which takes the n² numbers at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, IntArray, Matrix
from cotas.certificates.certificate import Certificate, conclude, conclude_bounds
from cotas.certificates.consequences.biases import best_biases, outer
from cotas.certificates.core import composites, lines  # noqa: F401  (which add other kernels)
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.definite import proved_shift
from cotas.certificates.core.gap import Claim, Hinge, Risk, Weights, feasible
from cotas.certificates.core.gram import Gram, SquaredLength, bounds, positive
from cotas.certificates.core.margins import LOSSES
from cotas.certificates.core.rounding import TINY, U, above, total, up
from cotas.certificates.passes import (
    Facts,
    Sketch,
    as_rows,
    class_sketches,
    refuse_other_rows,
    signs_of,
)
from cotas.certificates.positivity import Definiteness, definiteness, shown_by
from cotas.certificates.presentation import (
    OPTIMIZATION_ONLY,
    against,
    against_the_rest,
    bias_in_words,
    ends,
    mean_of,
    not_examined,
    on_trust,
    other_rows,
    proof_of,
)
from cotas.certificates.witnesses import Parametric, Together
from cotas.problem import RegularizedRisk
from cotas.refusals import ParameterError
from cotas.words import english, in_one, say

REFERENCE = "weak duality in feature space, section 3.7 of Fuentes Cabrera and Fuentes-Pineda"
INDEFINITE = "docs/theory/kernels.md, indefinite kernels"
LARGEST_EXAMINED = 3000
# A function or a matrix of the user may have been computed in single precision.
SINGLE = float(np.finfo(np.float32).eps)
# A multiplier so near to an end of its interval, in units of the interval, is moved there.
AT_THE_END = 1e-12
# Who makes the Gram matrix of a formula: another maker may compute the products elsewhere.
MAKER: ContextVar[Callable[..., Gram]] = ContextVar("MAKER", default=Gram)


class KernelFunction(Protocol):
    """A kernel as data: all that the checker knows of a kernel."""

    def spec(self) -> Any:
        """Return the kernel as plain data, which `core/gram.py` evaluates."""
        ...


@dataclass(frozen=True)
class KernelRegion:
    """The set of all (θ*, θ₀*) that can be optimal: a ball around θ in feature space, and the
    biases."""

    radius: float
    lowest: float
    highest: float

    def covers(self, other: KernelRegion, slack: float) -> bool:
        """Tell whether it holds all of another region, up to a slack: a larger one claims less."""
        room = slack * (1.0 + abs(other.lowest) + abs(other.highest))
        return (
            self.radius >= other.radius * (1.0 - slack)
            and self.lowest <= other.lowest + room
            and self.highest >= other.highest - room
        )


@dataclass(frozen=True)
class KernelDualPoint(Together):
    """A kernel machine and the dual point αᵢ = sᵢ · multipliersᵢ / per that measures it.

    Any multipliers give a valid bound: the checker moves α into the feasible set before it uses
    it. The model has coefficients of its own, which need not be those of α.

    Attributes
    ----------
    problem : what is minimized
    kernel : k, an object whose `spec()` says it as plain data
    coef : βᵢ of each row, zero for those that are no support vectors
    intercept, positive : θ₀, and the label that counts as +1
    weights : sᵢ, which the checker divides by their sum; None stands for 1/n each
    subject : what the statement begins with, where a model has several parts
    """

    problem: RegularizedRisk
    kernel: KernelFunction
    coef: FloatArray = field(repr=False)
    intercept: float
    positive: Any
    multipliers: AnyArray = field(repr=False)
    per: float = 1.0
    weights: FloatArray | None = field(default=None, repr=False)
    subject: str = ""

    @classmethod
    def check_all(
        cls,
        points: Sequence[Self],
        X: Matrix,
        y: AnyArray,
        facts: Facts | None = None,
        each: Each = map,
    ) -> list[Certificate]:
        """Return the certificates of several classes of one fit, from one computation of K.

        The points share the kernel. `facts` are those of the same data, if they have been gathered
        already.
        """
        checker = KernelChecker(points, X, y, None if facts is None else facts.sketches, each)
        return [checker.conclude(c) for c in range(len(points))]

    def full_check(
        self,
        X: Matrix,
        y: AnyArray,
        facts: Facts | None = None,
        each: Each = map,
        complete: bool = True,
    ) -> tuple[Certificate, FloatArray, KernelRegion | None]:
        """Return the certificate, Kβ as it was computed for it, and where the optimum is, if known.

        Of rows without weight Kβ is zero. Of two classes all the rows are here, or not.
        """
        sketches = None if facts is None else facts.sketches
        checker = KernelChecker([self], X, y, sketches, each, complete)
        return checker.conclude(0), checker.scores[:, 0], checker.regions[0]

    def whole(self) -> KernelDualPoint:
        """Return this point itself, which is about all the rows."""
        return self

    def check(self, X: Any, y: Any = None) -> Certificate:
        if self.subject:
            refuse_another_subject(self.subject, y, self.positive, self.weights)
        return super().check(X, y)

    def region(self, X: Matrix, y: AnyArray, gap: Bounds) -> KernelRegion | None:
        """Tell where an optimum lies if these bounds, claimed elsewhere, are right."""
        checker = KernelChecker([self], X, y, None, map)
        return None if checker.objection else checker._region(0, gap)


class KernelChecker:
    """A check of witnesses: K times β and the dual points of all classes of one fit, and what
    follows."""

    def __init__(
        self,
        points: Sequence[Any],
        X: Matrix,
        y: AnyArray,
        sketches: Sequence[Sketch] | None,
        each: Each,
        complete: bool = True,
    ) -> None:
        X, y = as_rows(X), np.asarray(y)
        self.y, self.complete = y, complete
        self.points, self.n, kernel = points, int(X.shape[0]), points[0].kernel
        self.spec, self.formula = kernel.spec(), f"k(x, x′) = {kernel}"
        self.trusted = on_trust(self.spec)
        if y.shape != (self.n,):
            raise ParameterError("y", f"y must have one entry for each of the {self.n} rows of X.")
        refuse_other_rows(self.n, *(point.coef for point in points))
        self.scores = np.zeros((self.n, len(points)))
        self.regions: list[KernelRegion | None] = [None] * len(points)
        self.objection: Objection | None = None
        self.sketches = sketches or self._sketches(X, y, each)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                self._read(y)
                self._multiply(X, each)
        except Objection as error:
            self.objection = error

    def _sketches(self, X: Matrix, y: AnyArray, each: Each) -> list[Sketch]:
        return class_sketches(X, y, [point.positive for point in self.points], each)

    def _read(self, y: AnyArray) -> None:
        """Refuse what is no point of the problem; move the dual points into the feasible set."""
        points = self.points
        refuse_other_rows(self.n, *(point.multipliers for point in points))
        self.risks, shares = [_risk(point.problem) for point in points], _shares(points)
        self.weights = [Weights.of(point.weights, self.n) for point in points]
        self.betas = np.array([p.coef for p in points], np.float64).T
        self.biases = np.array([float(p.intercept) for p in points])
        self.targets = np.array([signs_of(y, p.positive) for p in points]).T
        models = zip(self.risks, self.targets.T, self.betas.T, self.biases.tolist(), strict=True)
        for model in models:
            Claim(*model).refuse(self.n, self.n)
        s, self.room = np.array([w.s for w in self.weights]).T, np.zeros((self.n, 1))
        self.given = -self.targets * s * shares.T
        moved = [
            feasible(risk.loss, y, c, w, risk.free_bias)
            for risk, y, c, w in zip(self.risks, self.targets.T, self.given.T, s.T, strict=True)
        ]
        self.duals = np.array(moved).T

    def _multiply(self, X: Matrix, each: Each) -> None:
        """Compute K times β and c; where K is examined, of the rows that have a part in it only."""
        factors = np.stack([self.betas, self.duals], axis=2).reshape(self.n, -1)
        self.gram, self.evidence = MAKER.get()(self.spec, X, each), None
        wanted = np.logical_or.reduce([w.s > 0 for w in self.weights])
        rows = (wanted | factors.any(axis=1)).nonzero()[0]
        self.examined = not self.gram.positive and len(rows) <= LARGEST_EXAMINED
        if self.examined:
            self.gram, self.evidence = examined(self.gram, rows)
            for name in ("targets", "betas", "duals", "given", "room"):
                setattr(self, name, getattr(self, name)[rows])
            self.weights = [replace(w, s=w.s[rows]) for w in self.weights]
            factors, wanted = factors[rows], wanted[rows]
        values, off = self.gram.times(factors, wanted)
        self.values = values.reshape(len(values), -1, 2)
        self.off = off.reshape(self.values.shape)
        self.off[:, :, 0] += self.room
        self.scores[rows if self.examined else slice(None)] = self.values[:, :, 0]

    def conclude(self, c: int) -> Certificate:
        """Return the certificate: both bounds and what follows from them."""
        if self.objection is not None:
            return self._certificate(c, self.objection, 0.0)
        parts = self.betas[:, c], self.duals[:, c], self.values[:, c], self.off[:, c]
        evidence = self.evidence or (None if self.gram.positive else self._negative(*parts))
        if evidence is not None:
            return self._stationary(c, evidence)
        beta, dual, values, off = parts
        claim = Claim(self.risks[c], self.targets[:, c], beta, float(self.biases[c]), dual)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                found, theta = bounds(claim, self.gram, self.weights[c], values, off)
        except Objection as error:
            return self._certificate(c, error, 0.0)
        # The root of what is rounding alone would differ from one way of adding up to another.
        known = theta.square > theta.off
        return self._certificate(c, found, math.sqrt(theta.square) if known else 0.0)

    def _negative(
        self, beta: FloatArray, dual: FloatArray, values: FloatArray, off: FloatArray
    ) -> Definiteness | None:
        """Compute ‖θ‖² < 0 for β or for the dual point, if it is."""
        for k, a in enumerate((beta, dual)):
            length = self.gram.length(a, values[:, k], off[:, k])
            if length.square + length.off < 0:
                norm = float(np.linalg.norm(a))
                return shown_by(a / norm, length.square / norm**2)
        return None

    def _about_the_kernel(self) -> tuple[str, ...]:
        """Return what was found out about K, where its formula does not tell."""
        if self.examined:
            return (proof_of(self.gram.shift),)
        return () if self.gram.positive else (not_examined(LARGEST_EXAMINED),)

    def _mean(self, point: KernelDualPoint) -> str:
        """Return the mean that is minimized; of two classes, over all of their rows if they are
        here.

        The others have no weight.
        """
        if not self.complete:
            return say("weighted mean")
        y, weights = self.y, point.weights
        if point.subject and weights is not None:
            others = y[(weights > 0) & (y != point.positive)]
            if len(others) and (others == others[0]).all():
                weights = weights[(y == point.positive) | (y == others[0])]
        return mean_of(weights)

    def _certificate(self, c: int, found: Bounds | Objection, length: float) -> Certificate:
        point, problem, conditional = self.points[c], self.points[c].problem, False
        lower, upper = found.lower, found.upper
        remarks: tuple[str, ...] = (OPTIMIZATION_ONLY,)
        if isinstance(found, Bounds):
            self.regions[c] = self._region(c, found)
            conditional = not (self.examined or self.gram.positive)
            remarks = (*self._about_the_kernel(), *remarks)
        mean = self._mean(point)  # at once: weights that are no numbers are found out by it

        def statement() -> str:
            before = [in_one([point.subject, ": "], "")] if point.subject else []
            if conditional:
                before.append(say("If the Gram matrix is positive semi-definite, "))
            return say(
                "{before}no θ in the feature space of k has a smaller {mean} {loss} loss "
                "+ (λ/2)‖θ‖² ({bias}) than {lower}; this one has {upper}."
                if before
                else "No θ in the feature space of k has a smaller {mean} {loss} loss "
                "+ (λ/2)‖θ‖² ({bias}) than {lower}; this one has {upper}.",
                before=in_one(before, ""),
                mean=mean,
                loss=say(problem.loss.name),
                bias=bias_in_words(problem.free_bias),
                **ends(lower, upper),
            )

        said = self._said(c, {"‖θ‖": length}, remarks)
        return conclude_bounds(found, statement=statement, reference=REFERENCE, **said)

    def _said(self, c: int, figures: dict[str, float], remarks: tuple[str, ...]) -> dict[str, Any]:
        """Say what holds for every machine besides: its kernel, and how many rows it has."""
        point = self.points[c]
        support = float(np.count_nonzero(point.coef))
        return {
            "figures": {"λ": point.problem.lam, **figures, "support vectors": support},
            "remarks": (self.formula, *remarks),
            "trusted": self.trusted,
            "witness": point,
            "sketch": self.sketches[c],
        }

    def _region(self, c: int, found: Bounds) -> KernelRegion | None:
        """Return the ball around θ and the interval that enclose every best (θ*, θ₀*).

        See `consequences/prediction.py`; ‖φ(x)‖ = √k(x, x) takes the place of ‖x‖.
        """
        risk, y, s = self.risks[c], self.targets[:, c], self.weights[c].s
        radius = risk.regularizer.radius(found.gap)
        if not risk.free_bias:
            return KernelRegion(radius, 0.0, 0.0)
        if not isinstance(risk.loss, Hinge):
            return None  # the best bias of another loss is no quantile
        corners = y - self.values[:, c, 0]
        room = radius * np.sqrt(self.gram.squares) + self.off[:, c, 0] + 4 * U * np.abs(corners)
        room = room * (1.0 + 16 * U) + TINY
        given = None if self.points[c].weights is None else s
        return KernelRegion(radius, *best_biases(*outer(corners, room), y > 0, given))

    def _rebuilds(self, c: int) -> bool:
        """Tell whether the model has the coefficients αy/λ of the multipliers."""
        beta = -self.given[:, c] / (self.points[c].problem.lam * self.weights[c].high)
        scale = float(np.abs(beta).max(initial=0.0))
        return float(np.abs(self.betas[:, c] - beta).max(initial=0.0)) <= 1e-9 * scale

    def _stationary(self, c: int, evidence: Definiteness) -> Certificate:
        """Compute how far α is from the KKT conditions of the dual problem.

        P is then no convex function of anything, and D(α) bounds nothing. A point that meets the
        conditions is stationary, and others may be better.
        """
        point, dual = self.points[c], self.given[:, c]
        value, rest = total(dual) if self.risks[c].free_bias else (0.0, 0.0)
        violation = above(max(self._violation(c), (abs(value) + rest) / self.weights[c].low), 4)
        statement = say(
            "{subject}: the kernel is not positive semi-definite, so nothing bounds the best "
            "objective; the multipliers meet the KKT conditions of the dual problem up to "
            "{violation:.3g}."
            if point.subject
            else "The kernel is not positive semi-definite, so nothing bounds the best objective; "
            "the multipliers meet the KKT conditions of the dual problem up to {violation:.3g}.",
            subject=point.subject,
            violation=violation,
        )
        why = "" if self._rebuilds(c) else "The coefficients are not those of the multipliers."
        figures = {"cᵀKc for some c of length 1": evidence.value}
        mercer = say("It is no Mercer kernel: {evidence}.", evidence=evidence.in_words)
        remarks = (mercer, "A stationary point need not be the best.")
        said = {"reference": INDEFINITE, "objection": why, **self._said(c, figures, remarks)}
        charge = violation * 1e-9 + 64 * U
        return conclude("stationary", 0.0, violation, statement=statement, charge=charge, **said)

    def _violation(self, c: int) -> float:
        """Tell how far the corners yᵢ − f(xᵢ) are from what the multipliers would need, rounded up.

        With a free bias some θ₀ must lie above all corners of the examples that can move up along
        y and below all those that can move down; without one θ₀ is zero.
        """
        w, y, dual = self.weights[c], self.targets[:, c], self.given[:, c]
        s, unit = w.s, self.points[c].problem.lam * w.low
        values, off = (part[:, 0] for part in self.gram.times(dual[:, None], s > 0))
        scores = -values / unit
        room = off / unit + np.abs(scores) * (w.high / w.low - 1.0 + 8 * U) + 4 * U
        corners, room = y - scores, room * (1.0 + 16 * U)
        alpha = -y * dual
        rises, falls = (s > 0) & (alpha < s), (s > 0) & (alpha > 0)
        most = np.where(y > 0, rises, falls)
        least = np.where(y > 0, falls, rises)
        highest = float((corners + room)[most].max(initial=-math.inf))
        lowest = float((corners - room)[least].min(initial=math.inf))
        if not self.risks[c].free_bias:
            return max(0.0, highest, -lowest)
        return max(0.0, up(highest - lowest))


def _risk(problem: RegularizedRisk) -> Risk:
    """Return what is minimized in feature space."""
    if problem.bias_scale or problem.l1_ratio or problem.loss.name not in LOSSES:
        raise Objection("parameters")
    if not 0 < problem.lam < math.inf:
        raise Objection("penalty")
    return Risk(LOSSES[problem.loss.name], SquaredLength(float(problem.lam)), problem.free_bias)


def _shares(points: Sequence[Any]) -> FloatArray:
    """Compute α/s of each row, for each point."""
    if not all(0.0 < point.per < math.inf for point in points):
        raise Objection("dual point")
    shares = np.array([np.asarray(p.multipliers, dtype=np.float64) / p.per for p in points])
    shares = np.where(np.abs(shares) < AT_THE_END, 0.0, shares)
    return np.where(np.abs(shares - 1.0) < AT_THE_END, 1.0, shares)


def examined(gram: Gram, rows: IntArray) -> tuple[Gram, Definiteness | None]:
    """Compute (K + Kᵀ)/2 of these rows, with what makes it positive semi-definite on its diagonal.

    Where that would be more than rounding can explain, the evidence that it is not.
    """
    A = gram.read(rows)
    K = gram.block(A, A, rows)[0]
    if not np.isfinite(K).all():
        raise Objection("not finite")
    symmetric = 0.5 * K + 0.5 * K.T
    shift = proved_shift(symmetric)
    limit = 32 * SINGLE * math.sqrt(len(K)) * float(np.abs(K).max(initial=0.0))
    evidence = None
    if not max(shift, float(np.abs(K - K.T).max(initial=0.0))) <= limit:
        evidence = definiteness(K, SINGLE)
        if evidence.semidefinite and shift < math.inf:
            evidence = None
    return Gram(("precomputed",), symmetric, gram.each, 0.0 if evidence else shift), evidence


def examine(kernel: KernelFunction, X: Matrix, rows: IntArray) -> Definiteness | None:
    """Return what K shows of itself, where the formula does not; None if it was not looked at."""
    spec = kernel.spec()
    if positive(spec) or len(rows) > LARGEST_EXAMINED:
        return None
    gram = Gram(spec, X)
    A = gram.read(rows)
    return definiteness(gram.block(A, A, rows)[0], SINGLE)


def refuse_another_subject(subject: str, y: AnyArray, positive: Any, weights: Any = None) -> None:
    """Raise where a witness is said to be about other classes than those of its rows."""
    used = np.asarray(y) if weights is None else np.asarray(y)[np.asarray(weights) > 0]
    others = used[used != positive]
    if not len(others):
        raise ParameterError("y", "The rows with a weight are of one class only.")
    about = {against_the_rest(positive)}
    if (others == others[0]).all():
        about |= {"", against(others[0], positive), against(positive, others[0])}
    if english(subject) not in map(english, about):
        raise ValueError(f"The witness says that it is about {subject!r}, and it is not.")


@dataclass(frozen=True)
class PairPoint(Parametric):
    """A `KernelDualPoint` in which all but some rows have no weight.

    One against one, k classes make k(k−1)/2 machines, and each is about two classes only: the
    other rows add nothing to P nor to D. The certificate is about the data of the whole fit all
    the same, and any change of those data shows.

    Attributes
    ----------
    point : the same about the rows of the two classes alone
    rows : those rows, of `n_rows`
    """

    point: KernelDualPoint
    rows: IntArray = field(repr=False)
    n_rows: int

    @property
    def coef(self) -> FloatArray:
        """Return β of all the rows."""
        return self._spread(self.point.coef)

    @property
    def intercept(self) -> float:
        return self.point.intercept

    @property
    def kernel(self) -> KernelFunction:
        return self.point.kernel

    @property
    def subject(self) -> str:
        """Say which two classes it tells apart."""
        return self.point.subject

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        y, rows, n = np.asarray(y), np.asarray(self.rows), np.shape(X)[0]
        if n != self.n_rows:
            raise other_rows(n, self.n_rows)
        whole = rows.dtype.kind in "iu" and rows.ndim == 1 and len(rows) > 0
        if not whole or not (rows[0] >= 0 and rows[-1] < len(y) and (np.diff(rows) > 0).all()):
            raise ValueError("The rows of a pair must be numbers of rows, each of them once.")
        others = y[rows][y[rows] != self.point.positive]
        if len(others) and not (others == others[0]).all():
            raise ValueError("The rows of a pair are of two classes, and these are of more.")
        refuse_another_subject(self.subject, y[rows], self.point.positive, self.point.weights)
        facts = Facts(class_sketches(X, y, [self.point.positive]))
        return self.full_check(self._some(X), y, facts)[0]

    def region(self, X: Matrix, y: AnyArray, gap: Bounds) -> KernelRegion | None:
        """Return the region as `KernelDualPoint.region` does, of the rows that take part."""
        return self.point.region(self._some(X), np.asarray(y)[self.rows], gap)

    def _some(self, X: Matrix) -> Matrix:
        """Return the rows of the pair; where X is the Gram matrix, its columns are rows too."""
        some = as_rows(X)[self.rows]
        return some[:, self.rows] if self.kernel.spec() == ("precomputed",) else some

    def full_check(
        self, some: Matrix, y: AnyArray, facts: Facts, each: Each = map
    ) -> tuple[Certificate, FloatArray, KernelRegion | None]:
        """Check as `KernelDualPoint.full_check` does, rows that take part; y and facts are of
        all."""
        own = y[self.rows]
        labels = [self.point.positive, *own[own != self.point.positive][:1]]
        complete = sum(np.count_nonzero(y == label) for label in labels) == len(own)
        certificate, scores, region = self.point.full_check(some, own, facts, each, complete)
        return certificate._but(witness=self), scores, region

    def whole(self) -> KernelDualPoint:
        """Return the same point with the zeros of all other rows."""
        point, spread = self.point, self._spread
        weights = spread(1.0 if point.weights is None else point.weights)
        coef, multipliers = spread(point.coef), spread(point.multipliers)
        return replace(point, coef=coef, multipliers=multipliers, weights=weights)

    def about(self, coef: FloatArray, intercept: float) -> Any:
        return self.whole().about(coef, intercept)

    def _spread(self, values: Any) -> FloatArray:
        everywhere = np.zeros(self.n_rows)
        everywhere[self.rows] = values
        return everywhere


def check_together(
    points: Sequence[KernelDualPoint | PairPoint], X: Matrix, y: AnyArray, facts: Facts
) -> list[tuple[Certificate, KernelRegion | None]]:
    """Return the certificate of each and where its optimum is, from K of all rows, made once."""
    checker = KernelChecker([point.whole() for point in points], X, y, facts.sketches, map)
    return [
        (checker.conclude(c)._but(witness=point), checker.regions[c])
        for c, point in enumerate(points)
    ]
