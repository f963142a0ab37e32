"""`cotas.trace`: fit a model, and go through its run again step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from cotas.boosting.adaboost import AdaBoost, RealAdaBoost
from cotas.boosting.gentleboost import GentleBoost
from cotas.fitting.data import refuse_source
from cotas.kernel.pegasos import KernelPegasos
from cotas.kernel.perceptron import KernelPerceptron
from cotas.kernel.svm import KernelSVM
from cotas.linear.passive_aggressive import PassiveAggressive
from cotas.linear.pegasos import Pegasos
from cotas.linear.perceptron import AveragedPerceptron, Perceptron
from cotas.refusals import ParameterError, ParameterTypeError
from cotas.regression.least_squares import LeastSquares
from cotas.regression.ridge import Ridge
from cotas.source import MatrixLike
from cotas.stops import Stop
from cotas.tracing import printed
from cotas.tracing.boosting import trace_rounds
from cotas.tracing.descent import trace_descent
from cotas.tracing.kernel import trace_kernel_run, trace_pairs
from cotas.tracing.online import trace_run
from cotas.tracing.printed import Printed
from cotas.tracing.steps import Step
from cotas.words import say

PEGASOS = (printed.PEGASOS, printed.PEGASOS_WITH_BIAS, printed.STOCHASTIC_SUBGRADIENT)
SVM = (*PEGASOS, printed.SUBGRADIENT_DESCENT, printed.KERNEL_PEGASOS)
BOOSTING = (printed.ADABOOST, printed.REAL_ADABOOST, printed.GENTLEBOOST)
DRAWS = (printed.LEAST_SQUARES_BY_DRAWS, printed.RIDGE_BY_DRAWS)
DESCENT = (printed.BATCH_DESCENT, printed.STOCHASTIC_DESCENT, printed.MINI_BATCHES, *DRAWS)
Replay = Callable[[], Iterator[Step]]

# What can be traced, and how: a function of the estimator and the data that fits it and returns
# the model, the printed algorithm and a function that goes through the run again.
TRACED: dict[type, Callable[..., tuple[Any, Printed, Replay]]] = {
    Perceptron: trace_run,
    AveragedPerceptron: trace_run,
    PassiveAggressive: trace_run,
    Pegasos: trace_run,
    KernelPerceptron: trace_kernel_run,
    KernelPegasos: trace_kernel_run,
    KernelSVM: trace_pairs,
    AdaBoost: trace_rounds,
    RealAdaBoost: trace_rounds,
    GentleBoost: trace_rounds,
    LeastSquares: trace_descent,
    Ridge: trace_descent,
}


def notes(model: Any, page: Printed) -> tuple[str, ...]:
    """Say what has to be known to compute the numbers of the steps from the lines of the page."""
    kinds: tuple[tuple[tuple[Printed, ...], Callable[[Any, Printed], Iterator[str]]], ...] = (
        ((printed.PASSIVE_AGGRESSIVE,), _of_passive_aggressive),
        (SVM, _of_svm),
        ((printed.SMO,), _of_pairs),
        (BOOSTING, _of_boosting),
        (DESCENT, _of_descent),
    )
    return tuple(note for pages, found in kinds if page in pages for note in found(model, page))


def _of_passive_aggressive(model: Any, page: Printed) -> Iterator[str]:
    if model.fit_intercept:
        yield say(
            "The page has no bias: here xᵢ stands for (xᵢ, 1), so that ‖xᵢ‖² is one more and θ₀ "
            "moves by η yᵢ."
        )
    if model.average:
        yield say("The model is the average of all the θ.")


def _of_svm(model: Any, page: Printed) -> Iterator[str]:
    if model.fit_intercept:
        yield say(
            "The page does not move the bias: here θ₀ moves by min(η, 1/√t) yᵢ where θ moves "
            "towards yᵢxᵢ, and the model that is returned has the best θ₀ for its θ."
        )
    if page is printed.PEGASOS_WITH_BIAS:
        yield say("A margin of exactly 1 counts as smaller than 1.")
    if page is printed.PEGASOS and model.step != "1/t":
        yield say("η is what `step` says, and not 1/t.")
    if page is not printed.SUBGRADIENT_DESCENT and model.sampling != "replacement":
        yield say("An epoch shows each example once, where the page draws one at a time.")
    if getattr(model, "project", False):
        yield say("After each step θ is projected on the ball of radius 1/√λ.")
    if getattr(model, "average", False):
        yield say("The model is the average of all the θ.")


def _of_pairs(model: Any, page: Printed) -> Iterator[str]:
    yield say(
        "αᵢ is λ times that of the page, so that its limit is 1/n where the page has C = 1/(λn); "
        "yᵢαᵢ moves by λ(sⱼ − sᵢ)/(kᵢᵢ + kⱼⱼ − 2kᵢⱼ), s being the slopes, unless a limit is met."
    )


def _of_boosting(model: Any, page: Printed) -> Iterator[str]:
    if page is printed.ADABOOST:
        yield say(
            "The vote is ½cₘ: F is half the sum of the page, with the same sign, and minimizes J. "
            "A learner without errors gets a vote larger than all the others together."
        )
    if page is printed.REAL_ADABOOST:
        yield say("pₘ is kept between 10⁻⁶ and 1 − 10⁻⁶.")
    if model.learning_rate != 1.0:
        yield say("What a round adds to F is multiplied by `learning_rate`.")
    if getattr(model, "multiclass", "ovr") == "samme" and len(model.classes_) > 2:
        yield say("cₘ is larger by ln(K − 1): each learner names one of K classes.")


def _of_descent(model: Any, page: Printed) -> Iterator[str]:
    if page is printed.BATCH_DESCENT:
        yield say("η multiplies the mean over the n examples: the α of the page is η/n.")
    if page in DRAWS and model.fit_intercept:
        yield say("The page has no bias: here xₜ stands for (xₜ, 1), and θ₀ is not shrunk.")
    if page not in DRAWS and model._lam() > 0:
        yield say("The page has no penalty: here λθ is added to the gradient, not for θ₀.")
    if model.standardize:
        yield say("The steps are made with standardized columns; θ is shown in the data's units.")


class Trace:
    """The steps of a run. Each time it is gone through, the run is made again.

    Attributes
    ----------
    model : the fitted estimator
    algorithm : Printed, the algorithm as its document prints it
    notes : tuple of str, where the numbers of the steps are not those of the page

    Examples
    --------
    >>> import cotas
    >>> run = cotas.trace(cotas.PassiveAggressive(), [[1.0], [-1.0]], [1, -1])
    >>> run.notes[0][:50]
    'The page has no bias: here xᵢ stands for (xᵢ, 1), '
    """

    def __init__(self, model: Any, algorithm: Printed, replay: Replay) -> None:
        self.model, self.algorithm, self._replay = model, algorithm, replay

    def __iter__(self) -> Iterator[Step]:
        """Return the steps one by one, the last of which is a `Return`."""
        return self._replay()

    @property
    def notes(self) -> tuple[str, ...]:
        """Say where the numbers of the steps are not those of the page, in the language of the
        moment.

        A bias that the page does not have, a letter that stands for something else: with them and
        the lines of the page every number of a step can be computed by hand.
        """
        return notes(self.model, self.algorithm)

    def __repr__(self) -> str:
        where = f"{self.algorithm.place}, {self.algorithm.author}"
        return f"<Trace of {self.model!r}: {where}>"


def trace(
    estimator: Any, X: MatrixLike, y: ArrayLike | None, sample_weight: ArrayLike | None = None
) -> Trace:
    """Fit a copy of the estimator, and return the run that led to it, step by step.

    Each step has the numbers of its update, the lines of the printed algorithm that made it, in
    English and Spanish, and the model as it stood after it. The last one is a `Return`, whose model
    is that of `fit` to the last bit. The fit itself is as fast as without a trace: the run is made
    again, one step at a time, while the trace is gone through. Only of `KernelSVM` the moves are
    kept while it is fitted.

    Parameters
    ----------
    estimator : Perceptron, AveragedPerceptron, PassiveAggressive, Pegasos, KernelPerceptron, \
KernelPegasos, KernelSVM, AdaBoost, RealAdaBoost, GentleBoost, or LeastSquares or Ridge with \
solver="gradient" or "stochastic"
        It is left as it is. With `random_state=None` a seed is drawn once for the whole trace.
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> import cotas
    >>> X, y = [[2.0, 1.0], [1.0, 2.0], [-1.0, -2.0], [-2.0, -1.0]], [1, 1, -1, -1]
    >>> run = cotas.trace(cotas.Perceptron(max_iter=1), X, y)
    >>> for step in run:
    ...     print(step.number, step.line.text("es"))
    1 θ₀ ← θ₀ + yᵢ
    2 si yᵢ(θ·xᵢ + θ₀) ≤ 0 entonces
    3 si yᵢ(θ·xᵢ + θ₀) ≤ 0 entonces
    4 si yᵢ(θ·xᵢ + θ₀) ≤ 0 entonces
    5 devolver θ, θ₀
    >>> first = next(iter(run))
    >>> first.row, first.margin, first.theta_before, first.theta, first.theta0
    (0, 0.0, array([0., 0.]), array([2., 1.]), 1.0)
    """
    refuse_source("trace", X)
    how = TRACED.get(type(estimator))
    if how is None:
        known = ", ".join(kind.__name__ for kind in TRACED)
        raise ParameterTypeError(
            "estimator", f"trace shows the steps of {known}, and not of {type(estimator).__name__}."
        )
    if estimator.max_time is not None:
        raise ParameterError(
            "max_time",
            "A run that a clock ends cannot be made again: set max_time=None and limit it by "
            "max_iter or n_estimators.",
        )
    refuse_source("trace", X)
    estimator = clone(estimator)
    if estimator.get_params(deep=False).get("random_state", 0) is None:
        estimator.set_params(random_state=int(np.random.randint(2**31 - 1)))
    model, algorithm, replay = how(estimator, X, y, sample_weight)
    if model.stop_ is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    return Trace(model, algorithm, replay)
