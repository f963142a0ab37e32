"""What is learned from the columns: means, deviations, and which words come often."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import BoolArray, FloatArray


class Numbers(NamedTuple):
    """One entry for each column: of the values that are there, and what is special about it."""

    means: FloatArray
    scales: FloatArray
    indicated: BoolArray  # a value is missing somewhere
    constant: BoolArray
    empty: BoolArray

    @property
    def gone(self) -> BoolArray:
        """Columns that say nothing; where a constant one is missing may still say something."""
        return np.asarray((self.constant & ~self.indicated) | self.empty)


def measure(values: FloatArray) -> Numbers:
    """Means and standard deviations of columns in which NaN stands for a missing value."""
    missing = np.isnan(values)
    present = np.maximum((~missing).sum(axis=0), 1)
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow shows in what is returned
        means = np.where(missing, 0.0, values).sum(axis=0) / present
        deviations = np.where(missing, 0.0, values - means)
        scales = np.sqrt((deviations**2).sum(axis=0) / present)
    # A deviation that rounding alone can explain is none.
    constant = np.asarray(scales <= 1e-13 * np.abs(means) * len(values) ** 0.5)
    indicated, empty = np.asarray(missing.any(axis=0)), np.asarray(missing.all(axis=0))
    return Numbers(means, scales, indicated, constant, empty)


def frequent(words: Any, min_frequency: float, most: int) -> tuple[list[str], int]:
    """The values of a category that come often enough, and how many there are in all.

    If there are more than `most`, the most frequent are taken, of equals the first in the alphabet.
    """
    counts = words.drop_nulls().alias("").value_counts(sort=True)
    values, times = counts.to_series(0).to_list(), counts.to_series(1).to_list()
    ranked = sorted(zip(times, values, strict=True), key=lambda pair: (-pair[0], pair[1]))
    least = min_frequency * len(words)
    return sorted(value for count, value in ranked[:most] if count >= least), len(values)
