"""Boosting, round by round."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from cotas.arrays import FloatArray, Matrix
from cotas.boosting.adaboost import AdaBoost, RealAdaBoost
from cotas.boosting.ensemble import ClassFunction, WeakFunction, collect
from cotas.boosting.training import BoostingRun
from cotas.boosting.weak_learners import PreparedLearner, prepare, resolve, takes_missing_values
from cotas.running import one_thread_in_blas
from cotas.solvers.boosting import Round
from cotas.tracing import printed
from cotas.tracing.printed import Printed
from cotas.tracing.steps import Return, RoundStep, Step


def trace_rounds(
    estimator: Any, X: Matrix, y: ArrayLike | None, sample_weight: ArrayLike | None
) -> tuple[Any, Printed, Callable[[], Iterator[Step]]]:
    """Fit a booster; its algorithm, and how to go through its rounds."""
    model = clone(estimator).fit(X, y, sample_weight)
    algorithm = _page(estimator)

    def replay() -> Iterator[Step]:
        again, learner = clone(estimator), resolve(estimator.weak_learner)
        finite = "allow-nan" if takes_missing_values(learner) else True
        examples, _ = again._examples(X, y, sample_weight, False, finite)
        with one_thread_in_blas():
            weak = prepare(learner, examples.X, examples.used(), map, 1, again.random_state)
        runs = again._runs(examples, None)
        return RoundReplay(model, again, weak, runs, algorithm).steps()

    return model, algorithm, replay


def _page(model: Any) -> Printed:
    if isinstance(model, AdaBoost):
        return printed.ADABOOST
    return printed.REAL_ADABOOST if isinstance(model, RealAdaBoost) else printed.GENTLEBOOST


class RoundReplay:
    """The rounds of each machine, made again."""

    def __init__(
        self,
        model: Any,
        again: Any,
        weak: PreparedLearner,
        runs: list[BoostingRun],
        algorithm: Printed,
    ) -> None:
        self.model, self.again, self.weak, self.runs = model, again, weak, runs
        self.algorithm, self.number = algorithm, 0
        self.functions = [run.n_functions for run in runs]
        self.rounds: list[list[Round]] = [[] for _ in runs]

    def steps(self) -> Iterator[Step]:
        """Yield a step for each round of each machine, and the end."""
        for k, run in enumerate(self.runs):
            source = self.again._rounds(self.weak, run, map)
            kept = len(self.model.ensembles_[sum(self.functions[:k])])
            before, bound = self._weights(run), 1.0
            for _ in range(kept):
                with one_thread_in_blas():
                    one = next(source)
                self.rounds[k].append(one)
                bound *= 2 * math.sqrt(max(0.0, one.error * (1 - one.error)))
                step = self._step(k, one, before, bound)
                before = step.weights
                yield step
        yield Return(number=self.number + 1, lines=(self.algorithm.last,), build=self._builder())

    def _step(self, k: int, one: Round, before: FloatArray, bound: float) -> RoundStep:
        run, F = self.runs[k], self.runs[k].F.copy()
        self.number += 1
        if not self._as_printed():
            bound = one.loss
        return RoundStep(
            number=self.number,
            lines=self.algorithm.lines[2:-1],
            build=self._builder(),
            round=len(self.rounds[k]),
            label=run.label,
            learner=self._learner(k, one),
            error=one.error,
            vote=one.coefficient,
            weights_before=before,
            weights=self._weights(run),
            F=F,
            loss=one.loss,
            bound=bound,
            training_error=float(run.s @ self._wrong(F, run.y)),
        )

    def _as_printed(self) -> bool:
        """Tell whether the loss is Π 2√(err(1−err)): the closed form, not slowed down, with ±1."""
        model = self.model
        named = isinstance(model, AdaBoost) and isinstance(model.step, str)
        return named and model.learning_rate == 1.0 and self.runs[0].F.ndim == 1

    def _weights(self, run: BoostingRun) -> FloatArray:
        """Compute w = s·exp(−yF) over their sum."""
        with np.errstate(over="ignore"):
            w = run.s * self.again._losses(run.F, run.y)
        return np.asarray(w / w.sum())

    def _wrong(self, F: FloatArray, y: ArrayLike | None) -> Any:
        if F.ndim == 1:
            return np.where(F > 0, 1.0, -1.0) != y
        return F.argmax(axis=1) != y

    def _learner(self, k: int, one: Round) -> Any:
        """Return the function of a round, with `predict`."""
        some = [collect([one], c, None, self.weak.categories) for c in range(self.functions[k])]
        found = some[0].estimators()[0]
        if len(some) > 1 and isinstance(found, WeakFunction):
            return ClassFunction(some, 0, self.model.classes_)
        return found

    def _builder(self) -> Callable[[], Any]:
        """Return what builds the model of the rounds so far."""
        rounds = [list(some) for some in self.rounds]

        def build() -> Any:
            model = copy.copy(self.model)
            model.ensembles_ = [
                collect(some, c, None, self.weak.categories)
                for some, functions in zip(rounds, self.functions, strict=True)
                for c in range(functions)
            ]
            return model

        return build
