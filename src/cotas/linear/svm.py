"""The linear support vector machine, solved until a duality gap is proved."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from cotas.arrays import AnyArray, BoolArray, FloatArray, IntArray, Matrix
from cotas.certificates import (
    HardMarginPoint,
    Region,
    Separability,
    SeparationWitness,
    optimum_region,
)
from cotas.design import as_design
from cotas.fitting.data import Examples, read_examples
from cotas.fitting.parameters import check_positive
from cotas.linear.base import LinearClassifier
from cotas.linear.search import Candidate, Search, Solution
from cotas.solvers.cutting_planes import cutting_planes
from cotas.solvers.dual_coordinate_ascent import dual_coordinate_ascent
from cotas.solvers.hard_margin import hard_margin
from cotas.solvers.interior_point import interior_point
from cotas.solvers.quadratic_program import quadratic_program
from cotas.solvers.separating_plane import ConvexCombination, separate

SOLVERS = ("auto", "interior-point", "dual-coordinate-ascent", "cutting-planes", "qp")
# A Newton system of this size takes about a tenth of a second to set up and solve.
LARGEST_SYSTEM = 1000
# A multiplier counts as positive above this part of its weight, or above what a larger gap leaves
# uncertain: an interior point keeps all of them a little above zero.
SUPPORT, SUPPORT_BY_GAP = 1e-6, 20.0


class NotSeparableError(ValueError):
    """A hard margin was asked for and there is none; `proof` is the answer of `separability`."""

    def __init__(self, proof: Separability) -> None:
        super().__init__(
            "margin='hard' needs data that a hyperplane separates, and none does: "
            f"{len(proof.support if proof.support is not None else [])} rows prove it "
            "(see `proof` on this error). Use margin='soft'."
        )
        self.proof = proof


class LinearSVM(LinearClassifier):
    """The soft-margin linear support vector machine of document 000, section 3.7.

    Minimises exactly the documents' objective,

        mean hinge loss + (λ/2)‖θ‖²,    the bias not penalised,

    until the checker proves a relative gap of at most `tol`. C = 1/(λn) in the other convention.

    Parameters
    ----------
    lam : float, default=1e-3
        λ, the weight of the penalty.
    margin : {"soft", "hard"}, default="soft"
        "hard" allows no violation: the separator with the largest margin, λ playing no part. Data
        that cannot be separated then raise `NotSeparableError`, which carries the proof.
    fit_intercept : bool, default=True
        Whether to train the free bias θ₀.
    solver : {"auto", "interior-point", "dual-coordinate-ascent", "cutting-planes", "qp"}
        "interior-point" solves a system of the size of θ at each of a few dozen steps: best with
        up to a thousand features. "dual-coordinate-ascent" sweeps over the examples: best for
        sparse data with many features. "cutting-planes" (OCAS) needs few passes for a rough gap.
        "qp" is the printed quadratic program, by Clarabel (extra `qp`), for small data. "auto",
        the default, takes the first for up to a thousand features, the second for more and for
        sparse data unless tol is below 1e-5.
    tol : float, default=1e-4
        The fit ends when P − D ≤ tol·max(1, |P|) is proved, and warns if it cannot get there.
    max_iterations : int, default=1000
        Newton steps, cutting planes, or groups of up to nine sweeps.
    max_time : float or None
        Seconds after which the best model so far is returned, for each class.
    class_weight : dict, "balanced" or None
        Multiplies the sample weights, class by class.
    random_state : int, RandomState or None
        For the order of the sweeps.
    callbacks : callable or list of callables, optional
        Called with a `SolverReport` each time the gap has been measured; True ends the fit.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of labels; the second counts as +1, the first as −1
    certificate_ : Certificate, or a list of them with more than two classes
    support_ : array of row numbers, or a list of them with more than two classes
        The examples with αᵢ > 0, as far as the gap that was reached can tell.
    dual_coef_ : array of yᵢαᵢ for those examples, or a list of them
    n_support_ : array with the number of support vectors for each class against the rest
    margin_width_ : array with 2/‖θ‖, the distance between the two margin boundaries
    leave_one_out_bound_ : array with n_support_/n, which the leave-one-out error cannot exceed
    n_iter_ : iterations of the longest run
    solver_ : the solver that was used
    stop_reason_ : why the fit ended, in words

    Examples
    --------
    >>> import cotas
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.5]], [1, 1, -1, -1]
    >>> model = cotas.LinearSVM(lam=0.1, tol=1e-8).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-8
    True
    """

    def __init__(
        self,
        *,
        lam: float = 1e-3,
        margin: str = "soft",
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iterations: int = 1000,
        max_time: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        callbacks: Any = None,
    ) -> None:
        self.lam = lam
        self.margin = margin
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iterations = max_iterations
        self.max_time = max_time
        self.class_weight = class_weight
        self.random_state = random_state
        self.callbacks = callbacks

    def fit(self, X: Matrix, y: Any, sample_weight: Any = None) -> Self:
        """Train on X, y until the gap is proved.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Two classes or more; more than two are trained one against the rest.
        sample_weight : array of shape (n_samples,), optional
            Non-negative; an example of weight zero is left out.
        """
        self._check_parameters()
        examples = read_examples(self, X, y, sample_weight, self.class_weight)
        self.classes_ = examples.classes
        self.solver_, why = self._choose_solver(examples.X)
        weights = _normalised(examples)
        if len(np.unique(examples.codes[weights > 0])) < 2:
            raise ValueError("The weights leave examples of one class only; it takes two.")
        solve = self._separate if self.margin == "hard" else self._solve
        solutions = [solve(examples, weights, self.classes_[code]) for code in examples.positives()]
        self._keep(solutions, why)
        self._regions: list[Region | None] = [
            optimum_region(solution.certificate, examples.X, examples.y) for solution in solutions
        ]
        return self

    def certified_predict(self, X: Matrix) -> tuple[AnyArray, BoolArray]:
        """The class of each row, and whether the exact optimum provably gives the same one.

        The gap proves how far θ and θ₀ can be from the optimum, hence how far each score can be;
        `docs/theory/svm.md` has the derivation. Nothing is claimed of a hard margin, nor of a
        model that was changed after the fit.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        labels, certified : arrays of shape (n_samples,)
        """
        labels = self.predict(X)
        X = validate_data(self, X, accept_sparse=["csr", "csc"], dtype="numeric", reset=False)
        regions = [region for region in self._regions if region is not None]
        unchanged = all(certificate.holds for certificate in self._current_certificates())
        if len(regions) < len(self.coef_) or not unchanged:
            return labels, np.zeros(len(labels), dtype=np.bool_)
        bounds = [region.scores(X) for region in regions]
        low, high = (np.stack(side, axis=1) for side in zip(*bounds, strict=True))
        if low.shape[1] == 1:
            return labels, np.asarray((low[:, 0] > 0) | (high[:, 0] <= 0))
        codes = np.searchsorted(self.classes_, labels)
        own = np.take_along_axis(low, codes[:, None], axis=1)[:, 0]
        np.put_along_axis(high, codes[:, None], -np.inf, axis=1)
        return labels, np.asarray(own > high.max(axis=1))

    def _check_parameters(self) -> None:
        check_positive(self.lam, "lam")
        check_positive(self.tol, "tol")
        check_positive(self.max_iterations, "max_iterations")
        if self.max_time is not None:
            check_positive(self.max_time, "max_time")
        if self.margin not in ("soft", "hard"):
            raise ValueError(f"margin must be 'soft' or 'hard', not {self.margin!r}.")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {SOLVERS}, not {self.solver!r}.")

    def _choose_solver(self, X: Matrix) -> tuple[str, str]:
        if self.margin == "hard":
            return "hard-margin", "Solved as the nearest points of the two convex hulls."
        if self.solver != "auto":
            return self.solver, f"Solved by {self.solver}, as asked."
        if X.shape[1] <= LARGEST_SYSTEM and not (sparse.issparse(X) and self.tol > 1e-5):
            return "interior-point", "Solved by interior-point, since there are few features."
        why = "the data being sparse" if sparse.issparse(X) else "since there are many features"
        return "dual-coordinate-ascent", f"Solved by dual-coordinate-ascent, {why}."

    def _solve(self, examples: Examples, weights: FloatArray, label: Any) -> Solution:
        """Follow one solver and keep its best model, by what the checker makes of it."""
        search = Search(self, examples, weights, label)
        reason = "the solver made no further progress"
        try:
            for candidate in self._candidates(examples, weights, label):
                if (stop := search.look_at(candidate)) is not None:
                    reason = stop
                    break
        except KeyboardInterrupt:
            reason = "interrupted"
            warnings.warn(
                "Interrupted: this is the best model so far, and its certificate is about it.",
                stacklevel=4,
            )
        return search.solution(reason)

    def _separate(self, examples: Examples, weights: FloatArray, label: Any) -> Solution:
        """The widest margin, or the proof that there is none."""
        if not (weights > 0).all():
            raise ValueError("margin='hard' has no use for weights of zero: leave those rows out.")
        X, positive, bias = examples.X, examples.y == label, float(self.fit_intercept)
        signs = np.where(positive, 1.0, -1.0)
        known = separate(X, signs, bias)
        if isinstance(known, ConvexCombination):
            witness = SeparationWitness(np.zeros(X.shape[1]), 0.0, True, bias, known.alpha)
            raise NotSeparableError(Separability.from_witness(witness, X, positive))
        theta, theta0, alpha = hard_margin(X, signs, bias, known)
        point = HardMarginPoint(theta, theta0, label, bool(bias), alpha)
        certificate = point.check(examples.X, examples.y)
        return Solution(point, certificate, signs * alpha, 1, "the working set was closed")

    def _candidates(
        self, examples: Examples, weights: FloatArray, label: Any
    ) -> Iterator[Candidate]:
        """θ and α from the solver, α over all the rows, with the gap if the solver knows it."""
        signs = np.where(examples.y == label, 1.0, -1.0)
        lam, bias = float(self.lam), float(self.fit_intercept)
        if self.solver_ == "dual-coordinate-ascent":
            rows, random = as_design(examples.X), check_random_state(self.random_state)
            for theta, _, alpha, gap in dual_coordinate_ascent(
                rows, signs, weights, lam, bias, random
            ):
                # What P will be at the end is at most what D has reached plus the gap, and 1.
                yield Candidate(theta, alpha, gap)
            return
        used = np.flatnonzero(weights > 0)
        X = examples.X if len(used) == len(weights) else examples.X[used]
        problem = (X, signs[used], weights[used], lam, bias)

        def over_all_rows(some: FloatArray) -> FloatArray:
            alpha = np.zeros(len(weights))
            alpha[used] = some
            return alpha

        if self.solver_ == "cutting-planes":
            for theta, _, alpha in cutting_planes(*problem):
                yield Candidate(theta, over_all_rows(alpha), None)
        elif self.solver_ == "qp":
            theta, _, alpha = quadratic_program(*problem)
            yield Candidate(theta, over_all_rows(alpha), None)
        else:
            for iterate in interior_point(*problem):
                relative = (iterate.primal - iterate.dual) / max(1.0, iterate.primal)
                yield Candidate(iterate.theta, over_all_rows(iterate.alpha), relative)

    def _keep(self, solutions: list[Solution], why: str) -> None:
        self.coef_ = np.array([solution.point.coef for solution in solutions])
        self.intercept_ = np.array([solution.point.intercept for solution in solutions])
        self._certificates = [
            replace(solution.certificate, remarks=(why, *solution.certificate.remarks))
            for solution in solutions
        ]
        self.n_iter_ = max(solution.iterations for solution in solutions)
        worst = max(solutions, key=lambda solution: solution.certificate.relative_gap)
        self.stop_reason_ = worst.reason
        supports = [_support(solution) for solution in solutions]
        coefs = [s.signed_alpha[rows] for s, rows in zip(solutions, supports, strict=True)]
        self.n_support_ = np.array([len(rows) for rows in supports])
        lengths = np.linalg.norm(self.coef_, axis=1)
        self.margin_width_ = np.divide(
            2.0, lengths, out=np.full_like(lengths, np.inf), where=lengths > 0
        )
        # A row without a multiplier can be left out without changing the model.
        self.leave_one_out_bound_ = self.n_support_ / len(solutions[0].signed_alpha)
        self.support_ = supports[0] if len(supports) == 1 else supports
        self.dual_coef_ = coefs[0] if len(coefs) == 1 else coefs
        if worst.certificate.relative_gap > self.tol:
            warnings.warn(
                f"The relative gap proved is {worst.certificate.relative_gap:.2g}, and "
                f"tol={self.tol:g} was asked for ({worst.reason}). Raise max_iterations, max_time "
                "or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )


def _support(solution: Solution) -> IntArray:
    """The rows whose multiplier is positive, as far as the gap can tell."""
    point = solution.point
    if isinstance(point, HardMarginPoint):
        return np.flatnonzero(point.alpha > 0)
    least = max(SUPPORT, min(0.01, SUPPORT_BY_GAP * solution.certificate.gap))
    return np.flatnonzero(point.multipliers > least)


def _normalised(examples: Examples) -> FloatArray:
    """The weights sᵢ of the objective, which sum to one."""
    if examples.weights is None:
        return np.full(examples.n_rows, 1.0 / examples.n_rows)
    return np.asarray(examples.weights / examples.weights.sum())
