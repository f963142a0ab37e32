"""Gradient descent for least squares and ridge: batch, stochastic and with mini-batches."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from cotas.arrays import FloatArray, IntArray, Matrix
from cotas.fitting.data import Observations, read_observations
from cotas.refusals import ParameterError
from cotas.regression.solving import quadratic_of, rate_of
from cotas.regression.stochastic import begin, stacked
from cotas.regression.task import Task
from cotas.solvers.gradient_descent import gradient_descent
from cotas.tracing import printed
from cotas.tracing.printed import Line, Printed
from cotas.tracing.steps import DescentStep, Return, Step

TRACED_SOLVERS = ("gradient", "stochastic")


def trace_descent(
    estimator: Any, X: Matrix, y: ArrayLike | None, sample_weight: ArrayLike | None
) -> tuple[Any, Printed, Callable[[], Iterator[Step]]]:
    """Fit a regression by descent; its algorithm, and how to go through its steps."""
    if estimator.solver not in TRACED_SOLVERS:
        raise ParameterError(
            "solver",
            f"trace shows the steps of solver='gradient' or 'stochastic', not of "
            f"{estimator.solver!r}.",
        )
    model = clone(estimator).fit(X, y, sample_weight)
    data = read_observations(clone(estimator), X, y, sample_weight)
    algorithm = _page(model)
    return model, algorithm, lambda: DescentReplay(model, estimator, data, algorithm).steps()


def _page(model: Any) -> Printed:
    if model.solver == "gradient":
        return printed.BATCH_DESCENT
    if model.batch_size > 1:
        return printed.MINI_BATCHES
    if not model.replacement:
        return printed.STOCHASTIC_DESCENT
    return printed.RIDGE_BY_DRAWS if model._lam() > 0 else printed.LEAST_SQUARES_BY_DRAWS


class DescentMove(NamedTuple):
    """A move: where a step led: z in the coordinates of the run, η, and the examples it was taken
    over."""

    epoch: int
    rows: IntArray | None
    eta: float
    z: FloatArray


class DescentReplay:
    """The steps of a descent, made again."""

    def __init__(self, model: Any, estimator: Any, data: Observations, algorithm: Printed) -> None:
        self.model, self.data, self.algorithm = model, data, algorithm
        again = copy.copy(estimator)
        again.random_state = copy.deepcopy(estimator.random_state)
        self.task = Task(again, data, again._lam())
        self.objective = quadratic_of(self.task)

    def steps(self) -> Iterator[Step]:
        """Yield a step for each batch, and the end."""
        walk = self._batch() if self.model.solver == "gradient" else self._stochastic()
        number, z = 0, self.task.start
        value, _ = self.objective.value_and_gradient(z)
        for number, moved in enumerate(walk, start=1):
            before, z, last = z, moved.z, value
            value, _ = self.objective.value_and_gradient(z)
            yield self._step(number, moved, before, last, value)
        end, lines = z, (self.algorithm.last,)
        yield Return(number=number + 1, lines=lines, build=lambda: self._built(end))

    def _batch(self) -> Iterator[DescentMove]:
        rate = rate_of(self.task, self.objective)
        run = gradient_descent(self.objective, rate, self.task.start)
        for iterate in islice(run, int(self.model.n_iter_)):
            yield DescentMove(iterate.number, None, float(rate(iterate.number)), iterate.z)

    def _stochastic(self) -> Iterator[DescentMove]:
        run, state, _ = begin(self.task)
        random = check_random_state(self.task.model.random_state)
        plans = islice(run.plans(random), int(self.model.n_iter_))
        for epoch, plan in enumerate(plans, start=1):
            for batch in plan.batches():
                run.follow(batch, state)
                z = stacked(state, self.task.free_bias)
                yield DescentMove(epoch, batch.order.copy(), float(batch.etas[0]), z)

    def _step(
        self, number: int, moved: DescentMove, before: FloatArray, last: float, value: float
    ) -> DescentStep:
        theta_before, theta0_before = self._parameters(before)
        theta, theta0 = self._parameters(moved.z)
        return DescentStep(
            number=number,
            lines=self._lines(),
            build=lambda: self._built(moved.z),
            epoch=moved.epoch,
            rows=moved.rows,
            eta=moved.eta,
            theta_before=theta_before,
            theta0_before=theta0_before,
            theta=theta,
            theta0=theta0,
            objective_before=last,
            objective=value,
        )

    def _lines(self) -> tuple[Line, ...]:
        if self.algorithm is printed.BATCH_DESCENT:
            return self.algorithm.some("3", "4")
        drawn = self.algorithm.document == "000"
        return self.algorithm.some("4", "5") if drawn else self.algorithm.some("3", "4", "5")

    def _parameters(self, z: FloatArray) -> tuple[FloatArray, Any]:
        """Compute θ and θ₀ as the model has them: without an axis of targets where there is one."""
        theta, theta0 = self.task.coordinates.model(z)
        return (theta[0], float(theta0[0])) if self.data.single else (theta, theta0)

    def _built(self, z: FloatArray) -> Any:
        model = copy.copy(self.model)
        model._keep_parameters(*self.task.coordinates.model(z), self.data.single)
        return model
