"""How good a model is on rows that it has not seen: against doing without it, and how surely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from cotas.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cotas.fitting.deciding import brier_scores

# Probabilities are judged in so many parts of the rows at most, of so many rows at least.
MOST_BINS, FEWEST_IN_A_BIN = 10, 10


@dataclass(frozen=True)
class ClassQuality:
    """One class: how many rows have it, how many were said to, and how often that was right.

    `recall` is the share of its rows that were found, `precision` the share of the answers with
    its name that were right; None where there are none.
    """

    label: str
    rows: int
    answers: int
    recall: Measure | None
    precision: Measure | None


@dataclass(frozen=True)
class Calibrated:
    """Rows that were given about the same probability: how many, which, how often it was so."""

    rows: int
    said: float
    found: Measure


@dataclass(frozen=True)
class Quality:
    """Measures of a model by rows that were held out.

    Attributes
    ----------
    rows : int
    confidence : float
        Of all intervals.
    measures : dict of Measure
        "error", "balanced accuracy", "ROC AUC", "average precision" and, where there are
        probabilities, "Brier score" for classes; "RMSE", "MAE" and "R²" for numbers.
    baseline : Measure
        The error, or root mean square, of answering always the same: the most frequent class of
        the training rows, or their mean.
    answer : str
        That answer.
    verdict : str
        "better" than the baseline, "unclear", or "no better".
    constant : str or None
        The only answer that the model gives, if it is one.
    silent : tuple of str
        The classes that it never answers though rows have them.
    classes : tuple of ClassQuality
    confusion : array of shape (n_classes, n_classes) or None
        Rows of the class in the row that were taken for that in the column.
    positive : str or None
        Of two classes the rarer one, which the average precision is about.
    calibration : tuple of Calibrated
        Rows by the probability that was given to the rarer of two classes; with more classes, to
        the likeliest one.
    guess : Measure or None
        The Brier score of giving to each class its share of the training rows.
    groups : int or None
        Of how many groups the rows are, where rows belong together; the intervals and the verdict
        take each of them for one draw.
    """

    rows: int
    confidence: float
    measures: dict[str, Measure]
    baseline: Measure
    answer: str
    verdict: str
    constant: str | None = None
    silent: tuple[str, ...] = ()
    classes: tuple[ClassQuality, ...] = ()
    confusion: IntArray | None = None
    positive: str | None = None
    calibration: tuple[Calibrated, ...] = ()
    guess: Measure | None = None
    groups: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary of plain types."""
        confusion = None if self.confusion is None else self.confusion.tolist()
        return asdict(self) | {"confusion": confusion}


def quality_of_classes(
    truth: AnyArray,
    predictions: AnyArray,
    scores: FloatArray | None,
    classes: AnyArray,
    trained: AnyArray,
    confidence: float = 0.95,
    probabilities: FloatArray | None = None,
    groups: AnyArray | None = None,
) -> Quality:
    """Measure the quality of a classifier.

    Parameters
    ----------
    truth, predictions : arrays of shape (n,)
    scores : array of shape (n,) or (n, n_classes), optional
        Larger for what is more likely of the second, or of that class.
    classes : array of the classes, in the order of the scores
    trained : array
        The classes of the rows trained on, which tell the baseline.
    confidence : float
    probabilities : array of shape (n, n_classes), optional
    groups : array of shape (n,), optional
        Rows with the same value belong together, and are one draw.
    """
    n, draws = len(truth), Intervals(confidence, groups)
    counts = np.array([np.count_nonzero(trained == label) for label in classes])
    always, rarer = classes[counts.argmax()], int(counts.argmin())
    wrong, wrong_then = predictions != truth, truth != always
    codes = tuple(np.searchsorted(classes, labels) for labels in (truth, predictions))
    measures = {
        "error": draws.share(wrong),
        "balanced accuracy": draws.varied(_balanced, codes, 0.0, 1.0),
        # The scores of several classes may be off by a number of their row; their shares are not.
        **_ranking(truth, _shares_of(scores, probabilities), classes, rarer, draws),
    }
    bins: tuple[Calibrated, ...] = ()
    guess = None
    if probabilities is not None:
        shares = counts / len(trained)
        measures["Brier score"] = _brier(codes[0], probabilities, draws)
        guess = _brier(codes[0], np.broadcast_to(shares, probabilities.shape), draws)
        bins = _calibration(codes[0], probabilities, rarer, draws)
    known = np.isin(truth, classes)
    matrix = _confusion(codes[0][known], codes[1][known], len(classes))
    truths, answered = (np.where(known, each, -1) for each in codes)
    told = _classes(classes, truths, answered, draws)
    answers = np.unique(predictions)
    return Quality(
        rows=n,
        confidence=confidence,
        measures=measures,
        baseline=draws.share(wrong_then),
        answer=str(always),
        verdict=draws.verdict(wrong_then.astype(np.int64) - wrong),
        constant=str(answers[0]) if len(answers) == 1 and n > 1 else None,
        silent=tuple(one.label for one in told if one.rows and not one.answers),
        classes=told,
        confusion=matrix,
        positive=str(classes[rarer]) if len(classes) == 2 else None,
        calibration=bins,
        guess=guess,
        groups=draws.count,
    )


def baseline(trained: AnyArray, truth: AnyArray, classes: bool) -> tuple[str, float]:
    """Return the same answer for all rows, the most frequent class or the mean, and its error."""
    if not classes:
        mean = float(np.mean(trained))
        return f"{mean:.6g}", _rmse(truth, np.full(len(truth), mean))
    labels, counts = np.unique(trained, return_counts=True)
    always = labels[counts.argmax()]
    return str(always), float(np.mean(truth != always))


def quality_of_numbers(
    truth: FloatArray,
    predictions: FloatArray,
    trained: FloatArray,
    confidence: float = 0.95,
    groups: AnyArray | None = None,
) -> Quality:
    """Measure the quality of a regressor.

    Parameters
    ----------
    truth, predictions : arrays of shape (n,)
    trained : array
        The values of the rows trained on, whose mean is the baseline.
    confidence : float
    groups : array of shape (n,), optional
        Rows with the same value belong together, and are one draw.
    """
    n, draws = len(truth), Intervals(confidence, groups)
    always = np.full(n, np.mean(trained))
    rows = (truth, predictions)
    measures = {
        "RMSE": draws.varied(_rmse, rows, least=0.0),
        "MAE": draws.varied(_mae, rows, least=0.0),
    }
    if n > 1 and np.ptp(truth) > 0:
        measures["R²"] = draws.varied(_r2, rows, most=1.0)
    gain = (always - truth) ** 2 - (predictions - truth) ** 2
    return Quality(
        rows=n,
        confidence=confidence,
        measures=measures,
        baseline=draws.varied(_rmse, (truth, always), least=0.0),
        answer=f"{always[0]:.6g}",
        verdict=draws.verdict(gain),
        constant=f"{predictions[0]:.6g}" if n > 1 and np.ptp(predictions) == 0 else None,
        groups=draws.count,
    )


def _rmse(truth: FloatArray, predictions: FloatArray) -> float:
    return float(np.sqrt(np.mean((truth - predictions) ** 2)))


def _mae(truth: FloatArray, predictions: FloatArray) -> float:
    return float(np.mean(np.abs(truth - predictions)))


def _r2(truth: FloatArray, predictions: FloatArray) -> float:
    """Return the share of the squares about the mean that is explained."""
    return float(1 - np.sum((truth - predictions) ** 2) / np.sum((truth - truth.mean()) ** 2))


def _confusion(truth: IntArray, predictions: IntArray, classes: int) -> IntArray:
    """Tell how many rows of each class were taken for which."""
    pairs = np.bincount(truth * classes + predictions, minlength=classes**2)
    return np.asarray(pairs.reshape(classes, classes))


def _classes(
    labels: AnyArray, truth: IntArray, predictions: IntArray, draws: Intervals
) -> tuple[ClassQuality, ...]:
    """Tell how each class was found; rows of no known class have the code −1."""
    right = truth == predictions
    theirs, said = (_rows_of_each(codes, len(labels)) for codes in (truth, predictions))
    return tuple(
        ClassQuality(
            str(label),
            len(rows),
            len(answers),
            draws.share(right, rows) if len(rows) else None,
            draws.share(right, answers) if len(answers) else None,
        )
        for label, rows, answers in zip(labels, theirs, said, strict=True)
    )


def _rows_of_each(codes: IntArray, classes: int) -> list[IntArray]:
    """Return the rows of each class."""
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(classes + 1))
    return [order[ends[k] : ends[k + 1]] for k in range(classes)]


def _balanced(truth: IntArray, predictions: IntArray) -> float:
    """Return the mean recall of the classes that occur."""
    rows = np.bincount(truth)
    right = np.bincount(truth[truth == predictions], minlength=len(rows))
    return float(np.mean(right[rows > 0] / rows[rows > 0]))


def _ranking(
    truth: AnyArray, scores: FloatArray | None, classes: AnyArray, rarer: int, draws: Intervals
) -> dict[str, Measure]:
    """Tell how well the scores put the rows of a class before the others; the mean over classes."""
    if scores is None or len(np.unique(truth)) < 2:
        return {}
    if scores.ndim == 2 and scores.shape[1] != len(classes):
        return {}  # pairs of classes vote, and their scores belong to no class
    if scores.ndim == 1:
        own = truth == classes[rarer]
        signed = scores if rarer else -scores
        # Each part left out sorts them again, which is soon done then; groups are found by place.
        order = np.argsort(signed) if draws.codes is None else np.arange(len(signed))
        rows: tuple[AnyArray, ...] = (own[order, None], signed[order, None])
    else:
        there = np.isin(classes, truth)
        rows = (truth[:, None] == classes[there], scores[:, there])
    return {
        "ROC AUC": draws.varied(_mean_over_classes(_auc), rows, 0.0, 1.0),
        "average precision": draws.varied(_mean_over_classes(_precision), rows, 0.0, 1.0),
    }


def _mean_over_classes(measure: Callable[[IntArray, IntArray], float]) -> Callable[..., float]:
    """Return the mean of a measure of how one class is ranked, for a column of marks for each."""

    def mean(own: BoolArray, scores: FloatArray) -> float:
        pairs = zip(own.T, scores.T, strict=True)
        return float(np.mean([measure(*_ranked(*pair)) for pair in pairs]))

    return mean


def _ranked(own: BoolArray, scores: FloatArray) -> tuple[IntArray, IntArray]:
    """Count, from the largest score down, of the class and of the others, how many reach each
    score."""
    order = np.argsort(scores, kind="stable")[::-1]
    own, scores = own[order], scores[order]
    last = np.append(np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1)
    found = np.cumsum(own)[last]
    return found, last + 1 - found


def _auc(own: IntArray, others: IntArray) -> float:
    """Compute the share of pairs of the class and another in order; equal scores are half in
    order."""
    before = np.append(0, own[:-1])
    pairs = np.sum(np.diff(others, prepend=0) * (before + own)) / 2
    return float(pairs / own[-1] / others[-1])


def _precision(own: IntArray, others: IntArray) -> float:
    """Return the average precision: that at each score, by what of the class is found there."""
    return float(np.sum(np.diff(own, prepend=0) * own / (own + others)) / own[-1])


def _shares_of(scores: FloatArray | None, probabilities: FloatArray | None) -> FloatArray | None:
    """Return what the rows are ranked by."""
    several = scores is not None and scores.ndim == 2
    return probabilities if several and probabilities is not None else scores


def _brier(codes: IntArray, probabilities: FloatArray, draws: Intervals) -> Measure:
    told = np.eye(probabilities.shape[1])

    def score(codes: IntArray, p: FloatArray) -> float:
        return float(brier_scores(told[codes], p).mean())

    return draws.varied(score, (codes, probabilities), least=0.0)


def _calibration(
    codes: IntArray, probabilities: FloatArray, rarer: int, draws: Intervals
) -> tuple[Calibrated, ...]:
    """Divide rows into parts of equal size by their probability, and how often what was said was
    so."""
    k = np.full(len(codes), rarer) if probabilities.shape[1] == 2 else probabilities.argmax(axis=1)
    said, so = probabilities[np.arange(len(codes)), k], codes == k
    order = np.argsort(said, kind="stable")
    parts = min(MOST_BINS, len(order) // FEWEST_IN_A_BIN) or 1
    return tuple(
        Calibrated(len(rows), float(said[rows].mean()), draws.share(so, rows))
        for rows in np.array_split(order, parts)
        if len(rows)
    )


# ---- how surely a number was measured, by rows or by groups of rows ------------------------------

# Parts that are left out one after the other to see how much a measure varies.
MOST_PARTS = 20
# Above this chance of such a difference between equals, a model is not told from the baseline.
CHANCE = 0.05


@dataclass(frozen=True)
class Measure:
    """A number that was measured, and the interval in which it lies with some confidence."""

    value: float
    low: float | None = None
    high: float | None = None


class Intervals:
    """A maker of intervals from independent draws: the rows, or the groups if there are any.

    Parameters
    ----------
    confidence : float
    groups : array of shape (n,), optional
        Rows with the same value are one draw.
    """

    def __init__(self, confidence: float, groups: AnyArray | None = None) -> None:
        self.confidence = confidence
        self.codes: IntArray | None = None
        self.count: int | None = None
        if groups is not None:
            found, codes = np.unique(groups, return_inverse=True)
            if len(found) < len(codes):
                self.codes, self.count = codes, len(found)

    def share(self, marks: BoolArray, rows: Any = slice(None)) -> Measure:
        """Return the share of some rows that are marked, with the interval of Clopper and Pearson.

        With groups, that of Korn and Graubard (1998): the interval of as many independent rows as
        vary as much as the groups do. It is approximate: of few groups, groups of different sizes
        and rare marks it is too short.
        """
        marks = marks[rows]
        value, n = float(np.mean(marks)), float(len(marks))
        if self.codes is not None:
            codes = np.unique(self.codes[rows], return_inverse=True)[1]
            sizes = np.bincount(codes)
            if len(sizes) < 2 <= n:
                return Measure(value)
            if len(sizes) < n:
                n = self._worth(np.bincount(codes, marks) - value * sizes, value, int(n))
        right, tail = value * n, (1 - self.confidence) / 2
        low = float(stats.beta.ppf(tail, right, n - right + 1)) if value > 0 else 0.0
        high = float(stats.beta.isf(tail, right + 1, n - right)) if value < 1 else 1.0
        return Measure(value, low, high)

    def _worth(self, deviations: FloatArray, value: float, n: int) -> float:
        """Tell how many independent rows tell as much as these groups do."""
        count = len(deviations)
        if value in (0.0, 1.0):
            return float(count)
        variance = count / (count - 1) * float(deviations @ deviations) / n**2
        worth = n if variance == 0 else min(float(n), value * (1 - value) / variance)
        tail = (1 + self.confidence) / 2
        return float(worth * (stats.t.ppf(tail, n - 1) / stats.t.ppf(tail, count - 1)) ** 2)

    def varied(
        self,
        measure: Callable[..., float],
        rows: tuple[AnyArray, ...],
        least: float | None = None,
        most: float | None = None,
    ) -> Measure:
        """Return the measure, and an interval from leaving out a part of the draws after the other.

        The jackknife: with g parts the variance is (g−1)/g times the sum of the squared deviations.
        """
        value, n = float(measure(*rows)), self.count or len(rows[0])
        parts = min(n, MOST_PARTS)
        if parts < 3:
            return Measure(value)
        part = np.random.default_rng(0).permutation(n) % parts
        part = part if self.codes is None else part[self.codes]
        found = [_defined(measure, rows, part != k) for k in range(parts)]
        left = np.array([each for each in found if each is not None])
        if len(left) < 3 or np.ptp(left) == 0:  # which tells nothing of how it varies
            return Measure(value)
        spread = np.sqrt((len(left) - 1) / len(left) * ((left - left.mean()) ** 2).sum())
        half = float(spread * stats.t.ppf((1 + self.confidence) / 2, len(left) - 1))
        low = value - half if least is None else max(least, value - half)
        high = value + half if most is None else min(most, value + half)
        return Measure(value, float(low), float(high))

    def verdict(self, gain: FloatArray | IntArray) -> str:
        """Tell whether there is a gain: "better", "unclear" or "no better".

        Rows that were gained and rows that were lost, −1, 0 or 1 each, are told by the sign test;
        other gains, and those of groups, by the test of Student.
        """
        if gain.mean() <= 0:
            return "no better"
        if self.codes is None and gain.dtype.kind == "i":
            won, lost = int((gain > 0).sum()), int((gain < 0).sum())
            chance = stats.binomtest(won, won + lost, alternative="greater").pvalue
            return "better" if chance <= CHANCE else "unclear"
        gain = gain if self.codes is None else np.bincount(self.codes, gain)
        if np.ptp(gain) == 0:  # all alike: the sign of each is a toss of a coin
            return "better" if 0.5 ** len(gain) <= CHANCE else "unclear"
        chance = stats.ttest_1samp(gain, 0.0, alternative="greater").pvalue
        return "better" if chance <= CHANCE else "unclear"


def _defined(
    measure: Callable[..., float], rows: tuple[AnyArray, ...], stay: AnyArray
) -> float | None:
    """Return the measure on some of the rows, or None where too few classes are left for it."""
    some = tuple(each[stay] for each in rows)
    flat, whole = (truth.min(axis=0) == truth.max(axis=0) for truth in (some[0], rows[0]))
    return None if (flat & ~whole).any() else float(measure(*some))
