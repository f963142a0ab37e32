"""The linear support vector machine, solved until a duality gap is proved."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from cotas.arrays import AnyArray, BoolArray, FloatArray, IntArray, Matrix
from cotas.certificates import (
    Certificate,
    DualPoint,
    HardMarginPoint,
    Region,
    optimum_region,
)
from cotas.fitting.data import Examples, read_examples, refuse_source
from cotas.fitting.deciding import shared_by_all
from cotas.fitting.parameters import check_parameters, penalty_of
from cotas.linear.base import RiskMinimizer
from cotas.linear.dispatch import SOLVERS, Ending, Solution, solve_all
from cotas.linear.from_source import IN_BLOCKS, fit_in_blocks, keep
from cotas.losses import Hinge, MarginLoss, SquaredHinge
from cotas.problem import RegularizedRisk
from cotas.refusals import ParameterError
from cotas.solvers.semismooth_newton import LARGEST_SYSTEM, ascent_comes_first
from cotas.source import MatrixLike, Source, as_stored, source_of
from cotas.words import say

LOSSES: dict[str, MarginLoss] = {"hinge": Hinge(), "squared_hinge": SquaredHinge()}
# Below this the interior point gets there sooner.
FINEST_FOR_NEWTON = 1e-10
# A multiplier counts as positive above this part of its weight, or above what a larger gap leaves
# uncertain: an interior point keeps all of them a little above zero.
SUPPORT, SUPPORT_BY_GAP = 1e-6, 20.0


@dataclass(eq=False, repr=False, kw_only=True)
class LinearSVM(RiskMinimizer):
    r"""The soft-margin linear support vector machine of Fuentes Cabrera, section 3.7.

    Minimises exactly the documents' objective,

        mean hinge loss + (λ/2)‖θ‖²,    the bias not penalized,

    until the checker proves a relative gap of at most `tol`; or the same with the square of the
    hinge loss, max(0, 1 − z)², which scikit-learn's `LinearSVC` takes unless told otherwise.

    Parameters
    ----------
    lam : float, default=1e-3
        λ, the weight of the penalty.
    C : float, optional
        In the place of `lam`, the other convention: λ = 1/(C · sum of the weights).
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The squared hinge is smooth: it is solved by Newton's method, and gives no
        `certified_predict` with a bias.
    margin : {"soft", "hard"}, default="soft"
        "hard" allows no violation: the separator with the largest margin, λ playing no part. Data
        that cannot be separated then raise `NotSeparableError`, which carries the proof.
    fit_intercept : bool, default=True
        Whether to train the free bias θ₀.
    solver : {"auto", "newton", "interior-point", "dual-coordinate-ascent"}
        "newton" solves a system of the size of θ at each of a few dozen steps, made of the rows
        near the margin; with many features, few sparse rows or, without a bias, a large λ it takes
        turns with coordinate ascent, and with more than a thousand its systems are solved by
        conjugate gradients.
        "interior-point" makes its systems of all the rows, and reaches the smallest gaps.
        "dual-coordinate-ascent" sweeps over the examples. "auto", the default, takes "newton",
        but "interior-point" with up to a thousand features and a tol of 1e-10 or less.
    tol : float, default=1e-4
        The relative gap to prove: the fit ends when (P − D)/P ≤ tol, so that the best objective is
        lower by at most that share, and warns if it cannot get there.
    max_iter : int, default=1000
        Newton steps (on small tables rounds of them) or rounds of coordinate ascent, each class.
    max_time : float or None
        Seconds after the call of `fit` at which the best model so far is returned; each class has
        an equal share of them. margin="hard" has no model before its last step: nothing ends it.
    warm_start : bool, default=False
        Begin where the last `fit` of this object ended, for example after Ctrl-C or `max_time`,
        or for another `lam`. Other classes or another number of rows make it begin anew.
    class_weight : dict, "balanced" or None
        Multiplies the sample weights, class by class.
    random_state : int, RandomState or None
        For the order of the sweeps.
    n_jobs : int or None, default=None
        Threads for the classes of a problem with more than two, and for the rows of one with two
        if there are many; None means all cores, but one inside a worker of joblib. It does not
        change the result.
    callbacks : callable or list of callables, optional
        Called with a `SolverReport` each time the gap of a class has been measured, by one thread
        at a time; True ends the work on that class. With margin="hard" that is once, at its end.
    progress : bool or None
        Show a bar with the relative gap for work longer than a second. None shows it if tqdm is
        installed and the output is a terminal or a notebook.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of labels; the second counts as +1, the first as −1
    lam_ : float, λ
    certificate_ : Certificate, with a part for each of more than two classes
    support_ : array of row numbers, or a list of them with more than two classes
        The examples with αᵢ > 0, as far as the gap that was reached can tell.
    dual_coef_ : array of yᵢαᵢ for those examples, or a list of them
    n_support_ : array with the number of support vectors for each class against the rest
    margin_width_ : array with 2/‖θ‖, the distance between the two margin boundaries
    leave_one_out_bound_ : array with n_support_/n, which the leave-one-out error cannot exceed
    n_iter_ : iterations of the longest run; 0 if a warm start was good enough as it was
    solver_ : the solver that was used
    stop_, stop_reason_ : why the fit ended, as a `cotas.stops.Stop` and in words

    Examples
    --------
    >>> import cotas
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.5]], [1, 1, -1, -1]
    >>> model = cotas.LinearSVM(lam=0.1, tol=1e-8).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-8
    True
    """

    loss: str = "hinge"
    margin: str = "soft"
    solver: str = "auto"

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on X, y until the gap is proved.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
            A source, such as `cotas.tables.open_pages` gives, has y and the weights itself. Its
            rows are not kept: there are then no `support_` and no `dual_coef_`.
        y : array of shape (n_samples,)
            Two classes or more; more than two are trained one against the rest.
        sample_weight : array of shape (n_samples,), optional
            Non-negative; an example of weight zero is left out.
        """
        began = time.perf_counter()
        self._check_parameters()
        if (source := source_of(X, y, sample_weight)) is not None:
            self._refuse_warm_start()
            return self._fit_in_blocks(source)
        examples = read_examples(self, X, y, sample_weight, self.class_weight)
        self.lam_, shares = penalty_of(self, examples.total_weight()), examples.shares()
        starts = self._starts(examples)
        self.classes_, self.solver_ = examples.classes, self._choose_solver(examples.X)
        problem = RegularizedRisk(LOSSES[self.loss], self.lam_, bool(self.fit_intercept))
        solved = solve_all(self, examples, shares, problem, starts, began)
        solutions, self._regions, self.n_iter_, reason = solved
        self._remember(solutions)
        self._keep(solutions, examples)
        return self._conclude_fit(reason, "Raise max_iter, max_time or tol.")

    def _fit_in_blocks(self, source: Source) -> Self:
        """Fit from a source of row blocks, of which nothing is kept."""
        if self.margin == "hard" or self.solver not in ("auto", "newton"):
            raise ParameterError(
                "solver",
                "From a source of row blocks LinearSVM is solved with margin='soft' and "
                "solver='newton' (or 'auto').",
            )
        for name in ("support_", "dual_coef_", "n_support_", "leave_one_out_bound_", "_ends"):
            self.__dict__.pop(name, None)
        bias = bool(self.fit_intercept)
        ended = fit_in_blocks(
            self, source, lambda lam: RegularizedRisk(LOSSES[self.loss], lam, bias)
        )
        reason = keep(self, ended, IN_BLOCKS)
        self.solver_, self.margin_width_ = "newton", margin_widths(self.coef_)
        self._regions = [None] * len(ended)
        return self._conclude_fit(reason, "Raise max_iter, max_time or tol.")

    def _region_again(self, certificate: Certificate, X: Matrix, y: AnyArray) -> Region | None:
        return optimum_region(certificate, X, y)

    def certified_predict(self, X: MatrixLike) -> tuple[AnyArray, BoolArray]:
        """Return the class of each row, and whether the exact optimum provably gives the same one.

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
        refuse_source(self, X)
        labels = self.predict(X)
        layouts = ["csr", "csc"]
        rows = validate_data(
            self, as_stored(X), accept_sparse=layouts, dtype="numeric", reset=False
        )
        regions = [region for region in self._regions if region is not None]
        unchanged = all(certificate.holds for certificate in self._current_certificates())
        if len(regions) < len(self.coef_) or not unchanged:
            return labels, np.zeros(len(labels), dtype=np.bool_)
        bounds = [region.scores(rows) for region in regions]
        low, high = (np.stack(side, axis=1) for side in zip(*bounds, strict=True))
        codes = np.searchsorted(self.classes_, labels)
        return labels, shared_by_all(codes, low, high)

    def _check_parameters(self) -> None:
        check_parameters(self, margin=("soft", "hard"), loss=tuple(LOSSES), solver=SOLVERS)
        if self.loss != "hinge" and self.solver not in ("auto", "newton"):
            raise ParameterError(
                "solver", f"solver={self.solver!r} is for loss='hinge'; take 'newton'."
            )

    def _choose_solver(self, X: Matrix) -> str:
        if self.margin == "hard":
            return "hard-margin"
        if self.solver != "auto":
            return self.solver
        fine = self.loss == "hinge" and self.tol <= FINEST_FOR_NEWTON
        return "interior-point" if fine and X.shape[1] <= LARGEST_SYSTEM else "newton"

    def _how(self, X: Matrix) -> str:
        """Say by whom it was solved, and why by that one."""
        if self.margin == "hard":
            return "Solved as the nearest points of the two convex hulls."
        if self.solver != "auto":
            return say("Solved by {solver}, as asked.", solver=self.solver)
        if self.loss != "hinge":
            return "Solved by newton, the loss being smooth."
        if self.solver_ == "interior-point":
            return "Solved by interior-point, tol being so small."
        if ascent_comes_first(X, self.lam_, float(self.fit_intercept)):
            return "Solved by coordinate ascent and newton, in turns."
        return "Solved by newton, since there are few features."

    def _starts(self, examples: Examples) -> list[Ending | None]:
        """Tell where the last fit ended, for each class; None stands for a start from nothing."""
        last: list[Ending] | None = getattr(self, "_ends", None)
        count = 1 if len(examples.classes) == 2 else len(examples.classes)
        goes_on = (
            self.warm_start
            and self.margin == "soft"
            and last is not None
            and len(last) == count
            and np.array_equal(self.classes_, examples.classes)
            and last[0].share.shape == examples.y.shape
        )
        return list(last) if last and goes_on else [None] * count

    def _remember(self, solutions: list[Solution]) -> None:
        """Remember where the next fit begins if it is to go on; a hard margin leaves nothing to
        it."""
        self._ends = []
        for solution in solutions:
            point = solution.point
            if isinstance(point, DualPoint):
                model = (point.coef, float(point.intercept), point.problem.lam)
                self._ends.append(Ending(point.multipliers, *model))

    def _keep(self, solutions: list[Solution], examples: Examples) -> None:
        self.coef_ = np.array([solution.point.coef for solution in solutions])
        self.intercept_ = np.array([solution.point.intercept for solution in solutions])
        supports = [_support(solution) for solution in solutions]
        coefs = [
            _signed_alpha(solution, examples, rows)
            for solution, rows in zip(solutions, supports, strict=True)
        ]
        self.n_support_ = np.array([len(rows) for rows in supports])
        self.margin_width_ = margin_widths(self.coef_)
        # A row without a multiplier can be left out without changing the model.
        self.leave_one_out_bound_ = self.n_support_ / examples.n_rows
        self.support_ = supports[0] if len(supports) == 1 else supports
        self.dual_coef_ = coefs[0] if len(coefs) == 1 else coefs
        how = self._how(examples.X)
        self._certificates = [solution.certificate.noted(how) for solution in solutions]


def _support(solution: Solution) -> IntArray:
    """Return the rows whose multiplier is positive, as far as the gap can tell."""
    point = solution.point
    if isinstance(point, HardMarginPoint):
        return np.flatnonzero(point.alpha > 0)
    least = max(SUPPORT, min(0.01, SUPPORT_BY_GAP * solution.certificate.gap))
    return (point.multipliers > least).nonzero()[0]


def _signed_alpha(solution: Solution, examples: Examples, rows: IntArray) -> FloatArray:
    """Compute yᵢαᵢ of some rows."""
    point, weights = solution.point, examples.weights
    if isinstance(point, HardMarginPoint):
        alpha = point.alpha[rows]
    elif weights is None:
        alpha = point.multipliers[rows] / examples.n_rows
    else:
        alpha = point.multipliers[rows] * (weights[rows] / weights.sum())
    return np.where(examples.y[rows] == point.positive, alpha, -alpha)


def margin_widths(coef: FloatArray) -> FloatArray:
    """Compute 2/‖θ‖ of each class."""
    with np.errstate(divide="ignore"):
        return np.asarray(2.0 / np.sqrt(np.square(coef).sum(axis=1)))
