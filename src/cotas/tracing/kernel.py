"""The kernel classifiers: the online ones example by example, the SVM pair by pair."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from cotas.arrays import FloatArray, IntArray, Matrix
from cotas.fitting.data import Examples, read_examples
from cotas.kernel.online import OnlineKernelClassifier, over_all_rows
from cotas.kernel.svm import KernelSVM
from cotas.kernel.training import (
    BinaryProblem,
    binary_problems,
)
from cotas.refusals import ParameterError
from cotas.running import one_thread_in_blas
from cotas.solvers.bias import best_bias
from cotas.solvers.kernel_online import KernelRun, KernelTraining
from cotas.solvers.kernel_pegasos import KernelPegasosRule
from cotas.solvers.online import Presentation
from cotas.solvers.working_set import Move
from cotas.tracing import printed
from cotas.tracing.online import bound_of
from cotas.tracing.printed import Printed
from cotas.tracing.steps import KernelStep, PairStep, Return, Step


def trace_kernel_run(
    estimator: OnlineKernelClassifier,
    X: Matrix,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
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
        """Yield a step for each example that is shown to each class, and the end."""
        for presentation in self.training.presentations(int(self.model.n_iter_)):
            yield self._step(presentation)
        beta, theta0 = self._beta(), self.again._intercepts(self.run, self.weights)
        lines = (self.algorithm.last,)
        yield Return(number=self.number + 1, lines=lines, build=lambda: self._built(beta, theta0))

    def _step(self, presentation: Presentation) -> KernelStep:
        run, rule, c, row = self.run, self.training.rule, presentation.c, presentation.row
        assert row is not None
        self.number += 1
        pegasos = isinstance(rule, KernelPegasosRule)
        eta = 1.0 / (rule.lam * (run.seen[c] + 1)) if pegasos else 1.0
        y, before, theta0 = run.signs[c, row], run.counts[c].copy(), float(run.bias[c])
        margin = y * (eta * run.scores[c, row] + theta0)
        mistakes, updates = int(run.mistakes[c]), int(run.updates[c])
        with one_thread_in_blas():
            presentation.take()
        updated, beta, biases = bool(run.updates[c] > updates), self._beta(), run.bias.copy()
        return KernelStep(
            number=self.number,
            lines=self._lines(updated, pegasos),
            build=lambda: self._built(beta, biases),
            epoch=presentation.epoch,
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


def trace_pairs(
    estimator: KernelSVM, X: Matrix, y: ArrayLike | None, sample_weight: ArrayLike | None
) -> tuple[Any, Printed, Callable[[], Iterator[Step]]]:
    """Fit a kernel machine and keep its moves; its algorithm, and how to go through them."""
    if estimator.approximate is not None:
        raise ParameterError(
            "approximate", "trace shows pairs of multipliers, which approximate= does not move."
        )
    moves: list[list[Move]] = []
    model = clone(estimator)._fit(X, y, sample_weight, moves)
    examples = read_examples(clone(estimator), X, y, sample_weight, estimator.class_weight)
    replay = PairReplay(model, examples, binary_problems(examples, estimator), moves)
    return model, printed.SMO, replay.steps


class PairReplay:
    """The moves of each binary problem, up to the model that was kept of it."""

    def __init__(
        self,
        model: KernelSVM,
        examples: Examples,
        problems: Sequence[BinaryProblem],
        moves: Sequence[list[Move]],
    ) -> None:
        self.model, self.examples, self.problems = model, examples, problems
        self.ends = [self._kept(c) for c in range(len(problems))]
        pairs = zip(moves, self.ends, strict=True)
        self.moves = [some[: _last_at(some, end)] for some, end in pairs]

    def _kept(self, c: int) -> FloatArray:
        """Compute a of the rows of a problem, in the model that was kept."""
        a, problem = np.zeros(self.examples.n_rows), self.problems[c]
        a[self.model.support_] = self.model.dual_coef_[c]
        return a if problem.rows is None else a[problem.rows]

    def steps(self) -> Iterator[Step]:
        """Yield a step for each move of each problem, and the end."""
        number, now = 0, [np.zeros_like(end) for end in self.ends]
        for c, moves in enumerate(self.moves):
            for move in moves:
                number += 1
                now[c][move.rows] = move.after
                yield self._step(number, c, move, [a.copy() for a in now])
        end = self.model.intercept_
        lines = (printed.SMO.last,)
        yield Return(number=number + 1, lines=lines, build=lambda: self._built(now, end))

    def _step(self, number: int, c: int, move: Move, now: list[FloatArray]) -> PairStep:
        problem = self.problems[c]
        rows, y, lam = move.rows, problem.signs[move.rows], problem.lam
        return PairStep(
            number=number,
            lines=printed.SMO.lines,
            build=lambda: self._built(now, None),
            label=problem.label,
            rows=rows if problem.rows is None else problem.rows[rows],
            y=y,
            alpha_before=lam * y * move.before + 0.0,  # no minus before a zero
            alpha=lam * y * move.after + 0.0,
            upper=problem.weights[rows],
            slopes=move.slopes,
            curvature=move.curvature,
            newton=bool(np.isnan(move.curvature)),
            multipliers=lam * problem.signs * now[c] + 0.0,
        )

    def _built(self, now: list[FloatArray], theta0: FloatArray | None) -> Any:
        """Build the machine with these multipliers; with the best bias for them if none is
        given."""
        model, parts = copy.copy(self.model), [problem.rows for problem in self.problems]
        zeros = np.zeros(len(now))
        model._keep_machines(self.examples, parts, now, zeros if theta0 is None else theta0)
        if theta0 is None and model.fit_intercept:
            scores = model._scores(self.examples.X)
            for c, problem in enumerate(self.problems):
                own = scores[:, c] if problem.rows is None else scores[problem.rows, c]
                model.intercept_[c] = best_bias(own, problem.signs > 0, problem.weights)
        return model


def _last_at(moves: Sequence[Move], end: FloatArray) -> int:
    """Find after how many moves the multipliers are at `end` for the last time."""
    a, found = np.zeros_like(end), 0
    wrong = int(np.count_nonzero(a != end))
    for k, move in enumerate(moves, start=1):
        wrong -= int(np.count_nonzero(a[move.rows] != end[move.rows]))
        a[move.rows] = move.after
        wrong += int(np.count_nonzero(move.after != end[move.rows]))
        if wrong == 0:
            found = k
    return found
