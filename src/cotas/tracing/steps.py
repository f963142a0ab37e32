"""What one step of an algorithm is: the numbers of the update, its lines, and the model there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cotas.arrays import FloatArray, IntArray
from cotas.tracing.printed import Line


@dataclass(frozen=True, eq=False, kw_only=True)
class Step:
    """One step of a run.

    Attributes
    ----------
    number : int, counted from one
    lines : tuple of Line
        The lines of the printed algorithm that were executed, in their order.
    model : the estimator as it stands after the step; its certificate is that of the whole fit,
        so that `holds` is False until the model is the one that was certified
    """

    number: int
    lines: tuple[Line, ...] = field(repr=False)
    build: Callable[[], Any] = field(repr=False)

    @property
    def line(self) -> Line:
        """Return the last line that was executed: the update, or the test that found none to
        make."""
        return self.lines[-1]

    @property
    def model(self) -> Any:
        """Return the estimator as it stands after the step."""
        return self.build()

    def text(self, lang: str | None = None) -> str:
        """Return the lines that were executed, each with its number.

        Parameters
        ----------
        lang : "en" or "es", optional
            The language of `cotas.lang` if not given.
        """
        return "\n".join(f"{line.number}: {line.text(lang)}" for line in self.lines)


@dataclass(frozen=True, eq=False, kw_only=True)
class Return(Step):
    """The end of a run; `model` is what `fit` gives."""


@dataclass(frozen=True, eq=False, kw_only=True)
class OnlineStep(Step):
    """An example shown to the perceptron, to the passive-aggressive algorithm or to PEGASOS.

    Attributes
    ----------
    epoch, row : int
        The pass, counted from one, and the number of the example, counted from zero.
    label : the class that counts as +1
    y : float, ±1
    margin : float
        y(θ·x + θ₀) before the step.
    loss : float
        max(0, 1 − margin)
    eta : float
        The step: θ moved by η·y·x (for PEGASOS after it was shrunk by 1 − ηλ); θ₀ by η·y, or by
        min(η, 1/√t)·y for PEGASOS.
    updated, mistake : bool
        Whether θ moved towards y·x, and whether the margin was zero or less.
    theta_before, theta0_before, theta, theta0 : the vector of the run and its bias
    mean, mean0 : their averages over the run so far; None where the model is no average
    mistakes, updates : int
        So far, this step included.
    bound : float or None
        The most mistakes that the theorem of the algorithm allows for the whole run: (R/γ)² of
        Theorem 3.1, or what its certificate proves in its place. None without such a theorem.
    """

    epoch: int
    label: Any
    row: int
    y: float
    margin: float
    eta: float
    updated: bool
    mistake: bool
    theta_before: FloatArray
    theta0_before: float
    theta: FloatArray
    theta0: float
    mean: FloatArray | None
    mean0: float | None
    mistakes: int
    updates: int
    bound: float | None

    @property
    def loss(self) -> float:
        """Return the hinge loss of the example before the step."""
        return max(0.0, 1.0 - self.margin)


@dataclass(frozen=True, eq=False, kw_only=True)
class SubgradientStep(Step):
    """A step along the subgradient of the whole objective of the support vector machine.

    Attributes
    ----------
    label : the class that counts as +1
    violated : array of the rows with y(θ·x + θ₀) ≤ 1 before the step
    eta : float, the step
    theta_before, theta0_before, theta, theta0 : the vector of the run and its bias
    mistakes : int
        How many of the rows had a margin of zero or less.
    """

    label: Any
    violated: IntArray
    eta: float
    theta_before: FloatArray
    theta0_before: float
    theta: FloatArray
    theta0: float
    mistakes: int


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelStep(Step):
    """An example shown to the kernel perceptron or to the kernelized PEGASOS.

    Attributes
    ----------
    epoch, row, label, y, updated, mistake, mistakes, updates, bound
        As in `OnlineStep`.
    margin : float
        y·f(x) before the step, as the algorithm tests it.
    eta : float
        1/(λt) for PEGASOS, 1 for the perceptron.
    counts_before, counts : arrays, how often each example has moved θ
    theta0_before, theta0 : float, the bias of the run
    coef : array, the coefficient of each row in f
    """

    epoch: int
    label: Any
    row: int
    y: float
    margin: float
    eta: float
    updated: bool
    mistake: bool
    counts_before: FloatArray
    counts: FloatArray
    theta0_before: float
    theta0: float
    coef: FloatArray
    mistakes: int
    updates: int
    bound: float | None


@dataclass(frozen=True, eq=False, kw_only=True)
class PairStep(Step):
    """Two multipliers moved by sequential minimal optimization, or all the free ones at once.

    Attributes
    ----------
    label : the two classes, or the one against the rest
    rows : array, the examples that moved: two, one without a bias, more in a Newton step
    y : array, their labels ±1
    alpha_before, alpha : arrays, αᵢ of these rows, between 0 and sᵢ (1/n without weights): λ times
        those of the document, whose limit is C = 1/(λn)
    upper : array, those sᵢ
    slopes : array, f(xᵢ) − yᵢ before the step, without the bias
    curvature : float, kᵢᵢ + kⱼⱼ − 2kᵢⱼ; NaN of a Newton step. yᵢαᵢ moves by λ times the slope of j
        less that of i, over the curvature, unless a limit is met
    newton : bool
        Whether it was a Newton step in all the free multipliers, which `solver="smo"` makes where
        pairs are slow; the document knows pairs only, and so does `solver="smo-simple"`.
    multipliers : array, α of all the rows after the step
    """

    label: Any
    rows: IntArray
    y: FloatArray
    alpha_before: FloatArray
    alpha: FloatArray
    upper: FloatArray
    slopes: FloatArray
    curvature: float
    newton: bool
    multipliers: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class RoundStep(Step):
    """One round of boosting.

    Attributes
    ----------
    round : int, counted from one in each class
    label : the class that counts as +1; None where the learners name a class
    learner : what the round trained, with `predict`
    error : float, its weighted error
    vote : float, its coefficient in F: ½cₘ for AdaBoost, 1 where the page has no cₘ
    weights_before, weights : arrays that sum to one
    F : array, the model on the training rows after the round
    loss : float, J(F) = Σ sᵢ exp(−yᵢF(xᵢ))
    bound : float
        Π 2√(err(1 − err)) over the rounds so far for AdaBoost as it is printed, where it equals
        `loss` until a learner makes no error, whose vote is finite here; for the others `loss`,
        which bounds the training error too.
    training_error : float
    """

    round: int
    label: Any
    learner: Any
    error: float
    vote: float
    weights_before: FloatArray
    weights: FloatArray
    F: FloatArray
    loss: float
    bound: float
    training_error: float


@dataclass(frozen=True, eq=False, kw_only=True)
class DescentStep(Step):
    """One step of gradient descent for least squares or ridge.

    Attributes
    ----------
    epoch : int, counted from one
    rows : array of the examples that the gradient was taken over; None stands for all
    eta : float, the step, which multiplies the mean over these examples
    theta_before, theta0_before, theta, theta0 : the parameters in the units of the data
    objective_before, objective : float, P over all the data before and after the step
    """

    epoch: int
    rows: IntArray | None
    eta: float
    theta_before: FloatArray
    theta0_before: Any
    theta: FloatArray
    theta0: Any
    objective_before: float
    objective: float
