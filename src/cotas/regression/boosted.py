"""How functions of numbers are boosted: the data, the constant, the rounds and the witness."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import column_or_1d

from cotas.arrays import Each, FloatArray, IntArray, Matrix
from cotas.boosting.ensemble import Ensemble
from cotas.boosting.from_source import BlockExamples, read_blocks
from cotas.boosting.training import Booster, BoostingRun
from cotas.boosting.weak_learners import PreparedLearner
from cotas.certificates.theorems.additive import AdditiveFit
from cotas.certificates.theorems.weak_learners import StumpClass
from cotas.fitting.data import TrainingRows, read_observations
from cotas.fitting.parameters import check_rate
from cotas.fitting.validation import hold_out
from cotas.refusals import ParameterError
from cotas.solvers.boosted_regression import (
    AbsoluteError,
    Error,
    SquaredError,
    boosted_regression,
)
from cotas.solvers.boosting import Round
from cotas.source import MatrixLike, NotInBlocksError, Source

ERRORS: dict[str, Error] = {"squared": SquaredError(), "absolute": AbsoluteError()}


class BoostedRegressor(Booster):
    """A boosted regression F = b + Σ rate·fₘ for one number, with the machinery of the boosted
    classifiers."""

    loss: str
    learning_rate: float
    intercept_: Any

    _takes_blocks: ClassVar[bool] = True
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": tuple(ERRORS)}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_rate(self.learning_rate, "learning_rate")

    def _examples(
        self, X: MatrixLike, y: Any, sample_weight: Any, resumes: bool, finite: bool | str
    ) -> tuple[TrainingRows, IntArray | None]:
        seen = read_observations(self, X, y, sample_weight, reset=not resumes, finite=finite)
        target = seen.y if seen.single else column_or_1d(seen.y, warn=True)
        examples = TrainingRows(seen.X, target, seen.weights)
        if not self.early_stopping:
            return examples, None
        return hold_out(examples, self.validation_fraction, self.random_state)

    def _block_examples(self, source: Source, learner: Any, each: Each) -> BlockExamples:
        if self.loss != "squared":
            raise NotInBlocksError(
                f"loss={self.loss!r} needs X as an array, since medians are no sums: take "
                "'squared' for a source of row blocks."
            )
        found = read_blocks(source, learner, each, targets=True)
        self.intercept_ = found.constant
        return found

    def _block_runs(self, examples: BlockExamples) -> list[Any]:
        return [examples.run()]

    def _runs(self, examples: TrainingRows, before: list[Ensemble] | None) -> list[BoostingRun]:
        y, s = examples.y, examples.shares()
        if before is None:
            self.intercept_ = ERRORS[self.loss].constant(y, s)
        F = np.full(len(y), float(self.intercept_))
        if before is not None:
            F += before[0].values(examples.X)
        with np.errstate(over="ignore", invalid="ignore"):
            loss = float(s @ self._losses(F, y))
        if not math.isfinite(loss):
            raise ParameterError(
                "y", "The squares of y overflow. Rescale y, and what is predicted with it."
            )
        return [BoostingRun(None, y, s, F, before)]

    def _rounds(self, weak: PreparedLearner, run: BoostingRun, each: Each) -> Iterator[Round]:
        residuals = run.residuals(ERRORS[self.loss])
        return boosted_regression(weak.learner, residuals, float(self.learning_rate))

    def _losses(self, F: FloatArray, y: Any) -> FloatArray:
        return ERRORS[self.loss].value(y - F)

    def _prove(self, weak: PreparedLearner, run: BoostingRun, k: int, examples: Any) -> AdditiveFit:
        combination = self.ensembles_[k].combination()
        every = StumpClass(None, np.zeros(self.n_features_in_, dtype=np.bool_))
        return AdditiveFit(
            combinations=(combination,),
            weights=examples.weights,
            constant=float(self.intercept_),
            loss=self.loss,
            tests=(weak.tests or every).with_those_of(combination.learners),
        )

    def _totals(self, X: Matrix) -> FloatArray:
        return np.asarray(super()._totals(X) + self.intercept_)

    def _staged(self, X: MatrixLike) -> Iterator[FloatArray]:
        """Yield what is predicted after each round."""
        for values in self.ensembles_[0].staged(self._read(X)):
            yield values + self.intercept_
