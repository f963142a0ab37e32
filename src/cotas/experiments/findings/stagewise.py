"""Findings about LS-Boost, FS and R-FS: document 001, chapter 2."""

from __future__ import annotations

import numpy as np

from cotas.experiments import stagewise
from cotas.experiments.findings.finding import NO_CLAIM, Finding, Seeds, mean, means, verdict


def ls_boost(seeds: Seeds) -> Finding:
    """Close to least squares in 50 iterations."""
    left = [float(stagewise.ls_boost(seed).excess[-1]) for seed in seeds]
    return Finding(
        ("001-2.1",),
        "LS-Boost(0.3) comes quite close to the optimum in 50 iterations",
        f"{max(left):.2%} of L(0) − L* left, at most",
        verdict(max(left) < 0.01),
    )


def forward(seeds: Seeds) -> Finding:
    """Far from least squares after 225 iterations."""
    left = [float(stagewise.forward(seed).excess[-1]) for seed in seeds]
    needed = [stagewise.steps_of_forward(seed) for seed in seeds]
    return Finding(
        ("001-2.2",),
        "FS₁ does much worse after 225",
        f"{min(left):.0%} left, at least; it needs {min(needed)} to {max(needed)} iterations for "
        "what LS-Boost(0.3) reached in 50",
        verdict(min(left) > 0.1 and min(needed) > 225),
    )


def inside_the_ball(seeds: Seeds) -> Finding:
    """R-FS never leaves the ball."""
    found = [stagewise.regularized(seed).runs for seed in seeds]
    longest = max(float(run.lengths.max()) for runs in found for run in runs)
    ends = means([[run.excess[-1] for run in runs] for runs in found])
    return Finding(
        ("001-2.3",),
        "R-FS₁ with δ = 200 always has ‖β‖₁ < δ, and goes to the Lasso",
        f"largest ‖β‖₁ {longest:.2f}; {ends[0]:.0%}, {ends[1]:.1%} and {ends[2]:.2%} left after "
        "250, 500 and 1000",
        verdict(longest <= stagewise.DELTA and ends[2] < 0.01),
    )


def out_of_the_ball(seeds: Seeds) -> Finding:
    """FS does, with more than 200 iterations."""
    runs = [stagewise.forward_and_lasso(seed, 400) for seed in seeds]
    exits = [int(np.argmax(run.lengths > stagewise.DELTA)) for run in runs]
    near = max(float(run.excess[200]) for run in runs)
    return Finding(
        ("001-2.4",),
        "FS₁ has ‖β‖₁ ≤ 200 for 200 iterations, and is not feasible with more",
        f"it leaves the ball at iteration {min(exits)} at the earliest, {max(exits)} at the "
        f"latest; after 200 at most {near:.0e} of what the Lasso gains is left",
        verdict(min(exits) == 201),
    )


def paths(seeds: Seeds) -> Finding:
    """The Lasso path in both dimensions."""
    found = [
        [make(seed) for make in (stagewise.whole_path, stagewise.path_in_100)] for seed in seeds
    ]
    knots = means([[len(path.delta) for path in row] for row in found])
    gap = max(path.gap for row in found for path in row)
    return Finding(
        ("001-2.5", "001-2.10"),
        "the Lasso path",
        f"{knots[0]:.0f} and {knots[1]:.0f} breakpoints on average, largest gap proved {gap:.0e}",
        NO_CLAIM,
    )


def dimension_100(seeds: Seeds) -> list[Finding]:
    """Figures 2.6 to 2.11."""
    kinds = (stagewise.slow, stagewise.medium, stagewise.fast)
    rates = means([[make(seed).excess[-1] for make in kinds] for seed in seeds])
    stepped = mean(float(stagewise.forward_in_100(seed).excess[-1]) for seed in seeds)
    found = [stagewise.regularized_in_100(seed).runs for seed in seeds]
    ends = means([[run.excess[-1] for run in runs] for runs in found])
    return [
        Finding(
            ("001-2.6", "001-2.7", "001-2.8"),
            "LS-Boost(ε) for 100 iterations, ε = 0.01, 0.1 and 1",
            "{:.0%}, {:.0%} and {:.2%} of L(0) − L* left".format(*rates),
            NO_CLAIM,
        ),
        Finding(("001-2.9",), "FS₁ for 200 iterations", f"{stepped:.0%} left", NO_CLAIM),
        Finding(
            ("001-2.11",),
            "the algorithms reach the optimum with very good precision (R-FS₁, Lasso at δ = 200)",
            "{:.0%}, {:.1%} and {:.2%} left after 250, 500 and 1000".format(*ends),
            verdict(float(ends[2]) < 0.01),
        ),
    ]
