"""Clasificación lineal: what λ and c = 1/(λn) do to the margin, and to training and test loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.experiments.margins import Series, fit_margin
from cotas.experiments.samples import LabelledSample, noisy_plane, overlapping_groups, two_groups
from cotas.linear.svm import LinearSVM

LAMS = (0.1, 100.0, 1000.0)
VALIDATION_SHARE = 0.25
SPLITS = 10


@dataclass(frozen=True)
class Balance:
    """The two terms of J along tθ, θ being the best for λ; the best t is 1."""

    scale: FloatArray
    loss: FloatArray
    penalty: FloatArray
    margin: float


@dataclass(frozen=True)
class Losses:
    """Mean hinge losses for each c = 1/(λn).

    `validation` has a row for each random split of the training data. `best` is the c* with the
    smallest test loss, `chosen` the ĉ with the smallest mean over the splits, `each` the ĉ of every
    split alone, and `chosen_loss` the test loss at ĉ.
    """

    c: FloatArray
    training: FloatArray
    test: FloatArray
    validation: FloatArray
    best: float
    chosen: float
    each: FloatArray
    chosen_loss: float


@dataclass(frozen=True)
class DescentCurve:
    """Descent on a function of one parameter."""

    theta: FloatArray
    objective: FloatArray
    walked: FloatArray
    walked_objective: FloatArray
    slope: float


@dataclass(frozen=True)
class Surface:
    """Descent and stochastic descent on a function of two parameters."""

    data: LabelledSample
    lam: float
    descent: FloatArray
    stochastic: FloatArray
    best: FloatArray


def lam_small(seed: int = 0, n: int = 60) -> Series:
    """λ = 0.1."""
    return series(0, seed, n)


def lam_medium(seed: int = 0, n: int = 60) -> Series:
    """λ = 100."""
    return series(1, seed, n)


def lam_large(seed: int = 0, n: int = 60) -> Series:
    """λ = 1000."""
    return series(2, seed, n)


def series(shown: int = 0, seed: int = 0, n: int = 60) -> Series:
    """The machines for λ = 0.1, 100 and 1000 on `two_groups`, closer together and none astray."""
    data = two_groups(seed, n, gap=8.0, stray=False)
    return Series(data, tuple(fit_margin(data, lam) for lam in LAMS), shown)


def balance(seed: int = 0, n: int = 40) -> Balance:
    """Mean hinge loss and (λ/2)‖θ‖² for λ = 100, when θ is made longer or shorter."""
    X, y = data = two_groups(seed, n)
    fit = fit_margin(data, LAMS[1])
    scale = np.linspace(0.05, 3, 200)
    scores = X @ fit.theta + fit.theta0
    loss = np.array([np.maximum(0, 1 - t * y * scores).mean() for t in scale])
    penalty = fit.lam / 2 * float(fit.theta @ fit.theta) * scale**2
    return Balance(scale, loss, penalty, fit.margin)


def losses(seed: int = 0, n: int = 400, n_values: int = 21, splits: int = SPLITS) -> Losses:
    """Training and test loss for c from 10⁻³ to 10² (chosen), and ĉ by splits of 75 to 25%.

    The document splits once; a single split of so few examples may choose a ĉ far from c*, so that
    the mean of several decides, and what each would have chosen is kept.
    """
    training, new = noisy_plane(seed, n)
    cs = np.geomspace(1e-3, 1e2, n_values)
    rng = np.random.default_rng(seed)
    on_training, on_test = _losses_along(cs, training, training, new).T
    on_validation = np.array([_on_a_split(cs, training, rng.permutation(n)) for _ in range(splits)])
    chosen = int(np.argmin(on_validation.mean(axis=0)))
    return Losses(
        cs,
        on_training,
        on_test,
        on_validation,
        float(cs[np.argmin(on_test)]),
        float(cs[chosen]),
        cs[on_validation.argmin(axis=1)],
        float(on_test[chosen]),
    )


def _on_a_split(cs: FloatArray, data: LabelledSample, order: IntArray) -> FloatArray:
    """The loss for each c on a quarter of the examples, trained on the others."""
    held, kept = np.split(order, [round(VALIDATION_SHARE * len(order))])
    part, rest = (LabelledSample(data.X[rows], data.y[rows]) for rows in (kept, held))
    return np.asarray(_losses_along(cs, part, rest)[:, 0])


def slope(seed: int = 0, n: int = 30, iterations: int = 12) -> DescentCurve:
    """J of one parameter: mean hinge loss of θx plus (λ/2)θ², λ = 0.2, η = 0.8 (chosen)."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    z, lam, eta = y * (y + 0.8 * rng.normal(size=n)), 0.2, 0.8

    def value(theta: float) -> float:
        return float(np.maximum(0, 1 - theta * z).mean() + lam / 2 * theta**2)

    def derivative(theta: float) -> float:
        return float(-(z * (theta * z < 1)).mean() + lam * theta)

    grid, walked = np.linspace(-2, 5, 281), [4.5]
    for _ in range(iterations):
        walked.append(walked[-1] - eta * derivative(walked[-1]))
    return DescentCurve(
        grid,
        np.array([value(t) for t in grid]),
        np.array(walked),
        np.array([value(t) for t in walked]),
        derivative(walked[0]),
    )


def surface(seed: int = 0, n: int = 60, iterations: int = 1000) -> Surface:
    """J of two parameters without bias: θ ← θ − η∇J with η = 0.5, and SGD with η_t = 1/(1+t).

    λ = 0.5, the step 0.5 and the start (−1.5, 2.5) are chosen.
    """
    X, y = data = overlapping_groups(seed, n)
    lam, start = 0.5, np.array([-1.5, 2.5])
    rng = np.random.default_rng(seed)

    def gradient(theta: FloatArray, rows: IntArray) -> FloatArray:
        violated = y[rows] * (X[rows] @ theta) < 1
        push = (y[rows] * violated)[:, None] * X[rows]
        return np.asarray(lam * theta - push.mean(axis=0))

    everyone = np.arange(n)
    descent, stochastic = [start], [start]
    for t in range(1, iterations + 1):
        descent.append(descent[-1] - 0.5 * gradient(descent[-1], everyone))
        one = rng.integers(n, size=1)
        stochastic.append(stochastic[-1] - gradient(stochastic[-1], one) / (1 + t))
    best = LinearSVM(lam=lam, fit_intercept=False, tol=1e-8).fit(X, y).coef_[0]
    return Surface(data, lam, np.array(descent), np.array(stochastic), best)


def hinge_objective(data: LabelledSample, lam: float, theta: FloatArray) -> FloatArray:
    """J(θ) without bias, for each row of `theta`."""
    agreement = data.y[:, None] * (data.X @ theta.T)
    loss = np.maximum(0, 1 - agreement).mean(axis=0)
    return np.asarray(loss + lam / 2 * (theta**2).sum(axis=1))


def _losses_along(cs: FloatArray, training: LabelledSample, *others: LabelledSample) -> FloatArray:
    """The mean hinge losses of the machine for each c, on each of the other data."""
    found = np.empty((len(cs), len(others)))
    for k, c in enumerate(cs):
        model = LinearSVM(lam=1 / (c * len(training.y)), tol=1e-7).fit(*training)
        for j, (X, y) in enumerate(others):
            found[k, j] = np.maximum(0, 1 - y * model.decision_function(X)).mean()
    return found
