"""The online linear classifiers, example by example."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from cotas.arrays import FloatArray, Matrix
from cotas.certificates import Certificate
from cotas.design import dot, norm2
from cotas.fitting.data import Examples, read_examples
from cotas.linear.history import History
from cotas.linear.online import OnlineClassifier
from cotas.linear.pegasos import Pegasos
from cotas.loops import loop
from cotas.running import one_thread_in_blas
from cotas.solvers.online import Presentation, Training
from cotas.solvers.passive_aggressive import PassiveAggressiveRule
from cotas.solvers.pegasos import PegasosRule
from cotas.solvers.run import sign
from cotas.tracing import printed
from cotas.tracing.printed import Line, Printed
from cotas.tracing.steps import OnlineStep, Return, Step, SubgradientStep


def trace_run(
    estimator: OnlineClassifier, X: Matrix, y: ArrayLike | None, sample_weight: ArrayLike | None
) -> tuple[Any, Printed, Callable[[], Iterator[Step]]]:
    """Fit an online classifier; its algorithm, and how to go through its run."""
    model = clone(estimator).fit(X, y, sample_weight)
    fresh = clone(estimator)
    examples = read_examples(fresh, X, y, sample_weight, fresh.class_weight)
    fresh.classes_ = examples.classes
    algorithm = _page(estimator)

    def replay() -> Iterator[Step]:
        again = copy.copy(fresh)
        again.random_state = copy.deepcopy(fresh.random_state)
        rows, _ = again._hold_out(examples)
        history = again._begin(rows)
        return Replay(model, again, rows, history, algorithm).steps()

    return model, algorithm, replay


def _page(model: Any) -> Printed:
    """Return the algorithm that this model runs."""
    if isinstance(model, Pegasos):
        if model.sampling == "all":
            return printed.SUBGRADIENT_DESCENT
        pages = {
            "1/(lam*t)": printed.PEGASOS_WITH_BIAS,
            "1/(λt)": printed.PEGASOS_WITH_BIAS,
            "1/(1+t)": printed.STOCHASTIC_SUBGRADIENT,
        }
        return pages.get(str(model.step), printed.PEGASOS)
    if not hasattr(model, "separator"):
        return printed.PASSIVE_AGGRESSIVE
    if model._averages():
        return printed.AVERAGED_PERCEPTRON
    return printed.PERCEPTRON if model.fit_intercept else printed.PERCEPTRON_THROUGH_THE_ORIGIN


class Replay:
    """A run that is made again: the fitted model, the one that runs, and its state."""

    def __init__(
        self, model: Any, again: Any, examples: Examples, history: History, algorithm: Printed
    ) -> None:
        self.model, self.again, self.examples, self.history = model, again, examples, history
        self.algorithm, self.number = algorithm, 0
        self.training: Training = again._training(examples, history)

    def steps(self) -> Iterator[Step]:
        """Yield a step for each example that is shown to each class, and the end."""
        epochs = (int(self.again.max_iter), int(self.model.n_iter_))
        for presentation in self.training.presentations(*epochs):
            yield (
                self._step(presentation)
                if presentation.row is not None
                else self._whole(presentation)
            )
        with one_thread_in_blas():
            found = self.again._model(self.examples, self.history)
        lines = (self.algorithm.last,)
        yield Return(number=self.number + 1, lines=lines, build=lambda: self._built(*found))

    def _whole(self, presentation: Presentation) -> SubgradientStep:
        """Return a step that all the examples take part in."""
        run, c = self.history.run, presentation.c
        self.number += 1
        before, theta, theta0 = run.ledger[c].copy(), run.scale[c] * run.w[c], float(run.b[c])
        mistakes = int(run.mistakes[c])
        presentation.take()
        found = self.again._read_off(self.history)
        return SubgradientStep(
            number=self.number,
            lines=self.algorithm.some("2", "3"),
            build=lambda: self._built(*found),
            label=self.examples.classes[run.positive[c]],
            violated=np.flatnonzero(run.ledger[c] != before),
            eta=float(presentation.step or 0.0),
            theta_before=theta,
            theta0_before=theta0,
            theta=run.scale[c] * run.w[c],
            theta0=float(run.b[c]),
            mistakes=int(run.mistakes[c]) - mistakes,
        )

    def _step(self, presentation: Presentation) -> OnlineStep:
        run, c, row = self.history.run, presentation.c, presentation.row
        assert row is not None
        self.number += 1
        y, theta0 = float(sign(self.training.labels, row, run.positive[c])), float(run.b[c])
        theta = run.scale[c] * run.w[c]
        margin = y * (run.scale[c] * score(self.training.rows, row, run.w[c]) + theta0)
        mistakes, updates = int(run.mistakes[c]), int(run.updates[c])
        presentation.take()
        updated, found = bool(run.updates[c] > updates), self.again._read_off(self.history)
        mean = self.history.average is not None
        return OnlineStep(
            number=self.number,
            lines=self._lines(updated),
            build=lambda: self._built(*found),
            epoch=presentation.epoch,
            label=self.examples.classes[run.positive[c]],
            row=row,
            y=y,
            margin=float(margin) + 0.0,  # no minus before a zero
            eta=self._eta(presentation, row, margin, updated),
            updated=updated,
            mistake=bool(run.mistakes[c] > mistakes),
            theta_before=theta,
            theta0_before=theta0,
            theta=run.scale[c] * run.w[c],
            theta0=float(run.b[c]),
            mean=found[0][c] if mean else None,
            mean0=float(found[1][c]) if mean else None,
            mistakes=int(run.mistakes[c]),
            updates=int(run.updates[c]),
            bound=bound_of(self.model._certificates[c]),
        )

    def _eta(self, presentation: Presentation, row: int, margin: float, updated: bool) -> float:
        """Return the step that the algorithm takes at this example."""
        training, rule = self.training, self.training.rule
        if presentation.step is not None:
            return presentation.step
        s = 1.0 if training.weights is None else float(training.weights[row])
        if isinstance(rule, PassiveAggressiveRule) and updated:
            size = length2(training.rows, row) + rule.bias
            return float(min((1.0 - margin) / size if size > 0 else np.inf, s / rule.lam))
        return s if updated else 0.0

    def _lines(self, updated: bool) -> tuple[Line, ...]:
        page, rule = self.algorithm, self.training.rule
        if isinstance(rule, PegasosRule):
            if page is printed.PEGASOS_WITH_BIAS:
                return page.some("2.1", "2.2", "2.3" if updated else "2.4")
            if page is printed.STOCHASTIC_SUBGRADIENT:
                return page.some("2", "3", "5" if updated else "4")
            return page.some("4", "5", "6", *(("7",) if updated else ("8", "9")))
        if isinstance(rule, PassiveAggressiveRule):
            return page.some("5", "6")
        if page is printed.AVERAGED_PERCEPTRON:
            return page.some("7", *(("8", "9", "10", "11") if updated else ()), "12")
        moves = ("6", "7") if page is printed.PERCEPTRON else ("6",)
        return page.some("5", *(moves if updated else ()))

    def _built(self, theta: FloatArray, theta0: FloatArray) -> Any:
        model = copy.copy(self.model)
        model.coef_, model.intercept_ = theta, theta0
        return model


def bound_of(certificate: Certificate) -> float | None:
    """Return the most mistakes that a theorem allows, where there is one."""
    return float(certificate.upper) if certificate.kind == "mistakes" else None


@loop
def score(rows: Any, i: int, w: FloatArray) -> float:
    """Compute xᵢ · w, as the algorithms compute it."""
    return dot(rows, i, w)  # type: ignore[no-any-return]


@loop
def length2(rows: Any, i: int) -> float:
    """Compute ‖xᵢ‖², as the algorithms compute it."""
    return norm2(rows, i)  # type: ignore[no-any-return]
