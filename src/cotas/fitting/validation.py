"""Setting rows aside to judge a fit while it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from cotas.arrays import BoolArray, IntArray
from cotas.fitting.data import Examples, TrainingRows
from cotas.refusals import ParameterError

Rows = TypeVar("Rows", bound=TrainingRows)


def hold_out(
    examples: Rows, validation_fraction: Any, random_state: int | np.random.RandomState | None
) -> tuple[Rows, IntArray]:
    """Set a fraction of the rows aside: weight zero in training, hence in the certificate.

    Of each class the same share. Or the rows that an array names.
    """
    used = examples.used()
    rows = np.arange(examples.n_rows) if used is None else used
    if np.ndim(validation_fraction):
        return without(examples, rows[_named(validation_fraction, examples, rows)])
    codes = examples.codes[rows] if isinstance(examples, Examples) else None
    split = ShuffleSplit if codes is None else StratifiedShuffleSplit
    splitter = split(1, test_size=validation_fraction, random_state=random_state)
    try:
        _, held_out = next(splitter.split(rows[:, None], codes))
    except ValueError as error:
        raise ParameterError(
            "early_stopping",
            f"early_stopping cannot set validation_fraction={validation_fraction} of "
            f"{len(rows)} rows aside: {error}",
        ) from error
    return without(examples, rows[held_out])


def without(examples: Rows, held_out: IntArray) -> tuple[Rows, IntArray]:
    """Return the examples with these rows set aside."""
    weights = np.ones(examples.n_rows) if examples.weights is None else examples.weights.copy()
    weights[held_out] = 0.0
    return replace(examples, weights=weights), held_out


def _named(chosen: Any, examples: TrainingRows, used: IntArray) -> BoolArray:
    """Tell which of the rows with a weight an array of bool chooses: some, and not all."""
    aside, n = np.asarray(chosen), examples.n_rows
    if aside.shape != (n,) or aside[used].all() or not aside[used].any():
        raise ParameterError(
            "validation_fraction",
            "validation_fraction is a number between zero and one, or an array of bool that says "
            f"which of the {n} rows are set aside: some of those with a weight, and not all.",
        )
    aside = aside[used]
    if isinstance(examples, Examples) and len(np.unique(examples.codes[used][~aside])) < 2:
        raise ParameterError(
            "validation_fraction",
            "validation_fraction sets all rows but those of one class aside; two classes are "
            "needed to train on.",
        )
    return aside
