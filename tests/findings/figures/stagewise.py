"""Findings about LS-Boost, FS and R-FS: Rugeles Ospina, chapter 2."""

from __future__ import annotations

import numpy as np

from cotas.arrays import FloatArray
from cotas.experiments import stagewise
from cotas.experiments.samples import mean, plus_minus
from findings.figures.finding import AGREES, DIFFERS, IN_PART, Finding, Seeds, votes

# "Quite close" and "with very good precision": less than a hundredth of L(0) − L* is left.
CLOSE = 0.01


def ls_boost(seeds: Seeds) -> Finding:
    """Close to least squares in 50 iterations."""
    left = np.array([stagewise.ls_boost(seed).suboptimality[-1] for seed in seeds])
    return Finding(
        ("001-2.1",),
        "LS-Boost(0.3) comes quite close to the optimum in 50 iterations",
        f"{plus_minus(left, 3, '%')} of L(0) − L* left",
        votes(left < CLOSE),
    )


def forward(seeds: Seeds) -> Finding:
    """Far from least squares after 225 iterations."""
    left = np.array([stagewise.forward(seed).suboptimality[-1] for seed in seeds])
    needed = np.array([stagewise.steps_of_forward(seed) for seed in seeds])
    return Finding(
        ("001-2.2",),
        "FS₁ does much worse after 225",
        f"{plus_minus(left, 1, '%')} left; it needs {plus_minus(needed, 0)} iterations for what "
        "LS-Boost(0.3) reached in 50",
        votes((left > 10 * CLOSE) & (needed > 225)),
    )


def inside_the_ball(seeds: Seeds) -> Finding:
    """R-FS never leaves the ball."""
    found = [stagewise.regularized(seed).runs for seed in seeds]
    longest = np.array([max(float(run.lengths.max()) for run in runs) for runs in found])
    ends = np.array([[run.suboptimality[-1] for run in runs] for runs in found])
    return Finding(
        ("001-2.3",),
        "R-FS₁ with δ = 200 always has ‖β‖₁ < δ, and goes to the Lasso",
        f"largest ‖β‖₁ {longest.max():.2f}; {_three(ends)} left after 250, 500 and 1000",
        votes((longest < stagewise.DELTA) & (ends[:, 2] < CLOSE)),
    )


def out_of_the_ball(seeds: Seeds) -> Finding:
    """FS does, with more than 200 iterations."""
    runs = [stagewise.forward_and_lasso(seed, 400) for seed in seeds]
    exits = np.array([int(np.argmax(run.lengths > stagewise.DELTA)) for run in runs])
    near = max(float(run.suboptimality[200]) for run in runs)
    return Finding(
        ("001-2.4",),
        "FS₁ has ‖β‖₁ ≤ 200 for 200 iterations, and is not feasible with more",
        f"it leaves the ball at iteration {exits.min()} at the earliest, {exits.max()} at the "
        f"latest; after 200 at most {near:.0e} of what the Lasso gains is left",
        votes(exits > 200),
    )


def paths(seeds: Seeds) -> Finding:
    """The Lasso path in both dimensions."""
    found = [
        [make(seed) for make in (stagewise.whole_path, stagewise.path_in_100)] for seed in seeds
    ]
    knots = np.array([[len(path.delta) for path in row] for row in found])
    gap = max(path.gap for row in found for path in row)
    return Finding(
        ("001-2.5", "001-2.10"),
        "the Lasso path",
        f"{plus_minus(knots[:, 0])} and {plus_minus(knots[:, 1])} breakpoints, largest gap proved "
        f"{gap:.0e}",
    )


def dimension_100(seeds: Seeds) -> list[Finding]:
    """Figures 2.6 to 2.11."""
    kinds = (stagewise.slow, stagewise.medium, stagewise.fast)
    rates = np.array([[make(seed).suboptimality[-1] for make in kinds] for seed in seeds])
    stepped = [float(stagewise.forward_in_100(seed).suboptimality[-1]) for seed in seeds]
    found = [stagewise.regularized_in_100(seed).runs for seed in seeds]
    ends = np.array([[run.suboptimality[-1] for run in runs] for runs in found])
    return [
        Finding(
            ("001-2.6", "001-2.7", "001-2.8"),
            "LS-Boost(ε) for 100 iterations, ε = 0.01, 0.1 and 1",
            f"{_three(rates)} of L(0) − L* left",
        ),
        Finding(("001-2.9",), "FS₁ for 200 iterations", f"{plus_minus(stepped, 1, '%')} left"),
        Finding(
            ("001-2.11",),
            "R-FS₁ for 250, 500 and 1000 iterations, Lasso at δ = 200",
            f"{_three(ends)} left",
        ),
        precise(np.column_stack([rates, stepped, ends[:, 2]])),
    ]


def precise(left: FloatArray) -> Finding:
    """Whether the algorithms of Figures 2.6 to 2.11 are near their optimum; a row for each seed."""
    names = ("LS-Boost(0.01)", "LS-Boost(0.1)", "LS-Boost(1)", "FS₁", "R-FS₁")
    close = (left < CLOSE).sum(axis=1)
    shown = [plus_minus(column, 2, "%") for column in left.T]
    return Finding(
        ("001-2.6", "001-2.7", "001-2.8", "001-2.9", "001-2.11"),
        "the algorithms reach the optimum with very good precision",
        "left at the end: " + ", ".join(f"{a} {b}" for a, b in zip(names, shown, strict=True)),
        tuple(AGREES if n == len(names) else IN_PART if n else DIFFERS for n in close),
        "A seed agrees if all of them leave less than 1%, and in part if some do. Those that "
        "leave more need more iterations than the figures have: ‖βᵏ‖₁ ≤ kε for FS, and a step of "
        "LS-Boost(ε) goes the share ε of the way.",
    )


def _three(columns: FloatArray) -> str:
    """Three shares with as many digits as they need."""
    shown = [plus_minus(column, 1 if mean(column) > CLOSE else 3, "%") for column in columns.T]
    return f"{shown[0]}, {shown[1]} and {shown[2]}"
