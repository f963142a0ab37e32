"""Successive halving: many settings on a few rows, the better ones on more of them."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls
from sklearn.base import clone, is_classifier

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix
from cotas.fitting.deciding import brier_scores
from cotas.refusals import ParameterError
from cotas.selection.blend import BLEND, Blend, answers
from cotas.source import MatrixLike
from cotas.stops import Stop
from cotas.words import say

# Of the settings one in three goes on, with three times the rows; fewer rows than this tell little.
SHARE, FEWEST = 3, 500
# A setting that gains less is no better: the last digits of an error go on falling for ever.
LEAST_GAIN = 1e-3
# So many times the rounds after which probabilities are best.
MORE_ROUNDS = 3
# No fit takes more than this part of the time that is left, nor do the finals.
LARGEST_PART = 0.5


@dataclass(frozen=True)
class Candidate:
    """A setting to be tried: the name of its family, an unfitted model, what is said of it.

    `given` are the parameters that make it, by which others are found beside it.
    """

    name: str
    model: Any
    label: str
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """A trial of a setting on so many rows.

    Attributes
    ----------
    candidate, model : what was tried, and with which parameters
    rows : how many rows it was trained on, in each part
    parts : in how many parts
    error, training_error : share of mistakes, or root mean square; the mean over the parts.
        That of a blend on its training rows is not known
    seconds : for all the parts
    relative_gap, holds : what its certificates prove, at worst; None without a certificate
    rounds : of boosting that early stopping kept, the mean of the parts; None for other models
    whole : whether no fit was cut short, or refused
    refusal : why the rows were refused, if they were
    squares : the mean of their squared errors, for classes Brier's score
    """

    candidate: Candidate
    model: Any
    rows: int
    parts: int
    error: float
    training_error: float | None
    seconds: float
    relative_gap: float | None
    holds: bool | None
    rounds: int | None = None
    whole: bool = True
    refusal: str = ""
    squares: float = math.nan

    @property
    def settled(self) -> Any:
        """Return the model to be trained on all the rows: as many rounds as early stopping
        found."""
        model = clone(self.model)
        if self.rounds is not None:
            model.set_params(n_estimators=max(1, self.rounds), early_stopping=False)
        return model

    @property
    def label(self) -> str:
        """Say what is said of the setting, with the rounds that it takes in the end."""
        rounds = getattr(self.settled, "n_estimators", None)
        known = self.candidate.label
        return known if rounds is None else f"{known.removesuffix(')')}, n_estimators={rounds})"


class Subsample(NamedTuple):
    """Rows to train on, in an order of which each beginning is a sample, and rows to judge by.

    `interleaved` makes such an order in which rare classes come as often as they are.
    """

    train: IntArray
    validation: IntArray


def interleaved(rows: IntArray, strata: AnyArray, random: np.random.RandomState) -> IntArray:
    """Return rows in a random order whose beginnings have the classes in the shares of the whole.

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
    parts : what settings are trained on and judged by
    first : how many of the parts the stages use; the finals use more, as time allows
    beside : settings near by another one, to be tried as long as one of them is better
    blends : whether a weighted mean of those judged by most rows is one of the settings
    groups : rows with the same value belong together, and count as one draw
    max_time : seconds for all trials; the model that is best so far counts when they are up
    tell : called after each trial; True ends the search
    """

    X: Matrix
    y: AnyArray
    parts: Sequence[Subsample]
    max_time: float = math.inf
    tell: Callable[[Trial], Any] | None = None
    first: int | None = None
    beside: Callable[[Candidate], Sequence[Candidate]] | None = None
    blends: bool = True
    groups: AnyArray | None = None
    trials: list[Trial] = field(default_factory=list)
    interrupted: bool = field(default=False, init=False)
    _began: float = field(default=0.0, init=False)
    _judge: Judge = field(init=False, repr=False)
    # On how many rows and parts the finalists were judged, and by their labels what they answered.
    _most: tuple[int, int] = field(default=(0, 0), init=False, repr=False)
    _answers: dict[str, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def run(self, candidates: Sequence[Candidate]) -> Trial:
        """Try all on few rows, a third of them on three times as many, and so on; the best one.

        Those that are left are judged by more parts, and so are settings beside the best of each
        family, the best family first. The trials on most rows and parts decide. What looked best
        comes first, so that the time, if it runs out, has been spent on it.
        """
        if not candidates:
            raise ParameterError(
                "candidates", "candidates is empty: there is nothing to choose from."
            )
        self._began, alive = time.perf_counter(), list(candidates)
        self._judge = Judge(self.y, is_classifier(alive[0].model), self.groups)
        *stages, most = self.stages(len(alive))
        for rows in stages:
            alive = [trial.candidate for trial in survivors(self._stage(alive, rows))]
        last = survivors(self._stage(alive, most))
        parts = self._affordable(last)
        for trial in leaders(self._finals(last, parts)):
            self._climb(trial, parts)
        if self.blends:
            self._blend()
        return self.leaderboard()[0]

    def _stage(self, alive: Sequence[Candidate], rows: int) -> list[Trial]:
        """Try settings one after another; the best first."""
        tries = (partial(self._try, each, each.model, rows, self._few) for each in alive)
        return self._in_time(tries)

    def _finals(self, last: Sequence[Trial], parts: Sequence[Subsample]) -> list[Trial]:
        """Judge by more parts the models that would be trained in the end; the best first.

        The rounds of boosting are settled then, and not chosen again by the rows that judge them.
        """
        again = [trial for trial in last if trial.parts < len(parts) or trial.rounds is not None]
        judged = self._in_time(
            partial(self._try, t.candidate, model, t.rows, parts)
            for t in again
            for model in _in_the_end(t)
        )
        return sorted([*judged, *(trial for trial in last if trial not in again)], key=_order)

    def _in_time(self, tries: Iterable[Callable[[], Trial]]) -> list[Trial]:
        """Try as long as there is time, and once in any case; the best first.

        Ctrl-C ends the search as the end of the time does.
        """
        found: list[Trial] = []
        for attempt in tries:
            if self._left() <= 0 and self.trials:
                break
            try:
                found.append(attempt())
                self.trials.append(found[-1])
                if self.tell is not None and self.tell(found[-1]):
                    self.max_time = 0.0
            except KeyboardInterrupt:
                if not self.trials:
                    raise
                self.interrupted, self.max_time = True, 0.0
                break
        return sorted(found, key=_order)

    @property
    def _few(self) -> Sequence[Subsample]:
        """Return the parts that the stages use."""
        return self.parts[: self.first]

    def _affordable(self, last: Sequence[Trial]) -> Sequence[Subsample]:
        """Return as many parts as these settings can be judged by in half of the time that is
        left."""
        seconds = sum(_cost(trial) * trial.seconds / trial.parts for trial in last)
        count = min(len(self.parts), LARGEST_PART * self._left() / max(seconds, 1e-9))
        return self.parts[: max(len(self._few), int(count))]

    def _climb(self, best: Trial, parts: Sequence[Subsample]) -> None:
        """Try what is beside the best setting, and beside a better one if there is, and so on."""
        while self.beside is not None:
            known = {trial.candidate.label for trial in self.trials if trial.rows == best.rows}
            new = [each for each in self.beside(best.candidate) if each.label not in known]
            found = self._finals(self._stage(new, best.rows)[:1], parts)
            if not found or found[0].error >= (1.0 - LEAST_GAIN) * best.error:
                return
            best = found[0]

    def _blend(self) -> None:
        """Mix those judged by most rows, in the shares with which they are least wrong together.

        All have been judged by the same rows, and none was trained on them. The mean is one of the
        settings if it is better than each by more than a standard error; else they are simpler.
        """
        rivals = [
            trial
            for trial in self.leaderboard()
            if trial.whole and (trial.rows, trial.parts) == self._most
        ]
        if len(rivals) < 2:
            return
        rows = [part.validation for part in self.parts[: rivals[0].parts]]
        judges, answers = np.concatenate(rows), [self._answers[trial.label] for trial in rivals]
        shares = self._judge.shares(answers, judges)
        mean = np.asarray(sum(w * one for w, one in zip(shares, answers, strict=True)))
        if not all(self._judge.is_better(mean, one, judges) for one in answers):
            return
        ends = np.cumsum([len(own) for own in rows])[:-1]
        errors = map(self._judge.error, np.split(mean, ends), rows)
        used = [(trial, w) for trial, w in zip(rivals, shares, strict=True) if w > 0]
        squares = float(self._judge.squares(mean, judges).mean())
        self.trials.append(replace(blended(used, float(np.mean([*errors]))), squares=squares))

    def _left(self) -> float:
        """Return seconds that are left for trials."""
        return self.max_time - (time.perf_counter() - self._began)

    @property
    def timed_out(self) -> bool:
        """Tell whether the time, and not the search, came to its end."""
        return self._left() <= 0 and not self.interrupted

    def leaderboard(self) -> list[Trial]:
        """Return the last whole trial of each setting, those on most rows and parts first, then the
        best.

        What was cut short comes after all that was not. A blend is there only if it is better than
        its rivals by their squares, and comes before them.
        """
        ranked = sorted(self.trials, key=lambda trial: (trial.whole, trial.rows, trial.parts))
        last = {trial.label: trial for trial in ranked}
        return sorted(
            last.values(),
            key=lambda trial: (
                *(not trial.whole, -trial.rows, -trial.parts),
                *(trial.candidate.name != BLEND, _order(trial)),
            ),
        )

    def stages(self, settings: int) -> list[int]:
        """Tell how many rows each stage trains on, at most."""
        most = max(len(part.train) for part in self._few)
        few = max(0, int(math.log(max(1.0, most / FEWEST), SHARE)))
        count = min(few, math.ceil(math.log(max(1, settings), SHARE)))
        return [most // SHARE**k for k in range(count, 0, -1)] + [most]

    def _try(
        self, candidate: Candidate, model: Any, rows: int, parts: Sequence[Subsample]
    ) -> Trial:
        """Fit and judge; a setting that these rows do not allow is as bad as can be."""
        began, fitted, errors, answers = time.perf_counter(), [], [], []
        squares: list[float] = []
        seconds = LARGEST_PART * max(self._left(), 0.1) / len(parts)
        for part in parts:
            one, some = _hastened(model, seconds), np.sort(part.train[:rows])
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the last fit says what there is to say
                    self._fit(one, some, part.validation)
            except ValueError as refused:  # too few rows of a class, for example
                took, bad = time.perf_counter() - began, (math.inf, math.inf)
                shape = (candidate, model, rows, len(parts))
                return Trial(*shape, *bad, took, None, None, whole=False, refusal=str(refused))
            if one.stop_ is Stop.INTERRUPTED:
                raise KeyboardInterrupt
            both = [self._judge.answers(one, self.X[rows]) for rows in (part.validation, some)]
            answers.append(both[0])
            squares.append(self._judge.squares(both[0], part.validation).mean())
            errors.append(list(map(self._judge.error, both, (part.validation, some))))
            fitted.append(one)
        error, training = np.mean(errors, axis=0)
        proofs = [m.certificate_ for m in fitted if m.certificate_.kind in ("duality", "gradient")]
        known = [proof.relative_gap for proof in proofs if not proof.vacuous]
        trial = Trial(
            candidate,
            model,
            rows,
            len(parts),
            float(error),
            float(training),
            time.perf_counter() - began,
            max(known) if known else None,
            all(proof.holds for proof in proofs) if proofs else None,
            _rounds(fitted),
            not any(one.stop_ is Stop.TIME for one in fitted),
            squares=float(np.mean(squares)),
        )
        self._remember(trial, answers)
        return trial

    def _remember(self, trial: Trial, answers: Sequence[FloatArray]) -> None:
        """Keep what a finalist says of the rows that judge it, as a `Blend` counts it.

        A trial on more rows or parts makes finalists anew: those before it are out of the running.
        """
        size = (trial.rows, trial.parts)
        if not trial.whole or size < self._most:
            return
        if size > self._most:
            self._most, self._answers = size, {}
        self._answers[trial.label] = np.concatenate(answers)

    def _fit(self, model: Any, some: IntArray, validation: IntArray) -> None:
        """Train on some rows; where rounds are stopped early, by the rows that judge them."""
        rows = some
        if stops_early(model):
            rows = np.concatenate([some, validation])
            model.set_params(validation_fraction=np.arange(len(rows)) >= len(some))
        model.fit(self.X[rows], self.y[rows])


def blended(used: Sequence[tuple[Trial, float]], error: float) -> Trial:
    """Return the mean of settings with these weights, which made such an error."""
    trials = [trial for trial, _ in used]
    # They are called as in the leaderboard, where each stands by itself.
    pairs = [(trial.label, trial.settled) for trial in trials]
    model = Blend(pairs, np.array([weight for _, weight in used]))
    gaps = [trial.relative_gap for trial in trials]
    known = [gap for gap in gaps if gap is not None]
    return Trial(
        Candidate(BLEND, model, say("blend of {count} models", count=len(trials))),
        model,
        trials[0].rows,
        trials[0].parts,
        error,
        None,
        sum(trial.seconds for trial in trials),
        max(known) if len(known) == len(gaps) else None,  # of all, or none
        None,  # each of them has its proof; of the blend itself there is none
    )


def survivors(found: Sequence[Trial]) -> list[Trial]:
    """Return the best third, and the best of each family: on more rows another one may be ahead."""
    first = math.ceil(len(found) / SHARE)
    return [*found[:first], *(trial for trial in leaders(found) if trial not in found[:first])]


def leaders(found: Sequence[Trial]) -> list[Trial]:
    """Return the best of each family, the best family first, of trials that are in order."""
    best: dict[str, Trial] = {}
    for trial in found:
        best.setdefault(trial.candidate.name, trial)
    return list(best.values())


def _in_the_end(trial: Trial) -> list[Any]:
    """Return the models to be judged by more parts: of boosted classes one with more rounds, too.

    Early stopping looks at probabilities, which are soon too sure; mistakes go on falling.
    """
    settled = trial.settled
    if trial.rounds is None or not is_classifier(settled):
        return [settled]
    return [settled, clone(settled).set_params(n_estimators=MORE_ROUNDS * settled.n_estimators)]


def _cost(trial: Trial) -> float:
    """Tell how much longer the finals take with a setting than the trial did for each part."""
    if trial.rounds is None:
        return 1.0
    rounds = [int(model.n_estimators) for model in _in_the_end(trial)]
    return sum(rounds) / max(1, trial.rounds)


def stops_early(model: Any) -> bool:
    """Tell whether a fit sets rows aside that tell when to stop."""
    return bool(model.get_params(deep=False).get("early_stopping", False))


def _order(trial: Trial) -> float:
    """Order by the error alone: of equals the first stays first, whatever the clock said."""
    return trial.error


def _hastened(model: Any, seconds: float) -> Any:
    """Return a copy with a limit to its time, and without proofs that nobody will read."""
    known = model.get_params(deep=False)
    haste: dict[str, Any] = {"certify": False, "progress": False}
    if math.isfinite(seconds):
        haste["max_time"] = seconds
    return clone(model).set_params(**{name: haste[name] for name in haste if name in known})


def _rounds(fitted: Sequence[Any]) -> int | None:
    """Tell how many rounds early stopping kept, the mean."""
    if not stops_early(fitted[0]):
        return None
    return round(np.mean([int(model.n_rounds_) for model in fitted]))


# ---- what models answer about rows that they were not trained on, and how wrong it is ------------

# A model that counts for less takes longer than it is worth.
LEAST_SHARE = 0.02


class Judge:
    """The truth about rows, which answers are compared with: a label or a number for each.

    Rows with the same group are one draw.
    """

    def __init__(self, y: AnyArray, classes: bool, groups: AnyArray | None = None) -> None:
        self._y, self._labels = y, np.unique(y) if classes else None
        self._groups = groups

    def answers(self, model: Any, X: MatrixLike) -> FloatArray:
        """Return what a `Blend` would count: numbers, or probabilities of all the labels there are.

        A label that the model was not shown has the probability zero.
        """
        found = answers(model, X)
        if self._labels is None:
            return found
        everywhere = np.zeros((len(found), len(self._labels)))
        everywhere[:, np.searchsorted(self._labels, model.classes_)] = found
        return everywhere

    def error(self, answers: FloatArray, rows: IntArray) -> float:
        """Return the share of mistakes, or the root of the mean square."""
        if self._labels is None:
            return float(np.sqrt(np.mean((answers - self._y[rows]) ** 2)))
        return float(np.mean(self._labels[answers.argmax(axis=1)] != self._y[rows]))

    def shares(self, rivals: Sequence[FloatArray], rows: IntArray) -> FloatArray:
        """Return the weights of the mean of these answers that has the smallest sum of squares.

        They are not negative and sum to one (Breiman 1996); most are zero. The squares are those of
        the numbers, or of the probabilities: Brier's score.
        """
        truth = self._truth(rows)
        off = np.stack([(one - truth).ravel() for one in rivals], axis=1)
        largest = np.abs(off).max()
        if largest == 0 or not np.isfinite(largest):  # nothing to choose by
            return np.asarray(np.eye(len(rivals))[0])
        off /= largest
        # Σ wⱼ(aⱼ − t) is the error of the mean, since the weights sum to one: the row added to a
        # factor of the squares asks for that, and the shares of what comes out are the solution.
        factor = np.linalg.qr(off, mode="r")
        asked = float(np.abs(factor).max())
        system = np.vstack([factor, np.full(off.shape[1], asked)])
        found, _ = nnls(system, np.append(np.zeros(len(factor)), asked))
        kept = np.where(found >= LEAST_SHARE * found.sum(), found, 0.0)
        return np.asarray(kept / kept.sum())

    def is_better(self, new: FloatArray, old: FloatArray, rows: IntArray) -> bool:
        """Tell whether the squares of new answers are smaller by more than a standard error.

        A row that was answered several times counts once, and so do the rows of a group.
        """
        gains = self.squares(old, rows) - self.squares(new, rows)
        draws = rows if self._groups is None else self._groups[rows]
        each = np.bincount(np.unique(draws, return_inverse=True)[1], gains)
        return bool(len(each) > 1 and each.mean() > each.std(ddof=1) / np.sqrt(len(each)))

    def squares(self, answers: FloatArray, rows: IntArray) -> FloatArray:
        """Return the squared error of each answer, for classes Brier's score."""
        if self._labels is not None:
            return brier_scores(self._truth(rows), answers)
        return np.asarray((answers - self._truth(rows)) ** 2)

    def _truth(self, rows: IntArray) -> FloatArray:
        """Return the numbers, or a one in the column of the label."""
        if self._labels is None:
            return self._y[rows].astype(np.float64)
        return np.asarray(self._y[rows][:, None] == self._labels, dtype=np.float64)
