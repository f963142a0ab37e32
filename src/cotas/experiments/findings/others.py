"""Findings about kernels and gradient descent: documents 002 and 003."""

from __future__ import annotations

from cotas.experiments import descent, kernel_machines
from cotas.experiments.findings.finding import NO_CLAIM, Finding, Seeds, means, spaced, verdict


def lifted(seeds: Seeds) -> Finding:
    """Separable after a map to more features."""
    maps = [kernel_machines.lifted(seed) for seed in seeds]
    before, after = sum(m.separable for m in maps), sum(m.separable_lifted for m in maps)
    return Finding(
        ("002-intuition",),
        "in a space of more dimensions the classes can be separated linearly",
        f"of {len(maps)} sets of points {before} were separable before, and {after} after",
        verdict(before == 0 and after == len(maps)),
    )


def three_kernels(seeds: Seeds) -> Finding:
    """Training errors of the three pictures."""
    kinds = (kernel_machines.linear, kernel_machines.radial, kernel_machines.polynomial)
    errors = means([[fit(seed).error for fit in kinds] for seed in seeds])
    return Finding(
        ("002-linear", "002-rbf", "002-polynomial"),
        "three pictures",
        "training error {:.1%}, {:.1%}, {:.1%}".format(*errors),
        NO_CLAIM,
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
        verdict(off < 1e-6),
    )


def steps(seeds: Seeds) -> Finding:
    """What α does."""
    small, right, large, wild = (
        walk.excess[60] / walk.excess[0] for walk in descent.step_sizes().walks
    )
    return Finding(
        ("003-step",),
        "too large an α oscillates, too small an α needs many steps",
        f"of J − J* after 60 steps: {small:.0%} with 0.02/L, {right:.0e} with 1/L, {large:.0e} "
        f"with 1.95/L; with 2.03/L it has grown {wild:.0f} times",
        verdict(right < large < small < 1 < wild),
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
        verdict(raw > 1000 * scaled),
    )


def kinds_of_descent(seeds: Seeds) -> Finding:
    """Stochastic descent beside batches."""
    walks = [descent.batches(seed).walks for seed in seeds]
    early = means([[walk.excess[2] / walk.excess[0] for walk in row] for row in walks])
    late = means([[walk.excess[-1] / walk.excess[0] for walk in row] for row in walks])
    return Finding(
        ("003-stochastic",),
        "stochastic descent is good sooner, but convergence is not sure; batches go smoothly",
        f"of J − J* after 2 epochs: {early[1]:.0e} stochastic, {early[0]:.0e} batch; after 40: "
        f"{late[1]:.0e} and {late[0]:.0e}",
        verdict(early[1] < early[0] and late[1] > late[0]),
    )
