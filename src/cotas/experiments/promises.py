"""Algorithms and theorems that the documents state without a picture."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cotas.arrays import FloatArray, IntArray
from cotas.boosting.adaboost import AdaBoost
from cotas.boosting.anyboost import AnyBoost, ConvexAnyBoost
from cotas.experiments.boosting import REPEATS, Comparison, repeated
from cotas.experiments.generalization import hinge_objective
from cotas.experiments.kernel_machines import LAM
from cotas.experiments.samples import (
    LabelledSample,
    noisy_line,
    overlapping_groups,
    two_gaussians,
    two_moons,
    with_margin,
)
from cotas.experiments.stagewise import DELTA, data_of
from cotas.kernel.pegasos import KernelPegasos
from cotas.kernel.svm import KernelSVM
from cotas.kernels import RBF
from cotas.linear.passive_aggressive import PassiveAggressive
from cotas.linear.pegasos import Pegasos
from cotas.linear.perceptron import AveragedPerceptron, Perceptron
from cotas.linear.svm import LinearSVM
from cotas.regression.ls_boost import LSBoost
from cotas.regression.ridge import Ridge
from cotas.regression.stagewise import ForwardStagewise, RegularizedForwardStagewise

MARGINS = (0.32, 0.16, 0.08, 0.04, 0.02)
EPOCHS = (1, 2, 5, 10, 20, 50, 100, 200)
STEPS = {"1/(lam*t)": "η = 1/(λt)", "1/t": "η = 1/t"}


@dataclass(frozen=True)
class Mistakes:
    """Mistakes of the perceptron and what Theorem 3.1 allows: a row a seed, a column a margin."""

    made: IntArray
    allowed: FloatArray


@dataclass(frozen=True)
class Descents:
    """J minus its minimum, as a share of it, after some epochs, for several ways to descend."""

    epochs: FloatArray
    excess: dict[str, FloatArray]


@dataclass(frozen=True)
class Risks:
    """Mean squared errors of ridge regression for each λ, a row for each seed.

    `stochastic` is how far the coefficients of stochastic descent (Algorithm 7) are from those of
    the closed form, as a share of their length.
    """

    lams: FloatArray
    training: FloatArray
    new: FloatArray
    stochastic: FloatArray


@dataclass(frozen=True)
class MeasuredBound:
    """What a theorem allows and what was measured at each iteration, for one of its items."""

    name: str
    allowed: FloatArray
    measured: FloatArray


@dataclass(frozen=True)
class RoundCosts:
    """H(F) after each round of boosting, by algorithm."""

    losses: dict[str, FloatArray]


def mistakes(seed: int = 0, n: int = 300, dimension: int = 20, repeats: int = REPEATS) -> Mistakes:
    """Theorem 3.1: mistakes against (R/γ)², for γ from 0.32 to 0.02 and R = 1 (chosen).

    Algorithm 1, without bias, over the examples until there is no mistake; γ is the largest margin
    there is, which the hard-margin machine finds.
    """
    runs = [
        [_run(with_margin(seed + k, n, gamma, dimension)) for gamma in MARGINS]
        for k in range(repeats)
    ]
    made, allowed = np.moveaxis(np.array(runs, dtype=np.float64), 2, 0)
    return Mistakes(made.astype(np.int64), allowed)


def _run(data: LabelledSample) -> tuple[float, float]:
    model: Any = Perceptron(fit_intercept=False, max_iter=100_000, certify=False).fit(*data)
    widest: Any = LinearSVM(lam=1.0, margin="hard", fit_intercept=False).fit(*data)
    radius = float(np.linalg.norm(data.X, axis=1).max())
    length = float(np.linalg.norm(widest.coef_[0]))
    return float(model.mistakes_per_epoch_.sum()), (radius * length) ** 2


def averages(seed: int = 0, n: int = 100, epochs: int = 5, repeats: int = REPEATS) -> Comparison:
    """Algorithms 1, 3 and 4 on classes that overlap: the last θ and the mean of all of them.

    Chosen: 100 examples of `overlapping_groups`, five epochs, λ = 0.1 for the passive-aggressive
    algorithm, and beside them the support vector machine with λ = 0.01.
    """
    return repeated(lambda k: _last_and_mean(k, n, epochs), seed, repeats)


def _last_and_mean(seed: int, n: int, epochs: int) -> Comparison:
    training, new = overlapping_groups(seed, n), overlapping_groups(seed + 10_000, 5000)
    shared: dict[str, Any] = {"max_iter": epochs, "random_state": seed, "certify": False}
    models: dict[str, Any] = {
        "Perceptron": Perceptron(shuffle=True, **shared),
        "Averaged perceptron": AveragedPerceptron(shuffle=True, **shared),
        "PA": PassiveAggressive(lam=0.1, **shared),
        "Averaged PA": PassiveAggressive(lam=0.1, average=True, **shared),
        "SVM": LinearSVM(lam=0.01),
    }
    scores = []
    for model in models.values():
        _quietly(model, *training)
        scores.append([model.score(*training), model.score(*new)])
    told = np.array(scores).T
    return Comparison(tuple(models), told[:1], told[1:], np.zeros((1, 0)))


def subgradient(seed: int = 0, n: int = 200, lam: float = 0.05) -> Descents:
    """Algorithm 5, PEGASOS: J against the epochs, with η = 1/(λt) and as printed with η = 1/t.

    Without bias, on `overlapping_groups`; the third is the mean of all θ with η = 1/(λt).
    """
    data = overlapping_groups(seed, n)
    best = LinearSVM(lam=lam, fit_intercept=False, tol=1e-9).fit(*data).certificate_.lower
    kinds: list[tuple[str, dict[str, Any]]] = [
        (label, {"step": step}) for step, label in STEPS.items()
    ]
    kinds.append(("η = 1/(λt), mean of θ", {"step": "1/(lam*t)", "average": True}))
    found = {}
    for label, kind in kinds:
        thetas = [
            _quietly(
                Pegasos(lam=lam, max_iter=k, fit_intercept=False, random_state=seed, **kind), *data
            ).coef_[0]
            for k in EPOCHS
        ]
        found[label] = hinge_objective(data, lam, np.array(thetas)) / best - 1
    return Descents(np.array(EPOCHS, dtype=np.float64), found)


def kernelized(seed: int = 0, n: int = 120) -> Descents:
    """Fuentes-Pineda: kernelized PEGASOS against SMO, which solves pairs exactly, on two moons."""
    data = two_moons(seed, n)
    kernel = RBF(0.5)
    records: list[Any] = []
    smo: Any = KernelSVM(kernel=kernel, lam=LAM, tol=1e-8, solver="smo-simple",
                         callbacks=records.append)  # fmt: skip
    best = smo.fit(*data).certificate_.lower
    online = [
        _quietly(KernelPegasos(kernel=kernel, lam=LAM, max_iter=k, random_state=seed), *data)
        for k in EPOCHS
    ]
    pairs = np.array([record.certificate.upper for record in records])
    at = np.minimum(EPOCHS, len(pairs)) - 1
    found = {
        "SMO": np.minimum.accumulate(pairs)[at] / best - 1,
        "PEGASOS": np.array([model.certificate_.upper for model in online]) / best - 1,
    }
    return Descents(np.array(EPOCHS, dtype=np.float64), found)


def ridge(
    seed: int = 0, n: int = 40, dimension: int = 20, n_values: int = 13, repeats: int = REPEATS
) -> Risks:
    """Section 4.2 and Algorithm 7: training and test error of ridge regression against λ."""
    lams = np.geomspace(1e-3, 1e1, n_values)
    runs = [[_risk(seed + k, n, dimension, float(lam)) for lam in lams] for k in range(repeats)]
    training, new, off = np.moveaxis(np.array(runs), 2, 0)
    return Risks(lams, training, new, off)


def _risk(seed: int, n: int, dimension: int, lam: float) -> tuple[float, float, float]:
    (X, y), (X_new, y_new) = noisy_line(seed, n, dimension)
    exact: Any = Ridge(lam=lam, fit_intercept=False).fit(X, y)
    walked = Ridge(lam=lam, fit_intercept=False, solver="stochastic", random_state=seed)
    coef = _quietly(walked, X, y).coef_
    off = np.linalg.norm(coef - exact.coef_) / np.linalg.norm(exact.coef_)
    errors = [float(((t - exact.predict(Z)) ** 2).mean()) for Z, t in ((X, y), (X_new, y_new))]
    return errors[0], errors[1], float(off)


def ls_boost_bound(seed: int = 0, iterations: int = 400) -> MeasuredBound:
    """Theorem 2.1.2, item 1: L(βᵏ) − L* of LS-Boost(0.3) against (L(0) − L*)γᵏ."""
    return _bounds(LSBoost(eps=0.3, max_iter=iterations), seed, "training error")


def forward_bound(seed: int = 0, iterations: int = 2000) -> MeasuredBound:
    """Theorem 2.2.1, item 4: the largest correlation of FS₁ with the residual."""
    return _bounds(ForwardStagewise(eps=1.0, max_iter=iterations), seed, "correlation")


def regularized_bound(seed: int = 0, iterations: int = 1000) -> MeasuredBound:
    """Theorem 2.2.3, item 1: L(βᵏ) − L* of R-FS₁ with δ = 200."""
    model = RegularizedForwardStagewise(eps=1.0, delta=DELTA, max_iter=iterations)
    return _bounds(model, seed, "training error")


def _bounds(model: Any, seed: int, item: str) -> MeasuredBound:
    data = data_of(10, seed)
    proof = model.fit(data.X, data.y).certificate_.proof
    row = proof.names.index(item)
    return MeasuredBound(item, proof.bounds[row, 1:], proof.measured[row, 1:])


def abstract(seed: int = 0, n: int = 1000, n_estimators: int = 100) -> RoundCosts:
    """Algorithms 5 to 7: H(F) of AnyBoost, its convex form and the example, beside AdaBoost."""
    data = two_gaussians(seed, n, n_new=0).training
    kinds: dict[str, Any] = {
        "AnyBoost": AnyBoost("stump", n_estimators=n_estimators),
        "convex AnyBoost": ConvexAnyBoost("stump", n_estimators=n_estimators),
        "Algorithm 7": ConvexAnyBoost("stump", n_estimators=n_estimators, step="closed-form"),
        "AdaBoost": AdaBoost("stump", n_estimators=n_estimators),
    }
    found = {}
    for name, model in kinds.items():
        scores = _quietly(model, *data).staged_decision_function(data.X)
        found[name] = np.array([np.exp(-data.y * np.ravel(F)).mean() for F in scores])
    return RoundCosts(found)


def surrogate(seed: int = 0, n: int = 1000, n_estimators: int = 100) -> MeasuredBound:
    """Theorem 1.1.5: AdaBoost's training error against J(F) = Π 2√(err(1 − err))."""
    data = two_gaussians(seed, n, n_new=0).training
    model: Any = AdaBoost("stump", n_estimators=n_estimators, n_jobs=1).fit(*data)
    errors = np.ravel(model.round_errors_)
    allowed = np.cumprod(2 * np.sqrt(errors * (1 - errors)))
    measured = np.array([1 - score for score in model.staged_score(*data)])
    return MeasuredBound("training error", allowed, measured)


def _quietly(model: Any, *data: Any) -> Any:
    """Fit a model that is stopped before it has converged, as these are meant to be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data)
