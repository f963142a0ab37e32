"""What can be said of a kernel machine whose kernel is not positive semi-definite.

There is then no feature space, P is not a convex function of anything, and D(α) bounds nothing.
What can still be measured is how far α is from the KKT conditions of the dual problem

    max Σ αᵢ − (1/2λ)(αy)ᵀK(αy),    0 ≤ αᵢ ≤ sᵢ,    Σ αᵢyᵢ = 0 when the bias is free:

a point that meets them is stationary, and others may be better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.positivity import Definiteness
from cotas.certificates.sweep import EPS

if TYPE_CHECKING:
    from cotas.certificates.kernel_duality import KernelSurvey


def stationary_certificate(
    survey: KernelSurvey, c: int, share: FloatArray, evidence: Definiteness
) -> Certificate:
    """The largest violation of the KKT conditions by the α of class c."""
    point, problem, used = survey.points[c], survey.problem, survey.used
    scores = (survey.values[:, c, 1] * share[0] - survey.values[:, c, 2] * share[1]) / problem.lam
    signs, factors = survey.signs[used, c], survey.factors[used, c]
    fractions = (factors[:, 1] * share[0] + factors[:, 2] * share[1]) / survey.weights[used]
    violation = kkt_violation(signs, signs - scores[used], fractions, problem.free_bias)
    objection = ""
    if not survey.rebuilds(c, np.ones(2)):
        objection = "The coefficients of the model are not those of its multipliers."
    elif not np.allclose(share, 1.0, rtol=0.0, atol=1e-6):
        objection = "Σ αᵢyᵢ is not zero, so the multipliers are no point of the dual problem."
    lengths = survey.lengths
    return conclude(
        kind="stationary",
        lower=0.0,
        upper=violation,
        objection=objection,
        statement=(
            (f"{point.subject}: the" if point.subject else "The")
            + " kernel is not positive semi-definite, so nothing bounds the best objective; the "
            f"multipliers meet the KKT conditions of the dual problem up to {violation:.3g}."
        ),
        reference="docs/theory/kernels.md, indefinite kernels",
        figures={
            "λ": problem.lam,
            "cᵀKc for some c of length 1": evidence.value,
            "support vectors": float(np.count_nonzero(point.coef)),
        },
        remarks=(
            f"k(x, x′) = {survey.kernel}",
            f"It is no Mercer kernel: {evidence.in_words}.",
            "A stationary point need not be the best.",
        ),
        charge=float(
            256 * EPS * (1 + lengths.max() * (lengths @ survey.alpha[:, c]) / problem.lam)
        ),
        witness=point,
        sketch=survey.facts.sketches[c],
    )


def kkt_violation(
    signs: FloatArray, corners: FloatArray, fractions: FloatArray, free_bias: bool
) -> float:
    """How far the corners yᵢ − f(xᵢ) are from what αᵢ/sᵢ = `fractions` would need.

    With a free bias some θ₀ must lie above all corners of the examples that can move up along y
    and below all those that can move down; without one θ₀ is zero.
    """
    room = 1e-12
    up = np.where(signs > 0, fractions < 1 - room, fractions > room)
    down = np.where(signs > 0, fractions > room, fractions < 1 - room)
    highest = float(corners[up].max(initial=-np.inf))
    lowest = float(corners[down].min(initial=np.inf))
    if not free_bias:
        return max(0.0, highest, -lowest)
    return max(0.0, highest - lowest)
