"""Findings about linear classifiers: Fuentes Cabrera and Clasificación lineal."""

from __future__ import annotations

import numpy as np

from cotas.arrays import FloatArray
from cotas.experiments import generalization, margins, memorizing
from cotas.experiments.samples import mean, plus_minus
from findings.figures.finding import AGREES, DIFFERS, IN_PART, Finding, Seeds, scientific, votes

# "ĉ ≈ c*": the test loss at ĉ is at most a twentieth larger than at c*.
NEAR = 1.05


def memorizer(seeds: Seeds) -> Finding:
    """No training error, and a validation error of ½."""
    runs = [memorizing.memory(seed) for seed in seeds]
    training, validation = mean([r.training[0] for r in runs]), [r.validation[0] for r in runs]
    linear = plus_minus([r.linear_validation for r in runs], 3)
    return Finding(
        ("000-memorizer",),
        "training error 0; validation error exactly ½",
        f"{training:.3f} and {mean(validation):.3f} for ε = 0.001; a linear SVM on the same data "
        f"{linear}",
        votes(r.training[0] == 0 and r.validation[0] == 0.5 for r in runs),
    )


def sides(seeds: Seeds) -> Finding:
    """θ points to the positive side, with and without bias."""
    pairs = [(margins.halves(seed), margins.with_bias(seed)) for seed in seeds]
    agree = [
        all(np.all((h.data.X @ h.theta + h.theta0 > 0) == (h.data.y > 0)) for h in pair)
        for pair in pairs
    ]
    acute = [int(((plain.cosines > 0) == (plain.data.y > 0)).sum()) for plain, _ in pairs]
    total = [len(plain.data.y) for plain, _ in pairs]
    return Finding(
        ("000-3.1", "000-3.2"),
        "cos(x, θ) > 0 on the side to which θ points; a bias only moves the boundary",
        f"without bias the sign of the cosine was the class of {sum(acute)} of {sum(total)} points",
        votes(a == t and ok for a, t, ok in zip(acute, total, agree, strict=True)),
    )


def distance(seeds: Seeds) -> Finding:
    """The agreement, divided by ‖θ‖, is the distance."""
    off = [abs(p.distance - p.signed_distance) for p in map(margins.projection, seeds)]
    return Finding(
        ("000-3.3",),
        "y(θ·x + θ₀)/‖θ‖ is the distance to the boundary",
        f"largest difference {max(off):.0e}",
        votes(one < 1e-12 for one in off),
    )


def violations(seeds: Seeds) -> Finding:
    """The picture that marks the examples with a loss."""
    fits = [margins.violations(seed).fits[0] for seed in seeds]
    inside, wrong = (plus_minus([getattr(f, n) for f in fits]) for n in ("inside", "wrong"))
    return Finding(
        ("000-3.4",),
        "the margin boundaries, and marks on the examples with a hinge loss",
        f"{inside} of 60 examples marked, {wrong} of them on the wrong side; 1/‖θ‖ = "
        f"{plus_minus([fit.margin for fit in fits], 2)}",
    )


def small_and_large(seeds: Seeds) -> Finding:
    """Violations for a wider margin."""
    pairs = [margins.small_and_large(seed).fits for seed in seeds]
    table = np.array([[a.margin, b.margin, a.inside, b.inside] for a, b in pairs])
    narrow, wide, none, some = (plus_minus(column) for column in table.T)
    return Finding(
        ("000-3.5",),
        "a larger λ accepts violations for a wider margin",
        f"λ = 0.1: 1/‖θ‖ = {narrow}, {none} violations; λ = 300: {wide}, {some}",
        votes(b.margin > a.margin and b.inside > a.inside for a, b in pairs),
    )


def widest(seeds: Seeds) -> Finding:
    """The hard margin, beside what the perceptron finds."""
    found = [margins.widest(seed) for seed in seeds]
    inside, gap = sum(one.fit.inside for one in found), max(one.fit.gap for one in found)
    shares = [max(other.margin for other in one.others) / one.fit.margin for one in found]
    return Finding(
        ("000-3.6",),
        "the largest margin, without violations",
        f"{inside} violations; 1/‖θ‖ = {plus_minus([one.fit.margin for one in found])}, largest "
        f"relative gap proved {gap:.0e}; the best of three perceptrons has "
        f"{plus_minus(shares, 0, '%')} of it",
        votes(
            one.fit.inside == 0 and one.fit.gap <= margins.TOL and share <= 1
            for one, share in zip(found, shares, strict=True)
        ),
    )


def balance(seeds: Seeds) -> Finding:
    """The two terms of J."""
    found = [generalization.balance(seed) for seed in seeds]
    best = [float(b.scale[np.argmin(b.loss + b.penalty)]) for b in found]
    return Finding(
        ("004-objective",),
        "λ balances the mean loss and the penalty",
        f"J(tθ) is least at t = {min(best):.2f} to {max(best):.2f}, on a grid of steps of 0.015",
        votes(abs(t - 1) < 0.015 for t in best),
    )


def three_lambdas(seeds: Seeds) -> list[Finding]:
    """The three pictures of Clasificación lineal."""
    fits = [generalization.series(0, seed).fits for seed in seeds]
    many = len(generalization.series(0, seeds[0]).data.y)

    def told(name: str, digits: int = 1) -> list[str]:
        return [plus_minus([getattr(row[k], name) for row in fits], digits) for k in range(3)]

    inside, width, support, turned = map(told, ("inside", "margin", "support", "turned"))
    wrong = sum(row[0].wrong for row in fits)
    return [
        Finding(
            ("004-lambda-0.1",),
            "λ = 0.1: every example is on the right side of the boundary",
            f"{wrong} wrong, {inside[0]} inside the margins, 1/‖θ‖ = {width[0]}",
            votes(row[0].wrong == 0 for row in fits),
        ),
        Finding(
            ("004-lambda-100",),
            "λ = 100: the margins let some examples in",
            f"{inside[1]} of {many} inside, 1/‖θ‖ = {width[1]}",
            votes(a.inside < b.inside < many for a, b, _ in fits),
        ),
        Finding(
            ("004-lambda-1000",),
            "λ = 1000: the farther the margins, the more points influence the solution",
            f"{inside[2]} of {many} inside, 1/‖θ‖ = {width[2]}; support vectors for the three λ: "
            f"{', '.join(support)}; degrees between θ and the line of the means: "
            f"{', '.join(turned)}",
            votes(a.support < b.support < c.support for a, b, c in fits),
        ),
    ]


def losses(seeds: Seeds) -> list[Finding]:
    """Training and test loss over c, and the choice of ĉ."""
    curves = [generalization.losses(seed) for seed in seeds]
    rises = [float(np.diff(curve.training).max()) for curve in curves]
    valley = [c.c[0] < c.best < c.c[-1] for c in curves]
    table = np.array([[c.test[0], c.test.min(), c.test[-1]] for c in curves])
    low, best, high = (plus_minus(column, 2) for column in table.T)
    ratios = np.array([c.chosen_loss / c.test.min() for c in curves])
    each = np.array([_test_losses(c) / c.test.min() for c in curves])
    alone = each.mean(axis=1)
    return [
        Finding(
            ("004-loss",),
            "the training loss falls with c; the test loss falls up to c* and then rises",
            f"largest rise of the training loss {max(0.0, *rises):.0e}; test loss {low} at the "
            f"smallest c, {best} at c*, {high} at the largest",
            votes(r < 1e-6 and v for r, v in zip(rises, valley, strict=True)),
        ),
        Finding(
            ("004-fitting",),
            "a validation part of 10–30% gives ĉ ≈ c*",
            f"test loss at ĉ {plus_minus(ratios, 3)} times that at c* with the mean of "
            f"{len(curves[0].each)} splits, {plus_minus(alone, 3)} times with a single split; "
            f"{int((each <= NEAR).sum())} of {each.size} single splits are within 5%",
            votes(ratios <= NEAR, IN_PART),
            "A seed agrees if the test loss at the ĉ of the mean is at most 5% above that at c*. "
            "The document splits once, which does nearly as well on average and may miss by more.",
        ),
    ]


def _test_losses(curve: generalization.Losses) -> FloatArray:
    """The test loss at the ĉ of each split alone."""
    return curve.test[np.searchsorted(curve.c, curve.each)]


def descents(seeds: Seeds) -> list[Finding]:
    """Gradient descent and stochastic descent on the hinge objective."""
    runs = [generalization.surface(seed) for seed in seeds]
    ends = np.array([_excess(run, run.descent[-1:]) for run in runs])[:, 0]
    shares = ends / np.array([_value(run) for run in runs])
    early, late = (
        np.array([_excess(run, run.stochastic[part]).mean() for run in runs])
        for part in (slice(51, 101), slice(951, None))
    )
    return [
        Finding(
            ("004-slope", "004-surface"),
            "a small constant rate reaches the minimum of a strongly convex function quickly",
            f"J − J* after 1000 steps of 0.5: {scientific(ends)}, which is {scientific(shares)} "
            "of J*",
            tuple(
                AGREES if share < 1e-8 else IN_PART if share < 0.01 else DIFFERS for share in shares
            ),
            "A seed agrees if less than 1e-8 of J* is left, and in part if less than 1% is. J is "
            "strongly convex, but the hinge has corners: with a constant rate the descent comes "
            "near the minimum quickly and then steps back and forth across a corner.",
        ),
        Finding(
            ("004-surface",),
            "with η = 1/(1+t) stochastic descent converges",
            f"mean J − J* over steps 51 to 100: {scientific(early)}, over 951 to 1000: "
            f"{scientific(late)}",
            votes(late < early),
        ),
    ]


def _excess(run: generalization.Surface, points: FloatArray) -> FloatArray:
    return generalization.hinge_objective(run.data, run.lam, points) - _value(run)


def _value(run: generalization.Surface) -> float:
    return float(generalization.hinge_objective(run.data, run.lam, run.best[None, :])[0])
