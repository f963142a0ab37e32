"""The duality gap of a kernel machine, computed in feature space from kernel values alone.

    f(x) = Σ βᵢ k(xᵢ, x) + θ₀,    θ = Σ βᵢ φ(xᵢ),    ‖θ‖² = βᵀKβ,

    P(θ, θ₀) = Σ sᵢ H(yᵢ f(xᵢ)) + (λ/2)‖θ‖²,    D(α) = Σ αᵢ − (1/2λ) (αy)ᵀK(αy).

Everything follows from the products of K with three vectors: β, and the two halves of α, one for
each sign of y. K is made in blocks of `BLOCK` × `BLOCK` numbers (2 MB; one for each part of a
kernel that is a sum or a product, and for each thread that reads) and never kept; besides them
there are seven numbers for each row and class.

Weak duality needs φ, that is a positive semi-definite K. Where the formula of the kernel does not
show that, K is examined on up to `LARGEST_EXAMINED` rows, which takes the n² numbers at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, BoolArray, Each, FloatArray, IntArray, Matrix
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.duality import OPTIMISATION_ONLY, mean_of
from cotas.certificates.positivity import Definiteness, definiteness, shown_by
from cotas.certificates.prediction import quantile
from cotas.certificates.stationarity import stationary_certificate
from cotas.certificates.sweep import EPS, Facts, Sweep, gather_facts
from cotas.problem import RegularisedRisk

BLOCK = 512
# Figures of the certificate that say where the optimum is.
DISTANCE, LEAST_BIAS, GREATEST_BIAS = "‖θ − θ*‖ at most", "θ₀* at least", "θ₀* at most"
LARGEST_EXAMINED = 3000
# A function or a matrix of the user may have been computed in single precision; what that does to
# the bounds is counted as their rounding.
SINGLE = float(np.finfo(np.float32).eps)
WORTH_FILLING = 24  # zeros for each entry that is not
ENTRY = 256 * EPS  # how far a kernel value may be off, against √(k(x, x)·k(x′, x′))


class PreparedRows(Protocol):
    """Some rows, to be compared with others."""

    def against(self, A: Matrix) -> AnyArray:
        """k(a, x) for each row a of A and each of these rows x."""
        ...


class KernelFunction(Protocol):
    """All that the checker knows of a kernel."""

    @property
    def known_mercer(self) -> bool | None:
        """Whether its formula shows that every Gram matrix is positive semi-definite."""
        ...

    def prepare(self, X: Matrix, indices: IntArray | None = None) -> PreparedRows:
        """The rows X[indices], to be compared with others."""
        ...

    def diagonal(self, A: Matrix) -> FloatArray:
        """k(a, a) of each row."""
        ...


@dataclass(frozen=True)
class KernelDualPoint:
    """A kernel machine and the dual point αᵢ = sᵢ · multipliersᵢ / per that measures it.

    Any multipliers give a valid bound: the checker moves α into the feasible set before it uses
    it. The model has coefficients of its own, which need not be those of α.

    Attributes
    ----------
    problem : what is minimised
    kernel : k, an object with `prepare`, `diagonal` and `known_mercer`
    coef : βᵢ of each row, zero for those that are no support vectors
    intercept, positive : θ₀, and the label that counts as +1
    weights : sᵢ, which sum to one; None stands for 1/n each
    exact : whether β = αy/λ is claimed, and so has to be checked
    subject : what the statement begins with, where a model has several parts
    """

    problem: RegularisedRisk
    kernel: KernelFunction
    coef: FloatArray = field(repr=False)
    intercept: float
    positive: Any
    multipliers: AnyArray = field(repr=False)
    per: float = 1.0
    weights: FloatArray | None = field(default=None, repr=False)
    exact: bool = False
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
        """The certificates of several classes of one fit, from one computation of the kernel.

        The points share the problem, the kernel and the weights. `facts` are those of the same
        data, if they have been gathered already.
        """
        survey = KernelSurvey(points, X, y, facts, each)
        return [survey.conclude(c) for c in range(len(points))]

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        """The certificate of this point, recomputed from the data."""
        return self.check_all([self], X, y)[0]

    def check_and_score(
        self, X: Matrix, y: AnyArray, facts: Facts | None = None, each: Each = map
    ) -> tuple[Certificate, FloatArray]:
        """The certificate, and Kβ as it was computed for it (zero for rows without weight)."""
        survey = KernelSurvey([self], X, y, facts, each)
        return survey.conclude(0), survey.values[:, 0, 0]

    def about(self, coef: FloatArray, intercept: float) -> Self:
        """The same dual point, said to measure other coefficients."""
        return replace(self, coef=np.array(coef), intercept=float(intercept))

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types; the kernel as its formula."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        plain["kernel"] = str(self.kernel)
        plain["problem"] = {
            "loss": self.problem.loss.name,
            "lam": self.problem.lam,
            "free_bias": self.problem.free_bias,
        }
        return {
            name: value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
            for name, value in plain.items()
        }


class KernelSurvey:
    """K times β and times the two halves of α, for all classes of one fit."""

    def __init__(
        self,
        points: Sequence[KernelDualPoint],
        X: Matrix,
        y: AnyArray,
        facts: Facts | None,
        each: Each,
    ) -> None:
        first = points[0]
        self.points, self.problem, self.kernel = points, first.problem, first.kernel
        positives, k = [point.positive for point in points], len(points)
        sweep = Sweep(X, y, positives, np.zeros((np.shape(X)[1], 1)))
        X, y, self.n = sweep.X, sweep.y, sweep.X.shape[0]
        for vector in (first.coef, first.multipliers):
            if len(vector) != self.n:
                raise ValueError(f"X has {self.n} rows; the certificate is about {len(vector)}.")
        self.facts = facts or gather_facts(X, y, positives, each=each)
        self.weights = (
            np.full(self.n, 1.0 / self.n) if first.weights is None else np.array(first.weights)
        )
        self.used: BoolArray = self.weights > 0
        self.signs = np.stack([np.where(y == p.positive, 1.0, -1.0) for p in points], axis=1)
        counted = np.stack([p.multipliers / p.per for p in points], axis=1)
        self.alpha = self.weights[:, None] * np.clip(counted, 0.0, 1.0)
        halves = [np.where(side * self.signs > 0, self.alpha, 0.0) for side in (1, -1)]
        self.factors = np.stack([np.stack([p.coef for p in points], axis=1), *halves], axis=2)
        flat = self.factors.reshape(self.n, 3 * k)
        self.values = kernel_times(self.kernel, X, flat, self.used, each).reshape(self.n, k, 3)
        self.lengths = np.sqrt(np.abs(self.kernel.diagonal(X)))
        touched = np.flatnonzero(self.used | self.factors.any(axis=(1, 2)))
        self.evidence = examine(self.kernel, X, touched)

    def conclude(self, c: int) -> Certificate:
        """Both values and what follows from them."""
        problem, gain_and_share = self.problem, self._gain_and_share(c)
        quadratic = self.factors[:, c].T @ self.values[:, c]  # [β α₊ α₋]ᵀ K [β α₊ α₋]
        against = self._against_positivity(c, quadratic)
        if against is not None:
            return stationary_certificate(self, c, gain_and_share[1], against)
        squared_length = max(0.0, float(quadratic[0, 0]))
        scores = self.values[:, c, 0] + self.points[c].intercept
        agreements = (self.signs[:, c] * scores)[self.used]
        risk = float(problem.risk(agreements, self.weights[self.used]))
        primal = risk + 0.5 * problem.lam * squared_length
        dual = _best_dual(*gain_and_share, quadratic[1:, 1:], problem.lam)
        rounding = self._rounding(c, agreements, primal, float(gain_and_share[0].sum()))
        return self._certificate(c, primal, dual, rounding, float(np.sqrt(squared_length)))

    def _certificate(
        self, c: int, primal: float, dual: float, rounding: float, length: float
    ) -> Certificate:
        point, problem = self.points[c], self.problem
        objection = ""
        if point.exact and not self.rebuilds(c, np.ones(2)):
            objection = "The dual point does not give back the model from these data."
        condition, remarks = self._about_the_kernel()
        subject = f"{point.subject}: {condition}" if point.subject else condition
        beginning = f"{subject}no" if subject else "No"
        bias = "the bias is free" if problem.free_bias else "without bias"
        return conclude(
            kind="duality",
            lower=dual,
            upper=primal,
            objection=objection,
            vacuous=dual <= 0.01 * primal,
            statement=(
                f"{beginning} θ in the feature space of k has a smaller {mean_of(point)} hinge "
                f"loss + (λ/2)‖θ‖² ({bias}) than {min(dual, primal):.6g}; "
                f"this one has {primal:.6g}."
            ),
            reference="weak duality in feature space, section 3.7 of document 000 and document 002",
            figures={
                "λ": problem.lam,
                "‖θ‖": length,
                "support vectors": float(np.count_nonzero(point.coef)),
                **self._where_the_optimum_is(c, max(0.0, primal - dual) + rounding),
            },
            remarks=(f"k(x, x′) = {self.kernel}", *remarks, OPTIMISATION_ONLY),
            charge=rounding,
            witness=point,
            sketch=self.facts.sketches[c],
        )

    def _where_the_optimum_is(self, c: int, gap: float) -> dict[str, float]:
        """The ball around θ and the interval that enclose every best (θ*, θ₀*).

        See `prediction.py`; ‖φ(x)‖ = √k(x, x) takes the place of ‖x‖.
        """
        radius = math.sqrt(2 * gap / self.problem.lam)
        found = {DISTANCE: radius}
        if self.problem.free_bias:
            signs, weights = self.signs[self.used, c], self.weights[self.used]
            corners = signs - self.values[self.used, c, 0]
            room = radius * self.lengths[self.used] + 1e-12 * np.abs(corners)
            level = float(weights[signs > 0].sum())
            found[LEAST_BIAS] = quantile(corners - room, weights, level, lower=True)
            found[GREATEST_BIAS] = quantile(corners + room, weights, level)
        return found

    def _against_positivity(self, c: int, quadratic: FloatArray) -> Definiteness | None:
        """What shows that K is not positive semi-definite, if anything does.

        Where K was not examined as a whole, its quadratic form on combinations of β, α₊ and α₋ is
        known anyway. Each vector is measured in units of its greatest possible length.
        """
        if self.evidence is not None:
            return None if self.evidence.semidefinite else self.evidence
        lengths = self.lengths @ np.abs(self.factors[:, c])
        units = np.where(lengths > 0, lengths, 1.0)
        values, vectors = np.linalg.eigh((quadratic + quadratic.T) / 2 / np.outer(units, units))
        if values[0] >= -8 * ENTRY:
            return None
        combination = self.factors[:, c] @ (vectors[:, 0] / units)
        norm = float(np.linalg.norm(combination))
        return shown_by(combination / norm, float(values[0]) / norm**2)

    def _about_the_kernel(self) -> tuple[str, tuple[str, ...]]:
        """A condition to begin the statement with, and what was found out about K."""
        if self.kernel.known_mercer is True:
            return "", ()
        if self.evidence is None:
            unknown = f"It was not examined, there being more than {LARGEST_EXAMINED} rows."
            return "If the Gram matrix is positive semi-definite, ", (unknown,)
        return "", (f"K is positive semi-definite: {self.evidence.in_words}.",)

    def _gain_and_share(self, c: int) -> tuple[FloatArray, FloatArray]:
        """Σ α over each side, and the factors that balance them where the bias is free."""
        weights, halves = self.weights[self.used], self.factors[self.used, c, 1:]
        gain = np.array([float(self.problem.dual_gain(half, weights)) for half in halves.T])
        if not self.problem.free_bias:
            return gain, np.ones(2)
        return gain, np.array([gain.min() / side if side > 0 else 0.0 for side in gain])

    def rebuilds(self, c: int, share: FloatArray) -> bool:
        """Whether the model has the coefficients αy/λ."""
        both = self.factors[:, c, 1] * share[0] - self.factors[:, c, 2] * share[1]
        beta = both / self.problem.lam
        scale = float(np.abs(beta).max(initial=0.0))
        off = float(np.abs(self.points[c].coef - beta).max(initial=0.0))
        return off <= 1e-9 * scale

    def _rounding(self, c: int, agreements: FloatArray, primal: float, gain: float) -> float:
        """What floating-point arithmetic can do to both values.

        A score may be off by `ENTRY` Σ |βⱼ|√k(xⱼ, xⱼ)·√k(xᵢ, xᵢ). Where yᵢf(xᵢ) is above 1 by
        more than that, the loss is zero whatever the rounding.
        """
        beta, lam = np.abs(self.points[c].coef), self.problem.lam
        length = float(self.lengths @ beta)
        dual_length = float(self.lengths @ self.alpha[:, c])
        lengths, weights = self.lengths[self.used], self.weights[self.used]
        near = agreements <= 1.0 + 2 * ENTRY * (length * lengths + abs(self.points[c].intercept))
        felt = float(weights[near] @ lengths[near])
        terms = length * felt + 0.5 * lam * length**2 + dual_length**2 / (2 * lam)
        # With −ε for the smallest eigenvalue, K is ε away from a positive semi-definite matrix.
        below = 0.0 if self.evidence is None else max(0.0, -self.evidence.smallest)
        square, dual_square = float(beta @ beta), float(np.square(self.alpha[:, c]).sum())
        away = np.sqrt(square) + 0.5 * lam * square + dual_square / (2 * lam)
        arithmetic = 64 * EPS * np.sqrt(self.n) * (abs(primal) + gain) + ENTRY * terms
        return float(arithmetic + below * away)


def examine(kernel: KernelFunction, X: Matrix, rows: IntArray) -> Definiteness | None:
    """What K shows of itself, where the formula does not; None if it was not looked at."""
    if kernel.known_mercer is True or len(rows) > LARGEST_EXAMINED:
        return None
    K = np.asarray(kernel.prepare(X, rows).against(X[rows]))
    return definiteness(K, SINGLE)


Sums: TypeAlias = list[tuple[IntArray, FloatArray]]  # rows, and what has to be added to them


def kernel_times(
    kernel: KernelFunction, X: Matrix, factors: FloatArray, wanted: BoolArray, each: Each = map
) -> FloatArray:
    """K · factors, block by block; only for the rows wanted and those with a factor.

    Where the formula makes K symmetric, rows with a factor are compared with each other once: a
    block serves for itself and for its transpose. Those rows are copied, and no others.
    """
    support = np.asarray(factors.any(axis=1))
    basis = _pieces(np.flatnonzero(support), BLOCK)
    parts = [(kernel.prepare(X, columns), factors[columns]) for columns in basis]

    def with_all(rows: IntArray) -> Sums:
        A = _filled(X[rows])
        return [(rows, prepared.against(A) @ factor) for prepared, factor in parts]

    def with_later(i: int) -> Sums:
        A, own = _filled(X[basis[i]]), parts[i][1]
        found = [(basis[i], parts[i][0].against(A) @ own)]
        for columns, (prepared, factor) in zip(basis[i + 1 :], parts[i + 1 :], strict=True):
            block = prepared.against(A)
            found += [(basis[i], block @ factor), (columns, block.T @ own)]
        return found

    symmetric = kernel.known_mercer is True
    rest = np.flatnonzero(wanted & ~support if symmetric else wanted | support)
    # Blocks of BLOCK × BLOCK entries also where few rows have a factor.
    height = BLOCK if len(basis) != 1 else max(BLOCK, BLOCK * BLOCK // len(basis[0]))
    out = np.zeros_like(factors)
    for sums in chain(
        each(with_later, range(len(basis)) if symmetric else []),
        each(with_all, _pieces(rest, height)),
    ):
        for rows, values in sums:
            out[rows] += values
    return out


def _pieces(rows: IntArray, size: int) -> list[IntArray]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _filled(rows: Matrix) -> Matrix:
    """Rows that are not very sparse as an array: dense products are that much faster."""
    few = sparse.issparse(rows) and rows.shape[0] * rows.shape[1] <= WORTH_FILLING * rows.nnz
    return rows.toarray() if few else rows


def _best_dual(gain: FloatArray, share: FloatArray, quadratic: FloatArray, lam: float) -> float:
    """D at the best feasible multiple of α: D(cα) = cA − c²B is largest at c = A/2B."""
    signed = share * np.array([1.0, -1.0])
    a = float(share @ gain)
    b = max(0.0, float(signed @ quadratic @ signed)) / (2 * lam)
    multiple = 1.0 if 2 * b <= a else a / (2 * b)
    return multiple * a - multiple**2 * b
