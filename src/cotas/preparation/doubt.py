"""How small a coefficient must be not to be told from zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates import Certificate


def doubts_of(estimator: Any, certificate: Certificate, n_rows: int) -> list[float]:
    """Bound what a coefficient of each row can be off by: for the gap, and for rounding.

    A gap g of an objective with the penalty (λ/2)‖θ‖² proves ‖θ − θ*‖ ≤ √(2g/λ), so the best
    model may have a zero wherever |θⱼ| is no larger. For other objectives there is rounding alone:
    sums over n rows are off by n units in the last place.

    Parameters
    ----------
    estimator : fitted linear model; of another there are none
    certificate : Certificate
        Its own: one for each row, or one for all of them together.
    n_rows : int
        Rows trained on.
    """
    rows = np.atleast_2d(getattr(estimator, "coef_", np.empty((0, 0))))
    each = certificate.singles
    proofs = each if len(each) == len(rows) else (certificate,) * len(rows)
    return [_doubt(estimator, proof, row, n_rows) for proof, row in zip(proofs, rows, strict=True)]


def _doubt(estimator: Any, certificate: Certificate, coef: FloatArray, n_rows: int) -> float:
    rounding = float(np.finfo(np.float64).eps * n_rows * np.abs(coef).max(initial=0.0))
    lam = certificate.figures.get("λ", 0.0)
    # Those who certify predictions have this penalty.
    if not hasattr(estimator, "certified_predict") or not lam > 0 or not certificate.holds:
        return rounding
    return max(rounding, float(np.sqrt(2 * certificate.gap / lam)))
