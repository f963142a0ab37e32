"""Findings about boosted classifiers: Rugeles Ospina, chapter 1."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.boosting.weak_learners import Tree
from cotas.experiments import boosting
from cotas.experiments.boosting import ALGORITHMS, FOREST, THEORY, Accuracies, stacked
from cotas.experiments.samples import mean, plus_minus, standard_error, two_gaussians
from findings.figures.finding import AGREES, DIFFERS, IN_PART, Finding, Seeds, votes

# Accuracies that differ by less count as the same: half a point.
SAME = 0.005
DIMENSIONS = (25, 50, 100, 200, 400)


def accuracies(compute: Callable[..., Accuracies], seeds: Iterable[int]) -> Accuracies:
    """Run a comparison for each seed."""
    return stacked([compute(seed, repeats=1) for seed in seeds])


def told(found: Accuracies) -> str:
    """All accuracies on new data."""
    short = {THEORY: "theory"}
    names = found.names
    return ", ".join(f"{short.get(n, n)} {plus_minus(found.of(n), 2, '%')}" for n in names)


def costs(seeds: Seeds) -> Finding:
    """How the two costs grow where the sign is wrong."""
    found = boosting.costs()
    unit = round(1 / (found.F[1] - found.F[0]))
    factor = float(found.exponential[1][0] / found.exponential[1][unit])
    step = float(found.log_likelihood[1][unit] - found.log_likelihood[1][0])
    return Finding(
        ("001-1.1",),
        "e^{−yF} is minimized and grows exponentially; L is maximized and falls linearly",
        f"from yF = −2 to −3 the first grows {factor:.3f} times, the second falls by {step:.3f}",
        votes([abs(factor - np.e) < 1e-9 and abs(step - 2) < 0.05]),
    )


def data(seeds: Seeds) -> Finding:
    """The data themselves."""
    clouds, gaussians = boosting.clouds(seeds[0]).data, boosting.gaussians(seeds[0]).data
    return Finding(
        ("001-1.2", "001-1.7"),
        "10 clouds, 5 for each class, 1000 points; N((1, 1), I) and N((3, 3), 2I)",
        f"{len(clouds.y)} and {len(gaussians.y)} points, {np.mean(clouds.y == 1):.0%} and "
        f"{np.mean(gaussians.y == 1):.0%} of class +1",
        votes([len(clouds.y) == 1000 and int(clouds.y.sum()) == 0]),
    )


def stages(seeds: Seeds) -> Finding:
    """AdaBoost after its first rounds."""
    shares = np.array([boosting.stages(seed).training for seed in seeds])
    return Finding(
        ("001-1.3",),
        "the predictions after 1, 5, 10 and 100 models",
        "right in training: " + ", ".join(plus_minus(share, 1, "%") for share in shares.T),
    )


def on_clouds(seeds: Seeds) -> list[Finding]:
    """Figures 1.4 to 1.6: the families, the best algorithms, and the Random Forest."""
    kinds = (boosting.with_regressions, boosting.with_stumps, boosting.with_trees)
    regressions, stumps, trees = (accuracies(compute, seeds) for compute in kinds)
    three = [found.of("LogitBoost") for found in (regressions, stumps, trees)]
    return [
        Finding(
            ("001-1.4", "001-1.5", "001-1.6"),
            "the family of weak learners matters",
            "LogitBoost on new data: {} with regressions, {} with trees of depth 1, {} with "
            "depth 3".format(*(plus_minus(one, 1, "%") for one in three)),
            votes(np.ptp(np.array(three), axis=0) > 2 * SAME),
            "A seed agrees if the best family is more than a point ahead of the worst. Where the "
            "clouds that are drawn lie nearly on two sides of a line, regressions do as well.",
        ),
        best_two("001-1.5", stumps),
        best_two("001-1.6", trees),
        beside_forest(
            "001-1.5",
            stumps,
            " A sum of functions of one feature each cannot tell apart clouds that lie like the "
            "fields of a chessboard, and whether they do is drawn at random. How far apart the "
            "clouds lie is not stated in the document, and neither is whether its accuracies are "
            "of training or of new data.",
        ),
        beside_forest("001-1.6", trees, ""),
    ]


def best_two(figure: str, found: Accuracies) -> Finding:
    """Whether LogitBoost and discrete AdaBoost are the best two of the four."""
    first = ("LogitBoost", "AdaBoost")
    four = np.array([found.of(name) for name in ALGORITHMS])
    named = np.array([name in first for name in ALGORITHMS])
    rival = max(four[~named], key=mean)
    ahead = {name: found.of(name) - rival for name in ALGORITHMS if name in first}
    clearly = [name for name, by in ahead.items() if mean(by) > 2 * standard_error(by)]
    points = ", ".join(f"{name} {plus_minus(100 * by, 2)}" for name, by in ahead.items())
    order = np.argsort(-four, axis=0, kind="stable")[:2]
    verdicts = (DIFFERS, IN_PART, AGREES)
    listed = ", ".join(f"{name} {plus_minus(found.of(name), 2, '%')}" for name in ALGORITHMS)
    return Finding(
        (figure,),
        "LogitBoost and discrete AdaBoost do best",
        f"{listed}; points above the better of the other two, seed by seed: {points}",
        tuple(verdicts[int(named[column].sum())] for column in order.T),
        "Which two of the four come first changes with the clouds that are drawn. Ahead by more "
        f"than two standard errors: {', '.join(clearly) or 'none'}.",
    )


def beside_forest(figure: str, found: Accuracies, remark: str) -> Finding:
    """How many of the four are at or above the Random Forest, within half a point."""
    forest = found.of(FOREST)
    behind = {name: found.of(name) - forest for name in ALGORITHMS}
    level = (np.array(list(behind.values())) >= -SAME).sum(axis=0)
    clearly = [name for name, by in behind.items() if mean(by) < -2 * standard_error(by)]
    lost = f" Behind by more than two standard errors: {', '.join(clearly) or 'none'}."
    listed = ", ".join(f"{name} {plus_minus(100 * by, 2)}" for name, by in behind.items())
    return Finding(
        (figure,),
        "most are as good as a Random Forest of 100 trees, or better",
        f"Random Forest {plus_minus(forest, 2, '%')}; points above it, seed by seed: {listed}",
        tuple(AGREES if many >= 3 else IN_PART if many else DIFFERS for many in level),
        "A seed agrees if three of the four are above the forest or within half a point of it, and "
        "in part if one or two are." + lost + remark,
    )


def forest_on_gaussians(seeds: Seeds) -> Finding:
    """What the document does not show: the Random Forest on the data of Figure 1.7."""
    found = stacked(
        [boosting.compare(two_gaussians(seed), "stump", 100, seed=seed) for seed in seeds]
    )
    return Finding(("001-1.7",), "no Random Forest here; beside stumps it gives", told(found))


def theory(seeds: Seeds) -> Finding:
    """The classifier of Lemma 1.1.3."""
    found = accuracies(boosting.against_theory, seeds)
    ahead = (found.new[:, -1:] >= found.new[:, :-1]).all(axis=1)
    beaten = (found.training[:, :-1] > found.training[:, -1:]).any(axis=1)
    return Finding(
        ("001-1.8",),
        "some algorithms beat the theory in training; on new data the theory is best",
        f"{told(found)}; in {beaten.sum()} of {len(seeds)} seeds one was better in training, in "
        f"{ahead.sum()} none was on new data",
        votes(beaten & ahead, IN_PART),
    )


def in_100_dimensions(seeds: Seeds) -> list[Finding]:
    """Figures 1.9 and 1.10."""
    kinds = {"001-1.9": boosting.clouds_in_100, "001-1.10": boosting.gaussians_in_100}
    rows = []
    for figure, compute in kinds.items():
        found = accuracies(compute, seeds)
        alike = np.ptp(found.new, axis=1) <= 2 * SAME
        says = "similar results in dimension 100"
        rows.append(
            Finding((figure,), says, told(found), votes(alike, IN_PART), _first_trees(found))
        )
    return rows


def _first_trees(found: Accuracies) -> str:
    """In how many seeds the four algorithms cannot be told apart."""
    four = [found.names.index(name) for name in ALGORITHMS]
    same = (np.ptp(found.new[:, four], axis=1) == 0) & (found.training[:, four] == 1).all(axis=1)
    return (
        f"In {same.sum()} of {len(same)} seeds the four have the same accuracy on new data and no "
        "mistake in training: their first tree makes none, and the others change nothing."
    )


def seconds_by_dimension(
    dimensions: tuple[int, ...] = DIMENSIONS, n: int = 1000, n_estimators: int = 30
) -> dict[str, FloatArray]:
    """Processor seconds of each algorithm with trees of depth 3; the best of three runs.

    The labels are drawn at random, so that no tree is without mistakes and no run ends early.
    """
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, -1, 1)
    tables = [rng.normal(size=(n, d)) for d in dimensions]
    found = {}
    for name, algorithm in ALGORITHMS.items():
        model = algorithm(Tree(depth=3), n_estimators=n_estimators, n_jobs=1, certify=False)
        model.fit(tables[0], y)  # compiles, if that was not done before
        found[name] = np.array([min(_seconds(model, X, y) for _ in range(3)) for X in tables])
    return found


def _seconds(model: Any, X: FloatArray, y: Any) -> float:
    began = time.process_time()
    model.fit(X, y)
    return time.process_time() - began
