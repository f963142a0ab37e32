"""Findings about algorithms and theorems that the documents state without a picture."""

from __future__ import annotations

import numpy as np

from cotas.experiments import promises
from cotas.experiments.samples import mean, plus_minus
from findings.figures.finding import IN_PART, Finding, Seeds, scientific, votes


def mistakes(seeds: Seeds) -> Finding:
    """Theorem 3.1."""
    runs = [promises.mistakes(seed, repeats=1) for seed in seeds]
    shares = np.array([(run.made / run.allowed)[0] for run in runs])
    listed = ", ".join(plus_minus(share, 0, "%") for share in shares.T)
    gammas = ", ".join(f"{gamma:g}" for gamma in promises.MARGINS)
    return Finding(
        ("000-perceptron",),
        "the perceptron makes at most (R/γ)² mistakes (Theorem 3.1)",
        f"{listed} of what is allowed, for γ = {gammas}; {shares.max():.0%} at most",
        votes((shares <= 1).all(axis=1)),
    )


def averages(seeds: Seeds) -> Finding:
    """Algorithms 3 and 4."""
    runs = [promises.averages(seed, repeats=1) for seed in seeds]
    pairs = (("Averaged perceptron", "Perceptron"), ("Averaged PA", "PA"))
    gains = np.array([[run.of(a)[0] - run.of(b)[0] for a, b in pairs] for run in runs])
    first, second = (plus_minus(100 * gain, 2) for gain in gains.T)
    return Finding(
        ("000-averaged",),
        "where the classes overlap the mean of all θ is a reasonable classifier",
        f"points more on new data than the last θ, seed by seed: {first} for the perceptron, "
        f"{second} for the passive-aggressive algorithm",
        votes((gains > 0).all(axis=1), IN_PART),
        "The last θ is a matter of luck: it may be a good one. A seed agrees if the mean is ahead "
        "of it for both algorithms.",
    )


def subgradient(seeds: Seeds) -> Finding:
    """Algorithm 5."""
    runs = [list(promises.subgradient(seed).suboptimality.values()) for seed in seeds]
    ends = np.array([[excess[-1] for excess in run] for run in runs])
    right, printed, averaged = (f"{mean(end):.0e}" for end in ends.T)
    return Finding(
        ("000-pegasos",),
        "PEGASOS is an approximation of the support vector machine that is simple and scales",
        f"(J − J*)/J* after {promises.EPOCHS[-1]} epochs: {right} with η = 1/(λt), {averaged} for "
        f"the mean of θ, {printed} with η = 1/t as Algorithm 5 prints it",
        votes(ends[:, 0] < 0.01),
    )


def ridge(seeds: Seeds) -> Finding:
    """Section 4.2 and Algorithm 7."""
    runs = [promises.ridge(seed, repeats=1) for seed in seeds]
    new, training = (
        np.array([getattr(run, name)[0] for run in runs]) for name in ("new", "training")
    )
    off = max(float(run.stochastic[0].max()) for run in runs)
    best = new.argmin(axis=1)
    low, least, high = (
        plus_minus(column, 2) for column in (new[:, 0], new.min(axis=1), new[:, -1])
    )
    rises = (np.diff(training, axis=1) > -1e-9).all(axis=1)
    return Finding(
        ("000-ridge",),
        "the training error grows with λ; some λ helps on new data, and too much does harm",
        f"test error {low} at λ = 0.001, {least} at the best λ, {high} at λ = 10; θ of Algorithm 7 "
        f"(stochastic descent) is within {off:.1%} of the closed form",
        votes(rises & (best > 0) & (best < new.shape[1] - 1)),
    )


def surrogate(seeds: Seeds) -> Finding:
    """Theorem 1.1.5."""
    runs = [promises.surrogate(seed) for seed in seeds]
    allowed, measured = (
        plus_minus([getattr(r, n)[-1] for r in runs], 3) for n in ("allowed", "measured")
    )
    return Finding(
        ("001-adaboost",),
        "AdaBoost minimizes J(F) in each iteration (Theorem 1.1.5), which is above its error",
        f"after 100 rounds J(F) = {allowed}, training error {measured}",
        votes((r.measured <= r.allowed).all() and (np.diff(r.allowed) <= 0).all() for r in runs),
    )


def abstract(seeds: Seeds) -> Finding:
    """Algorithms 5 to 7."""
    runs = [promises.abstract(seed).losses for seed in seeds]
    off = max(float(np.abs(run["AnyBoost"] - run["AdaBoost"]).max()) for run in runs)
    convex = plus_minus([run["convex AnyBoost"][-1] for run in runs], 3)
    free = plus_minus([run["AnyBoost"][-1] for run in runs], 3)
    return Finding(
        ("001-anyboost",),
        "with the exponential cost AnyBoost takes the steps of AdaBoost; its convex form is bound "
        "to the hull",
        f"H(F) of the two differs by {off:.0e} at most; it ends at {free}, in the hull at {convex}",
        votes(
            float(np.abs(run["AnyBoost"] - run["AdaBoost"]).max()) < 1e-9
            and run["convex AnyBoost"][-1] > run["AnyBoost"][-1]
            for run in runs
        ),
    )


def bounds(seeds: Seeds) -> list[Finding]:
    """Theorems 2.1.2, 2.2.1 and 2.2.3."""
    kinds = (
        ("001-ls-boost", "2.1.2", promises.ls_boost_bound, "L(βᵏ) − L* of LS-Boost(0.3)"),
        ("001-fs", "2.2.1", promises.forward_bound, "the smallest ‖Xᵀr‖∞ of FS₁"),
        ("001-r-fs", "2.2.3", promises.regularized_bound, "L(βᵏ) − L* of R-FS₁ with δ = 200"),
    )
    rows = []
    for figure, theorem, compute, what in kinds:
        runs = [compute(seed) for seed in seeds]
        shares = np.array([(run.measured / run.allowed).max() for run in runs])
        rows.append(
            Finding(
                (figure,),
                f"{what} is below the bound of Theorem {theorem}",
                f"at most {plus_minus(shares, 1, '%')} of it at any of {len(runs[0].allowed)} "
                "iterations",
                votes(shares <= 1),
            )
        )
    return rows


def kernelized(seeds: Seeds) -> Finding:
    """SMO and kernelized PEGASOS."""
    runs = [promises.kernelized(seed).suboptimality for seed in seeds]
    last = promises.EPOCHS[-1]
    online = plus_minus([run["PEGASOS"][-1] for run in runs], 1, "%")
    pairs = scientific([run["SMO"][promises.EPOCHS.index(20)] for run in runs])
    return Finding(
        ("002-smo",),
        "two algorithms for the same problem",
        f"(J − J*)/J*: {pairs} after 20 passes of SMO, {online} after {last} epochs of PEGASOS",
    )
