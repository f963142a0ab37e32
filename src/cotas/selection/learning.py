"""Learning curves: training and validation loss against the rows used (Fuentes Cabrera, §2)."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import _safe_split

from cotas.arrays import AnyArray, IntArray
from cotas.fitting.data import refuse_source
from cotas.fitting.parameters import check_jobs
from cotas.refusals import ParameterError
from cotas.running import thread_count
from cotas.selection.choice import Evaluation, gap_in_words, headings
from cotas.selection.fits import Fit, FitMonitor, Fitter, gather
from cotas.selection.parameter import Parameter, check_estimator, is_number, is_whole
from cotas.selection.ranking import Standing, what_fits_made
from cotas.selection.splits import DataSplit, read_rows, split
from cotas.selection.yardstick import yardstick
from cotas.source import MatrixLike
from cotas.stops import InterruptedWarning
from cotas.words import say

DEFAULT_SIZES = (0.1, 0.325, 0.55, 0.775, 1.0)
A_SIZE = Parameter("size", "size")


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class LearningCurves(Evaluation):
    """Loss and error on the rows trained on and on others, for growing numbers of rows.

    A training loss that stays high is structural error: more rows do not help, richer models do.
    A validation loss far above it is estimation error: more rows help (Fuentes Cabrera, §4.1).

    Attributes
    ----------
    sizes : array of int
        Rows trained on. The rows of each are among those of the next.
    training_loss, validation_loss, training_error, validation_error : arrays
        As in `Choice`, with folds over all of them.
    gaps, status, certificates : as in `Choice`
    loss : str
        The name of the loss.
    n_validation : int
    interrupted : bool
    """

    sizes: IntArray

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain Python types, ready for JSON (NaN as None)."""
        return super().to_dict() | self._plain("sizes")

    def _title(self) -> str:
        return say(
            "Learning curves ({loss} loss), judged by {rows} rows",
            loss=say(self.loss),
            rows=self.n_validation,
        )

    def _conclusions(self) -> list[str]:
        if not self.interrupted:
            return []
        return [say("Interrupted: these are the sizes that were finished.")]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        names = [say("rows"), *headings(), say("relative gap"), say("certificate")]
        rows = [
            [str(n), *self._figures(k), gap_in_words(self.gaps[k]), say(self.status[k])]
            for k, n in enumerate(self.sizes)
        ]
        return names, rows


def learning_curves(
    model: Any,
    X: MatrixLike,
    y: ArrayLike | None,
    sizes: Any = DEFAULT_SIZES,
    *,
    validation: Any = None,
    folds: Any = None,
    loss: Any = None,
    scoring: Any = None,
    stratify: bool = True,
    groups: Any = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    progress: bool | None = None,
) -> LearningCurves:
    """Measure training and validation loss and error of one model against the number of rows.

    Parameters
    ----------
    model : estimator of cotas or scikit-learn, or a pipeline
    X, y : the data
    sizes : sequence of int or float
        Numbers of rows to train on, or shares of those that the split leaves for it.
    validation, folds, loss, scoring, stratify, groups, sample_weight, n_jobs, progress
        As in `choose`.
    random_state : int, RandomState or None
        For the split, and for which rows come first.

    Returns
    -------
    LearningCurves
        After Ctrl-C, with the sizes that were finished.

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> curves = cotas.learning_curves(cotas.Ridge(lam=1e-3), X, y, [20, 80, 320], random_state=0)
    >>> bool(curves.training_loss[0] < curves.training_loss[-1])
    True
    >>> bool(curves.validation_loss[0] > curves.validation_loss[-1])
    True
    >>> curves.status
    ('proved', 'proved', 'proved')
    """
    check_estimator(model)
    check_jobs(n_jobs)
    classifies = is_classifier(model)
    refuse_source("learning_curves", X)
    rows = read_rows(X, y, sample_weight, classifies, groups)
    measure = yardstick(model, len(np.unique(rows.y)) if classifies else 0, loss, scoring)
    parts = split(model, rows, validation, folds, stratify, random_state)
    counts = _counts(sizes, min(len(part.y) for part in parts))
    random = check_random_state(random_state)
    orders = [_order(part.y, classifies and stratify, random) for part in parts]
    tasks = [(k, p) for k in range(len(counts)) for p in range(len(parts))]
    threads = thread_count(n_jobs, len(tasks))
    fitter = Fitter(model, A_SIZE, measure, alone=threads == 1)
    watch = FitMonitor("learning_curves", progress, len(tasks))

    def work(task: tuple[int, int]) -> Fit:
        k, p = task
        part = _first(model, parts[p], orders[p][: counts[k]])
        fresh, began = fitter.fresh(), time.perf_counter()
        fitter.train(fresh, counts[k], part)
        return fitter.measured(counts[k], fresh, part, time.perf_counter() - began)

    found, interrupted = gather(work, tasks, threads, watch), watch.interrupted
    return _collected(counts, found, parts, measure, interrupted)


def _collected(
    counts: list[int],
    found: dict[tuple[int, int], Fit],
    parts: list[DataSplit],
    measure: Any,
    interrupted: bool,
) -> LearningCurves:
    done = []
    for k, count in enumerate(counts):
        fits = [found[k, p] for p in range(len(parts)) if (k, p) in found]
        if len(fits) == len(parts):
            done.append(Standing(count, tuple(fits)))
    if not done:
        raise KeyboardInterrupt("Interrupted before the first size was finished.")
    if interrupted:
        words = say("Interrupted: {count} sizes were finished.", count=len(done))
        warnings.warn(words, InterruptedWarning, stacklevel=3)
    sizes = np.array([standing.value for standing in done])
    return LearningCurves(sizes=sizes, **what_fits_made(done, measure, parts, interrupted))


def _counts(sizes: Any, most: int) -> list[int]:
    """Return numbers of rows, rising, each once."""
    given = list(np.ravel(sizes)) if not isinstance(sizes, str) else []
    if not given:
        raise ParameterError(
            "sizes", "sizes is empty: give numbers of rows, or shares such as 0.5."
        )
    found = set()
    for size in given:
        size = size.item() if isinstance(size, np.generic) else size
        if is_whole(size) and 1 <= size <= most:
            found.add(int(size))
        elif is_number(size) and not is_whole(size) and 0 < size <= 1:
            found.add(max(1, round(float(size) * most)))
        elif isinstance(size, float) and size.is_integer() and 1 < size <= most:
            found.add(int(size))
        else:
            raise ParameterError(
                "sizes",
                f"sizes holds {size!r}: give whole numbers from 1 to {most}, which is what the "
                "split leaves to train on, or shares of it above 0 and at most 1.",
            )
    return sorted(found)


def _order(y: AnyArray, by_class: bool, random: np.random.RandomState) -> IntArray:
    """Draw a random order whose beginnings have, as nearly as they can, the classes of the
    whole."""
    order = random.permutation(len(y))
    if not by_class:
        return order
    rank = np.empty(len(y))
    for label in np.unique(y):
        own = np.flatnonzero(y[order] == label)
        rank[own] = (np.arange(len(own)) + 0.5) / len(own)
    return np.asarray(order[np.argsort(rank, kind="stable")])


def _first(model: Any, part: DataSplit, chosen: IntArray) -> DataSplit:
    """Return the part with some of its training rows."""
    chosen = np.sort(chosen)
    X, y = _safe_split(model, part.X, part.y, chosen)
    X_val = part.X_val
    if len(chosen) < len(part.y) and get_tags(model).input_tags.pairwise:
        X_val = X_val[:, chosen]  # the kernel values with the rows that are trained on
    weights = None if part.weights is None else part.weights[chosen]
    return replace(part, X=X, y=y, weights=weights, X_val=X_val)
