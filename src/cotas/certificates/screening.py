"""Which coefficients are zero in every solution of a Lasso, proved by the gap."""

from __future__ import annotations

import math

import numpy as np

from cotas.arrays import AnyArray, BoolArray, Matrix
from cotas.certificates.lasso import LassoPoint, LassoSurvey
from cotas.certificates.moments import column_lengths


def proved_zeros(point: LassoPoint, X: Matrix, y: AnyArray) -> BoolArray:
    """For each feature, whether its coefficient is zero at the exact optimum.

    The dual objective is strongly concave: the best dual point is no farther than √(2·gap) from
    the one at hand, in the norm of ⟨u, u⟩ = Σ sᵢuᵢ². So its correlation with a column of length ℓ
    is known up to √(2·gap)·ℓ. A column whose correlation stays below λ, or on the ball below that
    of another column, has the coefficient zero (gap-safe screening, Ndiaye et al. 2017). Nothing
    is claimed where the certificate does not hold, nor for the elastic net.
    """
    survey = LassoSurvey([point], X, y, None, map)
    certificate = survey.conclude(0)
    nothing = np.zeros(X.shape[1], dtype=np.bool_)
    if not certificate.holds or point.problem.l1_ratio != 1.0:
        return nothing
    multiple = survey.best_multiple(0)
    radius = math.sqrt(2 * (certificate.gap + certificate.charge))
    spread = radius * column_lengths(X, survey.moments) / survey.scale
    reach = survey.q[:, 0] if point.problem.positive else np.abs(survey.q[:, 0])
    high = multiple * reach + spread
    if point.problem.lam is not None:
        return np.asarray(high < point.problem.lam)
    low = float((multiple * reach - spread).max(initial=0.0))
    return np.asarray(high < low)
