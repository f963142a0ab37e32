"""The scores of every optimum of a kernel machine on new rows.

A gap of g proves ‖θ − θ*‖ ≤ r = √(2g/λ) in feature space, so that θ*·φ(x) differs from θ·φ(x) by
at most r√k(x, x), and the best biases lie in an interval (`bias.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotas.arrays import Each, FloatArray, Matrix
from cotas.certificates.core.gram import Gram, expansion
from cotas.certificates.core.rounding import U
from cotas.certificates.kernel import KernelRegion


def optimal_scores(
    spec: Any,
    X: Matrix,
    vectors: Matrix,
    coefs: FloatArray,
    regions: Sequence[KernelRegion],
    each: Each = map,
) -> tuple[FloatArray, FloatArray]:
    """The least and the greatest score that an optimum can give to each row, for each machine.

    `coefs` are β of the support vectors `vectors`, a column for each machine.
    """
    gram = Gram(spec, X, each)
    values, off = expansion(gram, Gram(spec, vectors, each), coefs)
    radii = np.array([region.radius for region in regions])
    room = np.multiply.outer(np.sqrt(gram.squares), radii) + off + 4 * U * np.abs(values)
    room *= 1.0 + 16 * U
    low = np.nextafter(values - room, -math.inf) + [region.lowest for region in regions]
    high = np.nextafter(values + room, math.inf) + [region.highest for region in regions]
    return np.nextafter(low, -math.inf), np.nextafter(high, math.inf)
