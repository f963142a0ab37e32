"""Findings about linear classifiers: documents 000 and 004."""

from __future__ import annotations

import numpy as np

from cotas.experiments import generalization, margins, memorizing
from cotas.experiments.findings.finding import (
    IN_PART,
    NO_CLAIM,
    Finding,
    Seeds,
    mean,
    means,
    verdict,
)


def memorizer(seeds: Seeds) -> Finding:
    """No training error, and a validation error of ½."""
    runs = [memorizing.memory(seed) for seed in seeds]
    training, validation = mean(r.training[0] for r in runs), mean(r.validation[0] for r in runs)
    linear = mean(r.linear_validation for r in runs)
    return Finding(
        ("000-memorizer",),
        "training error 0; validation error exactly ½",
        f"{training:.3f} and {validation:.3f} for ε = 0.001; a linear SVM on the same data "
        f"{linear:.3f}",
        verdict(all(r.training[0] == 0 and r.validation[0] == 0.5 for r in runs)),
    )


def sides(seeds: Seeds) -> Finding:
    """θ points to the positive side, with and without bias."""
    found = [make(seed) for make in (margins.halves, margins.with_bias) for seed in seeds]
    agree = [np.all((h.data.X @ h.theta + h.theta0 > 0) == (h.data.y > 0)) for h in found]
    plain = [margins.halves(seed) for seed in seeds]
    acute = sum(int(((h.cosines > 0) == (h.data.y > 0)).sum()) for h in plain)
    total = sum(len(h.data.y) for h in plain)
    return Finding(
        ("000-3.1", "000-3.2"),
        "cos(x, θ) > 0 on the side to which θ points; a bias only moves the boundary",
        f"without bias the sign of the cosine was the class of {acute} of {total} points",
        verdict(acute == total and all(agree)),
    )


def violations(seeds: Seeds) -> Finding:
    """The picture that marks the examples with a loss."""
    fits = [margins.violations(seed).fits[0] for seed in seeds]
    wrong = mean(fit.wrong for fit in fits)
    return Finding(
        ("000-3.4",),
        "the margin boundaries, and marks on the examples with a hinge loss",
        f"{mean(fit.inside for fit in fits):.1f} of 60 examples marked, {wrong:.1f} of them on the "
        f"wrong side; 1/‖θ‖ = {mean(fit.margin for fit in fits):.2f}",
        NO_CLAIM,
    )


def balance(seeds: Seeds) -> Finding:
    """The two terms of J."""
    found = [generalization.balance(seed) for seed in seeds]
    best = [float(b.scale[np.argmin(b.loss + b.penalty)]) for b in found]
    return Finding(
        ("004-objective",),
        "λ balances the mean loss and the penalty",
        f"J(tθ) is least at t = {min(best):.2f} to {max(best):.2f}, on a grid of steps of 0.015",
        verdict(max(abs(t - 1) for t in best) < 0.02),
    )


def descents(seeds: Seeds) -> Finding:
    """Gradient descent and stochastic descent on the hinge objective."""
    ends = []
    for seed in seeds:
        s = generalization.surface(seed)
        points = np.array([s.best, s.descent[-1], s.stochastic[-1]])
        best, *others = generalization.hinge_objective(s.data, s.lam, points)
        ends.append([other - best for other in others])
    batch, stochastic = means(ends)
    slopes = [generalization.slope(seed) for seed in seeds]
    return Finding(
        ("004-slope", "004-surface"),
        "a constant rate suffices for gradient descent; with η = 1/(1+t) SGD converges too",
        f"J − J* after 1000 steps: {batch:.0e} and {stochastic:.0e}",
        verdict(
            max(batch, stochastic) < 0.01
            and all(s.walked_objective[-1] < s.objective.min() + 0.01 for s in slopes)
        ),
    )


def distance(seeds: Seeds) -> Finding:
    """The agreement, divided by ‖θ‖, is the distance."""
    feet = [margins.projection(seed) for seed in seeds]
    worst = max(abs(p.distance - p.agreement) for p in feet)
    return Finding(
        ("000-3.3",),
        "y(θ·x + θ₀)/‖θ‖ is the distance to the boundary",
        f"largest difference {worst:.0e}",
        verdict(worst < 1e-12),
    )


def small_and_large(seeds: Seeds) -> Finding:
    """Violations for a wider margin."""
    pairs = [margins.small_and_large(seed).fits for seed in seeds]
    narrow, wide, none, some = means([[a.margin, b.margin, a.inside, b.inside] for a, b in pairs])
    return Finding(
        ("000-3.5",),
        "a larger λ accepts violations for a wider margin",
        f"λ = 0.1: 1/‖θ‖ = {narrow:.1f}, {none:.1f} violations; λ = 300: {wide:.1f}, {some:.1f}",
        verdict(all(b.margin > a.margin and b.inside > a.inside for a, b in pairs)),
    )


def widest(seeds: Seeds) -> Finding:
    """The hard margin."""
    fits = [margins.widest(seed).fits[0] for seed in seeds]
    inside, gap = sum(fit.inside for fit in fits), max(fit.gap for fit in fits)
    return Finding(
        ("000-3.6",),
        "the largest margin, without violations",
        f"{inside} violations; 1/‖θ‖ = {mean(fit.margin for fit in fits):.1f}, largest relative "
        f"gap proved {gap:.0e}",
        verdict(inside == 0 and gap < 1e-6),
    )


def three_lambdas(seeds: Seeds) -> list[Finding]:
    """The three pictures of document 004."""
    fits = [margins.for_lams(generalization.LAMS, seed).fits for seed in seeds]
    inside = means([[fit.inside for fit in row] for row in fits])
    width = means([[fit.margin for fit in row] for row in fits])
    support = means([[fit.support for fit in row] for row in fits])
    turned = means([[fit.turned for fit in row] for row in fits])
    wrong = sum(row[0].wrong for row in fits)
    listed = ", ".join(f"{count:.1f}" for count in support)
    angles = ", ".join(f"{angle:.0f}°" for angle in turned)
    return [
        Finding(
            ("004-lambda-0.1",),
            "λ = 0.1: every example is on the right side of the boundary",
            f"{wrong} wrong, {inside[0]:.1f} inside the margins, 1/‖θ‖ = {width[0]:.1f}",
            verdict(wrong == 0),
        ),
        Finding(
            ("004-lambda-100",),
            "λ = 100: the margins let some examples in",
            f"{inside[1]:.1f} of 40 inside, 1/‖θ‖ = {width[1]:.1f}",
            verdict(all(0 <= a.inside < b.inside < 40 for a, b, _ in fits)),
        ),
        Finding(
            ("004-lambda-1000",),
            "λ = 1000: the whole of the points influences the solution, not the nearest only",
            f"{inside[2]:.1f} of 40 inside, 1/‖θ‖ = {width[2]:.1f}; support vectors for the three "
            f"λ: {listed}; angle between θ and the line of the means: {angles}",
            verdict(all(a.support < b.support < c.support for a, b, c in fits)),
        ),
    ]


def losses(seeds: Seeds) -> list[Finding]:
    """Training and test loss over c, and the choice of ĉ."""
    curves = [generalization.losses(seed) for seed in seeds]
    rise = max(float(np.diff(curve.training).max()) for curve in curves)
    low, best, high = means([[c.test[0], c.test.min(), c.test[-1]] for c in curves])
    valley = all(c.c[0] < c.best < c.c[-1] for c in curves)
    ratios = [c.chosen_loss / c.test.min() for c in curves]
    return [
        Finding(
            ("004-loss",),
            "the training loss falls with c; the test loss falls up to c* and then rises",
            f"largest rise of the training loss {max(rise, 0):.0e}; test loss {low:.2f} at the "
            f"smallest c, {best:.2f} at c*, {high:.2f} at the largest",
            verdict(rise < 1e-6 and valley),
        ),
        Finding(
            ("004-fitting",),
            "a validation part of 10–30 % gives ĉ ≈ c*",
            f"test loss at ĉ {np.median(ratios):.3f} times that at c* (median), "
            f"{max(ratios):.3f} at worst",
            verdict(max(ratios) < 1.25, IN_PART),
        ),
    ]
