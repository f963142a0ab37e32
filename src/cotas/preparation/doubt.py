"""How small a coefficient must be not to be told from zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates import Certificate


def doubt_of(estimator: Any, certificate: Certificate, coef: FloatArray, n_rows: int) -> float:
    """What a coefficient can be off by, for what the gap leaves open and for rounding.

    A gap g of an objective with the penalty (λ/2)‖θ‖² proves ‖θ − θ*‖ ≤ √(2g/λ), so the best
    model may have a zero wherever |θⱼ| is no larger. For other objectives there is rounding alone:
    sums over n rows are off by n units in the last place.

    Parameters
    ----------
    estimator : fitted linear model
    certificate : Certificate
        The one about these coefficients.
    coef : array of shape (n_features,)
    n_rows : int
        Rows trained on.
    """
    rounding = float(np.finfo(np.float64).eps * n_rows * np.abs(coef).max(initial=0.0))
    lam = certificate.figures.get("λ", 0.0)
    # Those who certify predictions have this penalty.
    if not hasattr(estimator, "certified_predict") or not lam > 0 or not certificate.holds:
        return rounding
    return max(rounding, float(np.sqrt(2 * certificate.gap / lam)))
