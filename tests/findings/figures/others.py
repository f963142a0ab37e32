"""Findings about kernels and gradient descent: Fuentes-Pineda and Moreno Chávez."""

from __future__ import annotations

import numpy as np

from cotas.experiments import descent, kernel_machines
from cotas.experiments.samples import plus_minus, spaced
from findings.figures.finding import AGREES, DIFFERS, IN_PART, Finding, Seeds, scientific, votes


def lifted(seeds: Seeds) -> Finding:
    """Separable after a map to more features."""
    maps = [kernel_machines.lifted(seed) for seed in seeds]
    before, after = sum(m.separable for m in maps), sum(m.separable_lifted for m in maps)
    return Finding(
        ("002-intuition",),
        "in a space of more dimensions the classes can be separated linearly",
        f"of {len(maps)} sets of points {before} were separable before, and {after} after",
        votes(m.separable_lifted and not m.separable for m in maps),
    )


def three_kernels(seeds: Seeds) -> Finding:
    """Training errors of the three pictures."""
    kinds = (kernel_machines.linear, kernel_machines.radial, kernel_machines.polynomial)
    errors = np.array([[fit(seed).error for fit in kinds] for seed in seeds])
    return Finding(
        ("002-linear", "002-rbf", "002-polynomial"),
        "three pictures",
        "training error " + ", ".join(plus_minus(error, 1, "%") for error in errors.T),
    )


def houses(seeds: Seeds) -> Finding:
    """The line through the table."""
    found = descent.line()
    slope, offset = found.closed_form
    off = max(abs(a - b) for a, b in zip(found.by_descent, found.closed_form, strict=True))
    return Finding(
        ("003-houses",),
        "the same line by descent and in closed form",
        f"price = {slope:.3f}·area {offset:+.2f}; the two differ by {off:.0e}",
        votes([off < 1e-6]),
    )


def steps(seeds: Seeds) -> Finding:
    """What α does to J, and on which side of the minimum θ₁ is after each step."""
    found = descent.step_sizes()
    ends = [float(walk.suboptimality[-1] / walk.suboptimality[0]) for walk in found.walks]
    crossed = [descent.crossings(walk, found.best) for walk in found.walks]
    many = len(found.walks[0].suboptimality) - 1
    small, right, large, wild = ends
    return Finding(
        ("003-step",),
        "too large an α oscillates about the minimum, too small an α needs many steps",
        f"left of J − J* after {many} steps: {small:.0%} with 0.05/L, {right:.0e} with 0.5/L, "
        f"{large:.0%} with 1.9/L, {wild:.1f} times as much with 2.1/L; steps that led θ₁ across "
        f"the minimum: {crossed[0]}, {crossed[1]}, {crossed[2]}, {crossed[3]}",
        votes([right < large < small < 1 < wild and crossed == [0, 0, many, many]]),
    )


def normalized(seeds: Seeds) -> Finding:
    """Raw and normalized data."""
    data = descent.normalization()
    raw, scaled = data.iterations
    return Finding(
        ("003-normalization",),
        "data should be normalized, or α must be tiny and the iterations too many",
        f"{spaced(raw)} steps raw (condition {data.conditions[0]:.0f}), {scaled} normalized "
        f"(condition {data.conditions[1]:.0f}), to leave 10⁻⁴ of J − J*",
        votes([raw > 1000 * scaled]),
    )


def kinds_of_descent(seeds: Seeds) -> Finding:
    """Stochastic descent beside batches, which have no chance in them: a number, and no error."""
    walks = [descent.batches(seed).walks for seed in seeds]
    early = np.array(
        [[walk.suboptimality[2] / walk.suboptimality[0] for walk in row] for row in walks]
    )
    late = np.array(
        [[walk.suboptimality[-5:].mean() / walk.suboptimality[0] for walk in row] for row in walks]
    )
    fair = np.array([descent.soonest(seed) for seed in seeds])
    smooth = bool((np.diff(walks[0][0].suboptimality) < 0).all())
    sooner = (early[:, 1] < early[:, 0]) & (fair[:, 0] < fair[:, 1])
    wanders = (late[:, 1] > late[:, 0]) & smooth
    return Finding(
        ("003-stochastic",),
        "stochastic descent is good sooner, but convergence is not sure; batches go smoothly",
        f"of J − J* after 2 epochs: {scientific(early[:, 1])} stochastic, {early[0, 0]:.1e} batch, "
        f"both with the rate 0.15; over the last 5 of 40: {scientific(late[:, 1])} and "
        f"{late[0, 0]:.1e}; on all three columns, batch with the best rate for it, after 2 epochs: "
        f"{scientific(fair[:, 0])} and {fair[0, 1]:.1e}",
        tuple(
            (DIFFERS, IN_PART, AGREES)[int(a) + int(b)]
            for a, b in zip(sooner, wanders, strict=True)
        ),
        "A seed agrees if stochastic descent is ahead after 2 epochs, of batch descent with its "
        "best rate too, and behind at the end, and in part if one of the two is so. With the same "
        "rate for both a batch makes one step where stochastic descent makes 11.",
    )
