"""The online kernel classifiers, example by example."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from cotas.arrays import FloatArray, IntArray, Matrix
from cotas.blas import one_thread_in_blas
from cotas.fitting.data import Examples, read_examples
from cotas.kernel.online import OnlineKernelClassifier, over_all_rows
from cotas.solvers.kernel_online import KernelRun, KernelTraining
from cotas.solvers.kernel_pegasos import KernelPegasosRule
from cotas.solvers.online import Turn
from cotas.tracing import printed
from cotas.tracing.online import bound_of
from cotas.tracing.printed import Printed
from cotas.tracing.steps import KernelStep, Return, Step


def trace_kernel_run(
    estimator: OnlineKernelClassifier, X: Matrix, y: Any, sample_weight: Any
) -> tuple[Any, Printed, Callable[[], Iterator[Step]]]:
    """Fit an online kernel classifier; its algorithm, and how to go through its run."""
    model = clone(estimator).fit(X, y, sample_weight)
    examples = read_examples(clone(estimator), X, y, sample_weight, estimator.class_weight)
    some = examples.used()
    used = np.arange(examples.n_rows) if some is None else some
    is_pegasos = isinstance(model._rule(), KernelPegasosRule)
    algorithm = printed.KERNEL_PEGASOS if is_pegasos else printed.KERNEL_PERCEPTRON

    def replay() -> Iterator[Step]:
        again = copy.copy(model)
        again.random_state = copy.deepcopy(estimator.random_state)
        return KernelReplay(model, again, examples, used, algorithm).steps()

    return model, algorithm, replay


class KernelReplay:
    """A run that is made again: the fitted model, the one that runs, and its state."""

    def __init__(
        self, model: Any, again: Any, examples: Examples, used: IntArray, algorithm: Printed
    ) -> None:
        self.model, self.again, self.examples, self.used = model, again, examples, used
        self.algorithm, self.number = algorithm, 0
        self.run: KernelRun = again._begin(examples, used)
        with one_thread_in_blas():
            self.training: KernelTraining = again._training(examples, used, self.run)
        self.weights: FloatArray = again._weights_in_use(examples, used)

    def steps(self) -> Iterator[Step]:
        """A step for each example that is shown to each class, and the end."""
        for turn in self.training.turns(int(self.model.n_iter_)):
            yield self._step(turn)
        beta, theta0 = self._beta(), self.again._intercepts(self.run, self.weights)
        lines = (self.algorithm.last,)
        yield Return(number=self.number + 1, lines=lines, build=lambda: self._built(beta, theta0))

    def _step(self, turn: Turn) -> KernelStep:
        run, rule, c, row = self.run, self.training.rule, turn.c, turn.row
        assert row is not None
        self.number += 1
        pegasos = isinstance(rule, KernelPegasosRule)
        eta = 1.0 / (rule.lam * (run.seen[c] + 1)) if pegasos else 1.0
        y, before, theta0 = run.signs[c, row], run.counts[c].copy(), float(run.bias[c])
        margin = y * (eta * run.scores[c, row] + theta0)
        mistakes, updates = int(run.mistakes[c]), int(run.updates[c])
        with one_thread_in_blas():
            turn.take()
        updated, beta, biases = bool(run.updates[c] > updates), self._beta(), run.bias.copy()
        return KernelStep(
            number=self.number,
            lines=self._lines(updated, pegasos),
            build=lambda: self._built(beta, biases),
            epoch=turn.epoch,
            label=self.examples.classes[self.examples.positives()[c]],
            row=int(self.used[row]),
            y=float(y),
            margin=float(margin) + 0.0,  # no minus before a zero
            eta=float(eta),
            updated=updated,
            mistake=bool(run.mistakes[c] > mistakes),
            counts_before=self._all_rows(before),
            counts=self._all_rows(run.counts[c]),
            theta0_before=theta0,
            theta0=float(run.bias[c]),
            coef=beta[c],
            mistakes=int(run.mistakes[c]),
            updates=int(run.updates[c]),
            bound=bound_of(self.model._certificates[c]),
        )

    def _lines(self, updated: bool, pegasos: bool) -> Any:
        if pegasos:
            return self.algorithm.some("2.1", "2.2", "2.3" if updated else "2.4")
        moves = ("6", "7") if self.model.fit_intercept else ("6",)
        return self.algorithm.some("5", *(moves if updated else ()))

    def _beta(self) -> FloatArray:
        found = self.again._coefficients(self.run, self.weights)
        return over_all_rows(found, self.used, self.examples.n_rows)

    def _all_rows(self, values: FloatArray) -> FloatArray:
        return np.asarray(over_all_rows(values[None, :], self.used, self.examples.n_rows)[0])

    def _built(self, beta: FloatArray, theta0: FloatArray) -> Any:
        model = copy.copy(self.model)
        model._keep_model(self.examples, beta, theta0)
        return model
