"""How long coefficients without a penalty can be, with the squared loss.

Where P ≤ level, the columns A without a penalty and the rest have

    ‖Aγ‖ ≤ ‖y‖ + √(2·level) + ‖Xβ‖,    ‖Xβ‖ ≤ max ‖x‖·‖β‖,    ‖Aγ‖² ≥ μ‖γ‖²,

in the norm Σ sᵢuᵢ²/S, with the smallest curvature μ that `hessian.py` proves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotas.certificates.core.hessian import hessian
from cotas.certificates.core.imbalance import longest
from cotas.certificates.core.residuals import Squared
from cotas.certificates.core.rounding import FloatArray, U, above, below, ratio, up
from cotas.certificates.core.sparse_rows import rows_in
from cotas.certificates.core.sparsity import LIMITS


def limits(claim: Any, rows: Any, w: Any, level: float) -> FloatArray:
    """Return bounds of |θⱼ| of the coefficients without a penalty, for models with P ≤ level."""
    regularizer = claim.risk.regularizer
    free = regularizer.free()
    part = rows_in(rows.X[:, free], rows.movable, rows.each)
    found = hessian(part, w, np.zeros(len(free)), claim.risk.free_bias, False, None)
    far = above(float(np.abs(np.where(w.s > 0, claim.y, 0.0)).max(initial=0.0)))
    size = up(far + above(math.sqrt(above(2 * level))))
    size = up(size + above(longest(rows) * regularizer.radius(level)))
    reach = above(ratio(size, below(math.sqrt(found.least()))), 2)
    return np.asarray(reach * found.scale[: len(free)] / part.unit * (1 + 4 * U))


LIMITS[Squared] = limits
