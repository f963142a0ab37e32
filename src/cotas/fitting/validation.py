"""Setting rows aside to judge a fit while it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from cotas.arrays import IntArray
from cotas.fitting.data import Examples, TrainingRows

Rows = TypeVar("Rows", bound=TrainingRows)


class Patience:
    """Counts the looks since a score was better than all before, at `best_look`."""

    def __init__(self, looks: int) -> None:
        self.looks, self.best = looks, -np.inf
        self.look = self.best_look = self.stale = 0

    def lost(self, score: float) -> bool:
        """Whether so many looks, this one included, have brought nothing."""
        self.look += 1
        if score > self.best:
            self.best, self.best_look = score, self.look
        self.stale = self.look - self.best_look
        return self.stale >= self.looks


def hold_out(
    examples: Rows, validation_fraction: float, random_state: Any
) -> tuple[Rows, IntArray]:
    """Set the validation fraction aside: weight zero in training, hence in the certificate.

    Of each class the same share.
    """
    used = examples.used()
    rows = np.arange(examples.n_rows) if used is None else used
    codes = examples.codes[rows] if isinstance(examples, Examples) else None
    split = ShuffleSplit if codes is None else StratifiedShuffleSplit
    splitter = split(1, test_size=validation_fraction, random_state=random_state)
    try:
        _, held_out = next(splitter.split(rows[:, None], codes))
    except ValueError as error:
        raise ValueError(
            f"early_stopping cannot set validation_fraction={validation_fraction} of "
            f"{len(rows)} rows aside: {error}"
        ) from error
    weights = np.ones(examples.n_rows) if examples.weights is None else examples.weights.copy()
    weights[rows[held_out]] = 0.0
    return replace(examples, weights=weights), rows[held_out]
