"""Rugeles Ospina, chapter 1: the algorithms of boosting beside each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from cotas.arrays import FloatArray
from cotas.boosting.adaboost import AdaBoost, RealAdaBoost
from cotas.boosting.gentleboost import GentleBoost
from cotas.boosting.logitboost import LogitBoost
from cotas.boosting.weak_learners import Tree
from cotas.experiments.samples import (
    LabelledSample,
    Split,
    half_log_odds,
    ten_clouds,
    two_gaussians,
)

STAGES = (1, 5, 10, 100)
# So many seeds are behind each point of a comparison.
REPEATS = 10
FOREST, THEORY = "Random Forest", "Lemma 1.1.3"
ALGORITHMS: dict[str, Any] = {
    "AdaBoost": AdaBoost,
    "Real AdaBoost": RealAdaBoost,
    "LogitBoost": LogitBoost,
    "GentleBoost": GentleBoost,
}


@dataclass(frozen=True)
class Costs:
    """Figure 1.1: e^{−yF} and the log-likelihood, for y = 1 and y = −1, at each F."""

    F: FloatArray
    exponential: dict[int, FloatArray]
    log_likelihood: dict[int, FloatArray]


@dataclass(frozen=True)
class Cloud:
    """Labelled points, and the classifier of Lemma 1.1.3 where it is known."""

    data: LabelledSample
    theory: Any = None


@dataclass(frozen=True)
class Stages:
    """AdaBoost after its first rounds, with the accuracies there."""

    data: LabelledSample
    rounds: tuple[int, ...]
    training: FloatArray
    new: FloatArray
    models: tuple[Any, ...]


@dataclass(frozen=True)
class Comparison:
    """Accuracies of several classifiers on the training data and on new data, a row for each seed.

    The last of `names` is what the document compares with. `bounds` are what the certificates
    prove about the training error of the boosted ones.
    """

    names: tuple[str, ...]
    training: FloatArray
    new: FloatArray
    bounds: FloatArray

    def of(self, name: str) -> FloatArray:
        """The accuracies of one on new data, a number for each seed."""
        return np.asarray(self.new[:, self.names.index(name)])

    def mean(self, name: str) -> float:
        """On new data, over the seeds."""
        return float(self.of(name).mean())


def costs(seed: int = 0) -> Costs:
    """Both costs for F between −3 and 3 (chosen). `seed` changes nothing.

    The log-likelihood y*·ln p + (1 − y*)·ln(1 − p) with p = 1/(1 + e^{−2F}) is −ln(1 + e^{−2yF}).
    """
    F = np.linspace(-3, 3, 301)
    return Costs(
        F,
        {y: np.exp(-y * F) for y in (1, -1)},
        {y: -np.logaddexp(0.0, -2.0 * y * F) for y in (1, -1)},
    )


def clouds(seed: int = 0, n: int = 1000) -> Cloud:
    """Figure 1.2: the ten clouds."""
    return Cloud(ten_clouds(seed, n, n_new=0).training)


def gaussians(seed: int = 0, n: int = 1000) -> Cloud:
    """Figure 1.7: the two normal distributions, and F of Lemma 1.1.3."""
    return Cloud(two_gaussians(seed, n, n_new=0).training, half_log_odds)


def stages(seed: int = 0, n: int = 1000) -> Stages:
    """Figure 1.3: discrete AdaBoost with stumps on the ten clouds, after 1, 5, 10, 100 rounds."""
    data = ten_clouds(seed, n)
    model = AdaBoost("stump", n_estimators=max(STAGES), n_jobs=1).fit(*data.training)
    models = tuple(model[:k] for k in STAGES)
    training = np.array([m.score(*data.training) for m in models])
    new = np.array([m.score(*data.new) for m in models])
    return Stages(data.training, STAGES, training, new, models)


def _compared(
    draw: Callable[..., Split],
    weak_learner: Any,
    regressor: Any = None,
    theory: bool = False,
    **sizes: int,
) -> Callable[..., Comparison]:
    """A function of the seed that compares the algorithms on data that are drawn so."""

    def compute(
        seed: int = 0, n: int = 1000, n_estimators: int = 100, repeats: int = REPEATS, **more: int
    ) -> Comparison:
        def one(k: int) -> Comparison:
            data = draw(k, n, **{**sizes, **more})
            return compare(data, weak_learner, n_estimators, regressor, theory, seed=k)

        return repeated(one, seed, repeats)

    return compute


# Linear regressions for LogitBoost and GentleBoost, stumps for the others; trees of depth 1 for
# all, and of depth 3; stumps on the two normal distributions, beside the theoretical classifier.
with_regressions = _compared(ten_clouds, "stump", regressor="linear")
with_stumps = _compared(ten_clouds, "stump")
with_trees = _compared(ten_clouds, Tree(depth=3))
against_theory = _compared(two_gaussians, "stump", theory=True, n_new=20_000)
# Figures 1.9 and 1.10 carry the same caption. As the section has two kinds of data, the first is
# taken for the ten clouds, with the Random Forest, and the second for the normal distributions.
clouds_in_100 = _compared(ten_clouds, Tree(depth=3), dimension=100)
gaussians_in_100 = _compared(two_gaussians, Tree(depth=3), theory=True, dimension=100)


def repeated(one: Callable[[int], Comparison], seed: int, repeats: int) -> Comparison:
    """The comparison for `seed` and those after it: a single one shows nothing."""
    return stacked([one(seed + k) for k in range(repeats)])


def stacked(runs: Sequence[Comparison]) -> Comparison:
    """Comparisons of the same classifiers as one."""
    return Comparison(
        runs[0].names,
        np.vstack([run.training for run in runs]),
        np.vstack([run.new for run in runs]),
        np.vstack([run.bounds for run in runs]),
    )


def compare(
    data: Split,
    weak_learner: Any,
    n_estimators: int,
    regressor: Any = None,
    theory: bool = False,
    seed: int = 0,
) -> Comparison:
    """Fit the four algorithms and the reference: a Random Forest of 100 trees, or the theory.

    The number of rounds of the comparisons is not stated; 100 is that of Figure 1.3. `regressor`
    is the weak learner of the two algorithms that fit regressions, if it is another.
    """
    training, new, bounds = [], [], []
    for name, algorithm in ALGORITHMS.items():
        regresses = name in ("LogitBoost", "GentleBoost")
        weak = regressor if regressor is not None and regresses else weak_learner
        model = algorithm(weak, n_estimators=n_estimators, n_jobs=1).fit(*data.training)
        training.append(model.score(*data.training))
        new.append(model.score(*data.new))
        bounds.append(model.certificate_.upper)
    reference: Any = _Theory() if theory else RandomForestClassifier(100, random_state=seed)
    reference.fit(*data.training)
    training.append(reference.score(*data.training))
    new.append(reference.score(*data.new))
    names = (*ALGORITHMS, THEORY if theory else FOREST)
    return Comparison(names, np.array([training]), np.array([new]), np.array([bounds]))


class _Theory:
    """The sign of the F of Lemma 1.1.3, with the face of a classifier."""

    def fit(self, X: FloatArray, y: Any) -> None:
        """There is nothing to learn: the distributions are known."""

    def score(self, X: FloatArray, y: Any) -> float:
        return float(np.mean(np.where(half_log_odds(X) > 0, 1, -1) == y))
