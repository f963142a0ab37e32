"""PEGASOS: the support vector machine by stochastic subgradient steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cotas.arrays import FloatArray, IntArray
from cotas.certificates import Certificate, DualPoint, Expectation
from cotas.certificates.block_points import BlockPoint
from cotas.certificates.blocks import Watched
from cotas.design.blocks import times
from cotas.fitting.data import Examples
from cotas.fitting.parameters import check_parameters, check_positive, penalty_of, read_start
from cotas.fitting.pursuit import end_of_share
from cotas.linear.history import History
from cotas.linear.mixed_svm import DualPoints, best_biases
from cotas.linear.mixing import Mixture, Shape
from cotas.linear.online import OnlineClassifier
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk
from cotas.refusals import ParameterError
from cotas.rounds import Rounds
from cotas.solvers.bias import best_bias
from cotas.solvers.online import Sampling, Steps
from cotas.solvers.pegasos import PegasosRule
from cotas.solvers.subgradient_descent import SubgradientRule
from cotas.source import MatrixLike, Source
from cotas.stops import Stop
from cotas.words import say

MIXED = (
    "Trained by iterative parameter mixing: in each round every block of rows has a run of its own "
    "from the common θ, whose mean by rows is the next. The dual variables are those of Newton's "
    "method on the same problem."
)
# How fine the dual point of a mixture is where no tol is given: finer than what its runs reach.
FINE = 1e-3
SAMPLINGS = ("permutation", "replacement", "order", "all")
NAMED_STEPS = ("1/(lam*t)", "1/(λt)", "1/t", "1/(1+t)")


@dataclass(eq=False, repr=False, kw_only=True)
class Pegasos(OnlineClassifier):
    """PEGASOS, Algorithm 5 of Fuentes Cabrera, with the bias of Fuentes-Pineda.

    Minimises the objective of the documents' support vector machine,

        mean hinge loss + (λ/2)‖θ‖²,    the bias not penalized,

    by one subgradient step at a time. The certificate is the duality gap: no classifier has an
    objective below `certificate_.lower`, and this one has `certificate_.upper`.

    Parameters
    ----------
    lam : float, default=1e-4
        λ, the weight of the penalty.
    C : float, optional
        In the place of `lam`, the other convention: λ = 1/(C · sum of the weights). Not for
        `partial_fit`, which never knows that sum.
    max_iter : int, default=20
        Passes over the examples.
    step : {"1/(lam*t)", "1/t", "1/(1+t)"}, float or callable, default="1/(lam*t)"
        The step η at the t-th example, t = 1, 2, … : that of Fuentes-Pineda and of the original
        paper, that printed in Algorithm 5, that of Clasificación lineal, a constant, a function.
    sampling : {"permutation", "replacement", "order", "all"}, default="permutation"
        A new random order in each epoch, independent draws, or the order of the data. With "all"
        a step takes the mean over all examples: the subgradient descent of Clasificación lineal,
        `max_iter` steps of it, t counting the steps.
    average : bool, default=False
        Return the average of all the vectors instead of the last one.
    project : bool, default=False
        Project θ on the ball of radius 1/√λ, which contains the optimum, after each step.
    tol : float or None
        Stop as soon as an epoch ends with a proved relative gap, (P − D)/P, of at most `tol`, and
        warn if that never happens. None runs all the epochs.
    fit_intercept : bool, default=True
        Whether to train θ₀. Each violation moves it by min(η, 1/√t)·y; at the end of `fit` it is
        set to the best value for θ, which a sort of the scores finds.
    start : array θ, or tuple (θ, θ₀), optional
        Where the run begins; at zero if not given. With several classes θ has a row for each. A
        first step of 1/λ, which the default takes, forgets it: 1 − ηλ is zero.
    random_state, warm_start, class_weight, early_stopping, validation_fraction, \
n_iter_no_change, certify, n_jobs, max_time, callbacks, progress
        As in `Perceptron`. Weights are those of the mean in the objective.

    Attributes
    ----------
    lam_ : float, λ
    coef_, intercept_, classes_, certificate_, n_iter_, stop_, stop_reason_, mistakes_per_epoch_
        As in `Perceptron`.

    Examples
    --------
    >>> import cotas
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.5]], [1, 1, -1, -1]
    >>> model = cotas.Pegasos(lam=0.1, max_iter=2000, random_state=0).fit(X, y)
    >>> model.certificate_.kind, model.certificate_.holds
    ('duality', True)
    >>> model.certificate_.relative_gap < 0.02
    True
    """

    lam: float = 1e-4
    C: float | None = None
    max_iter: int = 20
    step: str | float | Callable[[int], float] = "1/(lam*t)"
    sampling: str = "permutation"
    average: bool = False
    project: bool = False
    tol: float | None = None
    start: Any = None

    _averages_ledger = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_parameters(self, sampling=SAMPLINGS)
        if self.tol is not None and not self.certify:
            raise ParameterError("tol", "tol asks for a proof, which certify=False leaves out.")
        if isinstance(self.step, str):
            if self.step not in NAMED_STEPS:
                raise ParameterError(
                    "step",
                    f"step must be one of {NAMED_STEPS}, a positive number or a function of t, "
                    f"not {self.step!r}.",
                )
        elif not callable(self.step):
            check_positive(self.step, "step")

    def _rule(self) -> PegasosRule | SubgradientRule:
        radius = 1.0 / math.sqrt(self.lam_) if self.project else math.inf
        rule = SubgradientRule if self.sampling == "all" else PegasosRule
        return rule(float(self.fit_intercept), self.lam_, radius)

    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        classes: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        if self.C is not None:
            raise ParameterError("C", "C needs all the data at once: give lam to use partial_fit.")
        return super().partial_fit(X, y, classes, sample_weight)

    partial_fit.__doc__ = OnlineClassifier.partial_fit.__doc__

    def _begin(self, examples: Examples) -> History:
        self.lam_ = penalty_of(self, examples.total_weight())
        history = super()._begin(examples)
        if self.start is None:
            return history
        theta, theta0 = self._read_start(*history.run.w.shape)
        history.run.w[:], history.run.b[:] = theta, theta0
        history.start = np.hstack([theta, theta0[:, None]])
        return history

    def _read_start(self, classes: int, d: int) -> tuple[FloatArray, FloatArray]:
        """Tell where the run begins, as it was given."""
        theta, theta0 = read_start(self.start, d, classes, "classes")
        if not self.fit_intercept and theta0.any():
            raise ParameterError(
                "start", "start has a bias, and fit_intercept=False leaves no room for one."
            )
        return theta, theta0

    def _resume(self, examples: Examples) -> History:
        self.lam_ = penalty_of(self, examples.total_weight())
        return super()._resume(examples)

    def _sampling(self) -> Sampling:
        return self.sampling  # type: ignore[return-value]

    def _averages(self) -> bool:
        return bool(self.average)

    def _signature(self) -> tuple[Any, ...]:
        return (*super()._signature(), self.step)

    def _tol(self) -> float | None:
        return self.tol

    def _training_options(self) -> dict[str, Any]:
        # The norm of θ is brought up to date along a pass and computed anew in the next.
        return {"steps": self._steps(), "rest": False, "carries": bool(self.project)}

    def _steps(self) -> Steps:
        return StepSizes(self.step, self.lam_)

    # ---- from a source of row blocks ---------------------------------------------------------

    def _mixture(self, source: Source, shape: Shape) -> Mixture:
        self.lam_ = penalty_of(self, shape.classes.total)
        mixture = super()._mixture(source, shape)
        if self.start is not None:
            mixture.theta, mixture.theta0 = self._read_start(*mixture.theta.shape)
        return mixture

    def _times_weights(self, shape: Shape) -> float:
        return shape.used / shape.classes.total

    def _time_of_rounds(self, began: float) -> float | None:
        # The dual points take about as long as the rounds.
        parts = 2 if self.certify else 1
        return end_of_share(began, self.max_time, 0, parts)

    def _mixed_model(self, mixture: Mixture, watched: Watched) -> tuple[FloatArray, FloatArray]:
        theta, theta0 = mixture.model()
        if not self.fit_intercept or not np.isfinite(theta).all():
            return theta, theta0
        return theta, best_biases(watched, watched.read, theta)

    def _certify_mixture(self, mixture: Mixture, watched: Watched) -> list[Certificate]:
        classes = mixture.shape.classes
        problem = RegularizedRisk(Hinge(), self.lam_, bool(self.fit_intercept))
        if mixture.dual is None:  # it is that of the problem, whatever the model
            mixture.dual = DualPoints(watched, classes, problem)
        target_gap = FINE if self.tol is None else 0.5 * self.tol
        passes = max(self.max_iter, type(self).max_iter)
        rounds: list[Rounds] = mixture.dual.improve(target_gap, passes, mixture.until)
        points = [
            BlockPoint(
                problem=problem,
                coef=self.coef_[c].copy(),
                intercept=float(self.intercept_[c]),
                positive=label,
                thetas=rounds[c].thetas,
                biases=rounds[c].biases,
                smoothings=rounds[c].smoothings,
                labels=None if classes.factors is None else classes.labels,
                factors=classes.factors,
            )
            for c, label in enumerate(mixture.shape.positives())
        ]
        return [found.noted(say(MIXED)) for found in BlockPoint.check_all(points, watched)]

    def _set_average(self, run: Any, average: Any, theta: FloatArray, theta0: FloatArray) -> None:
        average.w[:], average.b[:] = -theta * run.seen[:, None], theta0 * run.seen

    # ---- in memory -----------------------------------------------------------------------------

    def _solver_weights(self, weights: FloatArray | None) -> FloatArray | None:
        """Compute n·sᵢ, so that a draw of one example is right on average."""
        return None if weights is None else weights * (np.count_nonzero(weights) / weights.sum())

    def _read_off(self, history: History) -> tuple[FloatArray, FloatArray]:
        run, average = history.run, history.average
        if average is None:
            return super()._read_off(history)
        seen = np.maximum(run.seen, 1)
        total = average.weight[:, None] * run.w - average.w
        return total / seen[:, None], average.b / seen

    def _model(self, examples: Examples, history: History) -> tuple[FloatArray, FloatArray]:
        """Find, with all the data at hand, the best θ₀ for θ and not the last of the run."""
        theta, theta0 = self._read_off(history)
        if not self.fit_intercept or history.batches or not np.isfinite(theta).all():
            return theta, theta0
        for c, code in enumerate(history.run.positive):
            values = times(examples.X, theta[c])
            theta0[c] = best_bias(values, examples.codes == code, examples.weights)
        return theta, theta0

    def _certify(self, examples: Examples, history: History, *how: Any) -> list[Certificate]:
        used = examples.used()
        n = examples.n_rows if used is None else len(used)
        points = [
            DualPoint(
                problem=RegularizedRisk(Hinge(), self.lam_, bool(self.fit_intercept)),
                coef=self.coef_[c].copy(),
                intercept=float(self.intercept_[c]),
                positive=self.classes_[history.run.positive[c]],
                multipliers=history.run.ledger[c],
                per=max(1, history.presentations(c)) / n,
                weights=examples.weights,
                expectation=self._expectation(examples, history, history.presentations(c)),
            )
            for c in range(len(self.coef_))
        ]
        return DualPoint.check_all(points, examples.X, examples.y, *how)

    def _expectation(self, examples: Examples, history: History, t: int) -> Expectation | None:
        """State what the theory of PEGASOS promises of the averaged vector of independent draws."""
        applies = (
            self.average
            and self.sampling == "replacement"
            and self.step in ("1/(lam*t)", "1/(λt)")
            and not (self.fit_intercept or self.early_stopping)
            and examples.weights is None
            and history.start is None
            and not self.warm_start
            and self.tol is None
            # The number of draws was fixed beforehand, not by looking at the outcome.
            and self.stop_ is Stop.ITERATIONS
            and not history.batches
            and t >= 3
        )
        return Expectation(draws=t, projected=bool(self.project)) if applies else None


@dataclass(frozen=True)
class StepSizes:
    """The step sizes η for an array of times t."""

    step: str | float | Callable[[int], float]
    lam: float

    def __call__(self, t: IntArray) -> FloatArray:
        if callable(self.step):
            return _called(self.step, t)
        if self.step in ("1/(lam*t)", "1/(λt)"):
            return np.divide(1.0, self.lam * t)
        if isinstance(self.step, str):
            return np.divide(1.0, t if self.step == "1/t" else 1 + t)
        return np.full(len(t), float(self.step))


def _called(step: Callable[[int], float], times: IntArray) -> FloatArray:
    """Return a user's step at each of the times."""
    values = np.array([step(int(t)) for t in times], dtype=np.float64)
    if not (np.isfinite(values).all() and (values >= 0).all()):
        bad = int(times[np.flatnonzero(~(np.isfinite(values) & (values >= 0)))[0]])
        raise ParameterError(
            "step", f"step(t) must return a finite number ≥ 0; at t={bad} it gave {step(bad)!r}."
        )
    return values
