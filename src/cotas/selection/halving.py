"""Successive halving: many settings on a few rows, the better ones on more of them."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from cotas.arrays import AnyArray, IntArray, Matrix
from cotas.stops import Stop

# Of the settings one in three goes on, with three times the rows; fewer rows than this tell little.
SHARE, FEWEST = 3, 500
# No fit takes more than this part of the time that is left.
LARGEST_PART = 0.5


@dataclass(frozen=True)
class Candidate:
    """A setting to be tried: the name of its family, an unfitted model, what is said of it."""

    name: str
    model: Any
    label: str


@dataclass(frozen=True)
class Trial:
    """How a setting did on so many rows.

    Attributes
    ----------
    candidate : what was tried
    rows : how many rows it was trained on, in each part
    error, training_error : share of mistakes, or root mean square; the mean over the parts
    seconds : for all the parts
    relative_gap, holds : what its certificates prove, at worst; None without a certificate
    rounds : of boosting that early stopping kept, the most of the parts; None for other models
    whole : whether no fit was cut short
    """

    candidate: Candidate
    rows: int
    error: float
    training_error: float
    seconds: float
    relative_gap: float | None
    holds: bool | None
    rounds: int | None = None
    whole: bool = True

    @property
    def settled(self) -> Any:
        """The model to be trained on all the rows: as many rounds as early stopping found."""
        model = clone(self.candidate.model)
        if self.rounds is not None:
            model.set_params(n_estimators=max(1, self.rounds), early_stopping=False)
        return model


class Subsample(NamedTuple):
    """Rows to train on, in an order of which each beginning is a sample, and rows to judge by.

    `in_turns` makes such an order in which rare classes come as often as they are.
    """

    train: IntArray
    validation: IntArray


def in_turns(rows: IntArray, strata: AnyArray, random: np.random.RandomState) -> IntArray:
    """Rows in a random order whose beginnings have the classes in the shares of the whole.

    The first row of each class comes first, so that no beginning lacks one.
    """
    rows = random.permutation(rows)
    place = np.empty(len(rows))
    for label in np.unique(strata[rows]):
        own = np.flatnonzero(strata[rows] == label)
        place[own] = np.arange(len(own)) / len(own)
    return np.asarray(rows[np.argsort(place, kind="stable")])


@dataclass
class Halving:
    """A search, and what it has tried so far.

    Parameters
    ----------
    X, y : the data, of which `parts` name rows
    max_time : seconds for all trials; the model that is best so far counts when they are up
    tell : called after each trial; True ends the search
    """

    X: Matrix
    y: AnyArray
    parts: Sequence[Subsample]
    max_time: float = math.inf
    tell: Callable[[Trial], Any] | None = None
    trials: list[Trial] = field(default_factory=list)

    def run(self, candidates: Sequence[Candidate]) -> Trial:
        """Try all on few rows, a third of them on three times as many, and so on; the best one.

        The trials on most rows decide. Those that looked best come first, so that the time, if it
        runs out, has been spent on them.
        """
        if not candidates:
            raise ValueError("candidates is empty: there is nothing to choose from.")
        began, alive = time.perf_counter(), list(candidates)
        for rows in self.stages(len(alive)):
            found: list[Trial] = []
            for candidate in alive:
                left = self.max_time - (time.perf_counter() - began)
                if left <= 0 and self.trials:
                    break
                found.append(self._try(candidate, rows, max(left, 0.1)))
                self.trials.append(found[-1])
                if self.tell is not None and self.tell(found[-1]):
                    self.max_time = 0.0
            found.sort(key=_order)
            alive = [trial.candidate for trial in found[: math.ceil(len(found) / SHARE)]]
        return self.leaderboard()[0]

    def leaderboard(self) -> list[Trial]:
        """The last whole trial of each setting, those on most rows first, the best of them first.

        What was cut short comes after all that was not.
        """
        ranked = sorted(self.trials, key=lambda trial: (trial.whole, trial.rows))
        last = {trial.candidate.label: trial for trial in ranked}
        return sorted(
            last.values(), key=lambda trial: (not trial.whole, -trial.rows, *_order(trial))
        )

    def stages(self, settings: int) -> list[int]:
        """How many rows each stage trains on."""
        most = min(len(part.train) for part in self.parts)
        few = max(0, int(math.log(max(1.0, most / FEWEST), SHARE)))
        count = min(few, math.ceil(math.log(max(1, settings), SHARE)))
        return [most // SHARE**k for k in range(count, 0, -1)] + [most]

    def _try(self, candidate: Candidate, rows: int, left: float) -> Trial:
        """Fit and judge; a setting that these rows do not allow is as bad as can be."""
        began, fitted, errors = time.perf_counter(), [], []
        for part in self.parts:
            some = np.sort(part.train[:rows])
            model = _hastened(candidate.model, LARGEST_PART * left / len(self.parts))
            X, y = self.X[some], self.y[some]
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the last fit says what there is to say
                    model.fit(X, y)
            except ValueError:  # too few rows of a class, for example
                seconds = time.perf_counter() - began
                return Trial(candidate, rows, math.inf, math.inf, seconds, None, None, whole=False)
            judged = part.validation
            errors.append((_error(model, self.X[judged], self.y[judged]), _error(model, X, y)))
            fitted.append(model)
        error, training = np.mean(errors, axis=0)
        proofs = [m.certificate_ for m in fitted if m.certificate_.kind in ("duality", "gradient")]
        known = [proof.relative_gap for proof in proofs if not proof.vacuous]
        return Trial(
            candidate,
            rows,
            float(error),
            float(training),
            time.perf_counter() - began,
            max(known) if known else None,
            all(proof.holds for proof in proofs) if proofs else None,
            _rounds(fitted),
            not any(model.stop_ is Stop.TIME for model in fitted),
        )


def _order(trial: Trial) -> tuple[float, float]:
    return trial.error, trial.seconds


def _hastened(model: Any, seconds: float) -> Any:
    """A copy with a limit to its time, and without proofs that nobody will read."""
    known = model.get_params(deep=False)
    haste: dict[str, Any] = {"certify": False, "progress": False}
    if math.isfinite(seconds):
        haste["max_time"] = seconds
    return clone(model).set_params(**{name: haste[name] for name in haste if name in known})


def _error(model: Any, X: Matrix, y: AnyArray) -> float:
    predictions = model.predict(X)
    if is_classifier(model):
        return float(np.mean(predictions != y))
    return float(np.sqrt(np.mean((predictions - y) ** 2)))


def _rounds(fitted: Sequence[Any]) -> int | None:
    """How many rounds early stopping kept, of the longest ensemble."""
    if not fitted[0].get_params(deep=False).get("early_stopping", False):
        return None
    return max(int(model.n_rounds_) for model in fitted)
