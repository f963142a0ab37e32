"""Logistic regression, solved until a duality gap is proved."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit, log_softmax, softmax

from cotas.arrays import Each, FloatArray
from cotas.certificates import Certificate, DualPoint, SoftmaxPoint
from cotas.certificates.core.sparse_rows import rows_in
from cotas.certificates.passes import Facts, class_sketches
from cotas.design.blocks import times_transposed
from cotas.fitting.data import Examples, Moved, read_examples
from cotas.fitting.parameters import check_parameters, check_share, penalty_of
from cotas.fitting.pursuit import Ended, Pursuit, end_of_share, worst_of
from cotas.linear.base import RiskMinimizer
from cotas.linear.from_source import IN_BLOCKS, fit_in_blocks, keep
from cotas.losses import Logistic
from cotas.problem import RegularizedRisk, SoftmaxRisk, relative_gap
from cotas.running import Monitor, entries_of, rows_in_threads, thread_count
from cotas.solvers.iterate import Iterate
from cotas.solvers.proximal_newton import newton_points
from cotas.solvers.risks import LogisticRisk, SoftmaxLoss
from cotas.source import MatrixLike, Source, comes_in_blocks, source_of

Start = tuple[FloatArray, FloatArray]  # θ with a column for each score, and θ₀


class ClassSolution(NamedTuple):
    """A model with its certificate, in the shape of `coef_` and `intercept_`."""

    coef: FloatArray
    intercept: FloatArray
    certificate: Certificate


class LogisticProblem(NamedTuple):
    """One class against the rest, or all at once by softmax: what is minimized, and its proof.

    `label` is None for all classes; `near` are the rows as the solver sees them.
    """

    examples: Examples
    near: Moved
    label: Any
    problem: RegularizedRisk | SoftmaxRisk
    facts: Facts
    each: Each

    def iterates(self, start: Start | None) -> Iterator[Iterate]:
        """Yield the points of Newton's method, with the slopes of the losses as the dual point."""
        examples, near = self.examples, self.near
        risk: LogisticRisk | SoftmaxLoss
        if self.label is None:
            risk = SoftmaxLoss(examples.codes, examples.shares(), len(examples.classes))
        else:
            signs = np.where(examples.y == self.label, 1.0, -1.0)
            risk = LogisticRisk(signs, examples.shares())
        start = start and (start[0], near.seen(*start))
        for found in newton_points(near.X, risk, self.problem, start):
            believed = relative_gap(found.gap, found.objective)
            theta0 = near.given(found.theta, found.theta0)
            yield Iterate((found.theta, theta0), found.slopes, believed)

    def check(self, iterate: Iterate) -> ClassSolution:
        """Prove what can be proved of an iterate."""
        (theta, theta0), slopes, examples = iterate.model, iterate.dual, self.examples
        coef, shares = np.ascontiguousarray(theta.T), examples.shares()
        given = (examples.X, examples.y, self.facts, self.each)
        if isinstance(self.problem, SoftmaxRisk):  # its own probabilities are the dual point
            model = (coef, theta0, examples.classes, coef, theta0, shares)
            found = SoftmaxPoint(self.problem, *model).check(*given)
            return ClassSolution(coef, theta0, found)
        point = DualPoint(
            problem=self.problem,
            coef=coef[0],
            intercept=float(theta0[0]),
            positive=self.label,
            multipliers=np.abs(slopes[:, 0]) / np.where(shares > 0, shares, 1.0),
            weights=examples.weights,
        )
        return ClassSolution(coef, theta0, DualPoint.check_all([point], *given)[0])


PENALTIES = ("l2", "l1", "elasticnet")
MULTICLASS = ("softmax", "ovr")
ADVICE = "Raise max_iter, max_time or tol."


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticRegression(RiskMinimizer):
    """Logistic regression, for two classes or for more by softmax, with a proved gap.

    Minimizes

        mean log loss + λ(ρ‖θ‖₁ + ½(1 − ρ)‖θ‖²),    the bias not penalized,

    until the checker proves a relative gap of at most `tol`. It is solved by Newton's method, and
    by the proximal Newton method if ρ > 0.

    Parameters
    ----------
    lam : float, default=1e-3
        λ, the weight of the penalty.
    C : float, optional
        In the place of `lam`, as scikit-learn has it: λ = 1/(C · sum of the weights).
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        ρ is 0, 1 or `l1_ratio`.
    l1_ratio : float, default=0.5
        ρ for "elasticnet", between 0 and 1.
    multiclass : {"softmax", "ovr"}, default="softmax"
        With more than two classes: all at once, with one certificate, or each against the rest.
    fit_intercept : bool, default=True
        Whether to train the free bias θ₀.
    tol : float, default=1e-4
        The relative gap to prove: the fit ends when (P − D)/P ≤ tol, so that the best objective is
        lower by at most that share, and warns if it cannot get there.
    max_iter : int, default=1000
        Newton steps.
    max_time : float or None
        Seconds after which the best model so far is returned.
    warm_start : bool, default=False
        Begin where the last `fit` of this object ended, if it had the same classes and features.
    class_weight : dict, "balanced" or None
        Multiplies the sample weights, class by class.
    random_state : int, RandomState or None
        Not used: nothing here is random.
    n_jobs : int or None, default=None
        Threads for the classes, and for the checker where there are many rows; None means all
        cores. It does not change the result.
    callbacks : callable or list of callables, optional
        Called with a `SolverReport` after each step, by one thread at a time; True ends the work.
    progress : bool or None
        Show a bar with the relative gap for work longer than a second. None shows it if tqdm is
        installed and the output is a terminal or a notebook.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of labels; of two the second counts as +1
    certificate_ : Certificate, with a part for each class if they are trained against the rest
    lam_ : float, λ
    n_iter_ : steps of the longest run; 0 if a warm start was good enough as it was
    stop_, stop_reason_ : why the fit ended, and in words

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = cotas.LogisticRegression(C=1.0).fit(X, y)
    >>> model.certificate_.holds, model.certificate_.relative_gap <= 1e-4
    (True, True)
    >>> model.predict_proba(X[:1]).round(2).tolist()
    [[0.98, 0.02, 0.0]]
    """

    penalty: str = "l2"
    l1_ratio: float = 0.5
    multiclass: str = "softmax"

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on X, y until the gap is proved.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
            A source, such as `cotas.tables.open_pages` gives, has y and the weights itself.
        y : array of shape (n_samples,)
            Two classes or more.
        sample_weight : array of shape (n_samples,), optional
            Non-negative; an example of weight zero is left out.
        """
        began = time.perf_counter()
        self._check_parameters()
        if (source := source_of(X, y, sample_weight)) is not None:
            self._refuse_warm_start()
            return self._fit_in_blocks(source)
        examples = read_examples(self, X, y, sample_weight, self.class_weight)
        starts = self._starts(examples)
        self.classes_, self.lam_ = examples.classes, penalty_of(self, examples.total_weight())
        self.multiclass_ = self.multiclass if len(self.classes_) > 2 else "ovr"
        ended = self._solve(examples, starts, began)
        self._certificates = [one.proved.certificate for one in ended]
        self.coef_ = np.concatenate([one.proved.coef for one in ended])
        self.intercept_ = np.concatenate([one.proved.intercept for one in ended])
        self.n_iter_ = max(one.iterations for one in ended)
        return self._conclude_fit(worst_of(ended), ADVICE)

    def _fit_in_blocks(self, source: Source) -> Self:
        """Fit from a source of row blocks, of which nothing is kept."""
        free, ratio = bool(self.fit_intercept), self._ratio()

        def against_the_rest(lam: float) -> RegularizedRisk:
            return RegularizedRisk(Logistic(), lam, free, l1_ratio=ratio)

        def together(lam: float) -> SoftmaxRisk:
            return SoftmaxRisk(lam, free, ratio)

        softmax_of = together if self.multiclass == "softmax" else None
        ended = fit_in_blocks(self, source, against_the_rest, softmax_of)
        self.multiclass_ = self.multiclass if len(self.classes_) > 2 else "ovr"
        return self._conclude_fit(keep(self, ended, IN_BLOCKS), ADVICE)

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probability of each class, in the order of `classes_`.

        Against the rest, the probabilities of more than two classes are divided by their sum.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
        """
        if comes_in_blocks(X):
            return self._of_source(X, "predict_proba")  # type: ignore[no-any-return]
        z = self._binary_scores(X)
        if self.multiclass_ == "softmax":
            return np.asarray(softmax(z, axis=1))
        if z.shape[1] == 1:
            return np.asarray(expit(np.hstack([-z, z])))
        p = np.maximum(expit(z), np.finfo(np.float64).tiny)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: MatrixLike) -> FloatArray:
        """Return the logarithms of `predict_proba`, with all their digits where it is near zero.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
        """
        if comes_in_blocks(X):
            return self._of_source(X, "predict_log_proba")  # type: ignore[no-any-return]
        z = self._binary_scores(X)
        if self.multiclass_ == "softmax":
            return np.asarray(log_softmax(z, axis=1))
        logs = np.asarray(log_expit(np.hstack([-z, z]) if z.shape[1] == 1 else z))
        return logs if z.shape[1] == 1 else np.log(self.predict_proba(X))

    def _check_parameters(self) -> None:
        check_parameters(self, penalty=PENALTIES, multiclass=MULTICLASS)
        check_share(self.l1_ratio, "l1_ratio")

    def _solve(
        self, examples: Examples, starts: list[Start | None], began: float
    ) -> list[Ended[ClassSolution]]:
        """Find the best model of each part: one for all the classes, or one for each."""
        alone = len(starts) == 1
        jobs = self.n_jobs if alone else 1
        with Monitor(self) as monitor, rows_in_threads(examples.X, jobs) as each:
            parts = self._parts(examples, each)

            def solve(c: int) -> Ended[ClassSolution]:
                until = end_of_share(began, self.max_time, c, len(parts), threads)
                limits = (self.tol, self.max_iter, until, monitor)
                pursuit: Pursuit[ClassSolution] = Pursuit(
                    *limits, began=began, label=parts[c].label
                )
                return pursuit.resume(parts[c].iterates, starts[c], parts[c].check)

            threads = thread_count(self.n_jobs, len(parts), entries_of(examples.X))
            return monitor.for_each(solve, range(len(parts)), threads)

    def _parts(self, examples: Examples, each: Each) -> list[LogisticProblem]:
        ratio, free, X = self._ratio(), bool(self.fit_intercept), examples.X
        labels = list(self.classes_[examples.positives()])
        sketches, rows = class_sketches(X, examples.y, labels, each), rows_in(X, free, each)
        given = (examples, Moved.near_zero(X, free))
        if self.multiclass_ == "softmax":
            together = SoftmaxRisk(self.lam_, free, ratio)
            return [LogisticProblem(*given, None, together, Facts(sketches, rows=rows), each)]
        problem = RegularizedRisk(Logistic(), self.lam_, free, l1_ratio=ratio)
        return [
            LogisticProblem(*given, label, problem, Facts([sketch], rows=rows), each)
            for label, sketch in zip(labels, sketches, strict=True)
        ]

    def _ratio(self) -> float:
        """Compute ρ of the penalty."""
        return {"l2": 0.0, "l1": 1.0}.get(self.penalty, float(self.l1_ratio))

    def _starts(self, examples: Examples) -> list[Start | None]:
        """Tell where the last fit ended, for each part; None stands for a start from zero."""
        k = 1 if len(examples.classes) == 2 else len(examples.classes)
        together = self.multiclass == "softmax"
        goes_on = (
            self.warm_start
            and hasattr(self, "coef_")
            and np.array_equal(self.classes_, examples.classes)
            and self.coef_.shape == (k, examples.X.shape[1])
        )
        if not goes_on:
            return [None] * (1 if together else k)
        theta, theta0 = self.coef_.T, self.intercept_ * bool(self.fit_intercept)
        if together:
            return [(theta, theta0)]
        return [(theta[:, c : c + 1], theta0[c : c + 1]) for c in range(k)]

    def _measured_certificates(self) -> list[Certificate]:
        if self.multiclass_ == "softmax":
            return [one.about(self.coef_, self.intercept_) for one in self._certificates]
        return super()._measured_certificates()


def strongest_penalty(
    model: LogisticRegression, X: MatrixLike, y: ArrayLike | None, sample_weight: ArrayLike | None
) -> float:
    """Compute the least λ with an ℓ1 part at which θ = 0: the largest slope there, at the best
    biases."""
    examples = read_examples(model, X, y, sample_weight, model.class_weight)
    shares, k = examples.shares(), len(examples.classes)
    truth = examples.codes[:, None] == np.arange(k)
    best = shares @ truth if model.fit_intercept else np.full(k, 0.5 if k == 2 else 1.0 / k)
    if model.multiclass == "ovr" and not model.fit_intercept:
        best = np.full(k, 0.5)
    slopes = times_transposed(examples.X, shares[:, None] * (best - truth))
    ratio = 1.0 if model.penalty == "l1" else float(model.l1_ratio)
    return float(np.abs(slopes).max()) / ratio
