"""Which predictions do not depend on what is unknown about the scores."""

from __future__ import annotations

import numpy as np

from cotas.arrays import BoolArray, FloatArray, IntArray


def shared_by_all(codes: IntArray, low: FloatArray, high: FloatArray) -> BoolArray:
    """Whether all scores between `low` and `high` give the class with the code predicted.

    One column for each class; a single column is the score of the second of two.
    """
    if low.shape[1] == 1:
        return np.where(codes == 1, low[:, 0] > 0, high[:, 0] <= 0)
    own = np.take_along_axis(low, codes[:, None], axis=1)[:, 0]
    others = high.copy()
    np.put_along_axis(others, codes[:, None], -np.inf, axis=1)
    return np.asarray(own > others.max(axis=1))
