"""Findings about boosted classifiers: document 001, chapter 1."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.boosting.weak_learners import Tree
from cotas.experiments import boosting
from cotas.experiments.boosting import ALGORITHMS, FOREST, THEORY, Comparison
from cotas.experiments.findings.finding import (
    AGREES,
    DIFFERS,
    IN_PART,
    NO_CLAIM,
    Finding,
    Seeds,
    means,
    verdict,
)
from cotas.experiments.samples import two_gaussians

# Accuracies that differ by less count as the same: half a point.
SAME = 0.005
DIMENSIONS = (25, 50, 100, 200, 400)


@dataclass(frozen=True)
class Accuracies:
    """Accuracies of several classifiers, a row for each seed."""

    names: tuple[str, ...]
    training: FloatArray
    new: FloatArray

    def mean(self, name: str) -> float:
        """On new data, over the seeds."""
        return float(self.new[:, self.names.index(name)].mean())

    def __str__(self) -> str:
        short = {THEORY: "theory"}
        return ", ".join(f"{short.get(name, name)} {self.mean(name):.1%}" for name in self.names)


def accuracies(compute: Callable[..., Comparison], seeds: Iterable[int]) -> Accuracies:
    """Run a comparison for each seed."""
    runs = [compute(seed) for seed in seeds]
    return Accuracies(
        runs[0].names,
        np.array([run.training for run in runs]),
        np.array([run.new for run in runs]),
    )


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
        verdict(abs(factor - np.e) < 1e-9 and abs(step - 2) < 0.05),
    )


def data(seeds: Seeds) -> Finding:
    """The data themselves."""
    clouds, gaussians = boosting.clouds(seeds[0]).data, boosting.gaussians(seeds[0]).data
    return Finding(
        ("001-1.2", "001-1.7"),
        "10 clouds, 5 for each class, 1000 points; N((1, 1), I) and N((3, 3), 2I)",
        f"{len(clouds.y)} and {len(gaussians.y)} points, {np.mean(clouds.y == 1):.0%} and "
        f"{np.mean(gaussians.y == 1):.0%} of class +1",
        verdict(len(clouds.y) == 1000 and int(clouds.y.sum()) == 0),
    )


def stages(seeds: Seeds) -> Finding:
    """AdaBoost after its first rounds."""
    shares = means([boosting.stages(seed).training for seed in seeds])
    return Finding(
        ("001-1.3",),
        "the predictions after 1, 5, 10 and 100 models",
        "right in training: " + ", ".join(f"{share:.1%}" for share in shares),
        NO_CLAIM,
    )


def on_clouds(seeds: Seeds) -> list[Finding]:
    """Figures 1.4 to 1.6: the families, the best algorithms, and the Random Forest."""
    kinds = (boosting.with_regressions, boosting.with_stumps, boosting.with_trees)
    regressions, stumps, trees = (accuracies(compute, seeds) for compute in kinds)
    three = [found.mean("LogitBoost") for found in (regressions, stumps, trees)]
    return [
        Finding(
            ("001-1.4", "001-1.5", "001-1.6"),
            "the family of weak learners matters",
            "LogitBoost on new data: {:.1%} with regressions, {:.1%} with trees of depth 1, {:.1%} "
            "with depth 3".format(*three),
            verdict(three[0] < three[1] < three[2]),
        ),
        best_two("001-1.5", stumps),
        best_two("001-1.6", trees),
        beside_forest("001-1.5", stumps),
        beside_forest("001-1.6", trees),
    ]


def best_two(figure: str, found: Accuracies) -> Finding:
    """Whether LogitBoost and discrete AdaBoost are the best two of the four, on the mean."""
    order = sorted(ALGORITHMS, key=found.mean, reverse=True)
    hits = len({"LogitBoost", "AdaBoost"} & set(order[:2]))
    return Finding(
        (figure,),
        "LogitBoost and discrete AdaBoost do best",
        ", ".join(f"{name} {found.mean(name):.2%}" for name in order),
        (DIFFERS, IN_PART, AGREES)[hits],
    )


def beside_forest(figure: str, found: Accuracies) -> Finding:
    """How many of the four are at or above the Random Forest, within half a point."""
    forest = found.mean(FOREST)
    level = [name for name in ALGORITHMS if found.mean(name) >= forest - SAME]
    return Finding(
        (figure,),
        "most are as good as a Random Forest of 100 trees, or better",
        f"Random Forest {forest:.2%}; {len(level)} of 4 above it or within half a point",
        AGREES if len(level) >= 3 else (IN_PART if level else DIFFERS),
    )


def forest_on_gaussians(seeds: Seeds) -> Finding:
    """What the document does not show: the Random Forest on the data of Figure 1.7."""
    found = accuracies(
        lambda seed: boosting.compare(two_gaussians(seed), "stump", 100, seed=seed), seeds
    )
    return Finding(
        ("001-1.7",), "no Random Forest here; beside stumps it gives", str(found), NO_CLAIM
    )


def theory(seeds: Seeds) -> Finding:
    """The classifier of Lemma 1.1.3."""
    found = accuracies(boosting.against_theory, seeds)
    ahead = float((found.new[:, -1:] >= found.new[:, :-1]).all(axis=1).mean())
    beaten = float((found.training[:, :-1] > found.training[:, -1:]).any(axis=1).mean())
    return Finding(
        ("001-1.8",),
        "some algorithms beat the theory in training; on new data the theory is best",
        f"{found}; in {beaten:.0%} of the seeds one was better in training, in {ahead:.0%} none "
        "was on new data",
        verdict(beaten > 0.5 and ahead == 1, IN_PART),
    )


def in_100_dimensions(seeds: Seeds) -> list[Finding]:
    """Figures 1.9 and 1.10."""
    kinds = {"001-1.9": boosting.clouds_in_100, "001-1.10": boosting.gaussians_in_100}
    rows = []
    for figure, compute in kinds.items():
        found = accuracies(compute, seeds)
        alike = float(np.ptp(found.new.mean(axis=0))) <= 2 * SAME
        says = "similar results in dimension 100"
        rows.append(Finding((figure,), says, str(found), verdict(alike, IN_PART)))
    return rows


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
