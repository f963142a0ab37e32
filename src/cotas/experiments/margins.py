"""Linear classifiers and their margins: the figures of Fuentes Cabrera, and those of λ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.experiments.samples import LabelledSample, overlapping_groups, two_groups
from cotas.linear.perceptron import Perceptron
from cotas.linear.svm import LinearSVM

TOL = 1e-6
SMALL_AND_LARGE = (0.1, 300.0)


@dataclass(frozen=True)
class Halves:
    """A linear classifier and random points; `cosines` of the angles between them and θ."""

    theta: FloatArray
    theta0: float
    data: LabelledSample
    cosines: FloatArray


@dataclass(frozen=True)
class Projection:
    """A point, its foot on the decision boundary, and their distance computed in two ways."""

    theta: FloatArray
    theta0: float
    point: FloatArray
    foot: FloatArray
    distance: float
    agreement: float


@dataclass(frozen=True)
class FittedMargin:
    """One support vector machine, in numbers.

    `margin` is 1/‖θ‖, `inside` counts the examples with y(θ·x + θ₀) < 1, `wrong` those on the
    wrong side of the decision boundary, `turned` is the angle in degrees between θ and the line
    between the means of the two classes, and `gap` what the certificate proves.
    """

    lam: float
    theta: FloatArray
    theta0: float
    margin: float
    inside: int
    wrong: int
    support: int
    mean_loss: float
    turned: float
    gap: float
    model: Any


@dataclass(frozen=True)
class Margins:
    """Support vector machines on the same data."""

    data: LabelledSample
    fits: tuple[FittedMargin, ...]


@dataclass(frozen=True)
class SeparatingLine:
    """A hyperplane that separates, and its margin: the distance of the nearest example."""

    theta: FloatArray
    theta0: float
    margin: float


@dataclass(frozen=True)
class Widest:
    """The separator with the largest margin, and others that separate as well."""

    data: LabelledSample
    fit: FittedMargin
    others: tuple[SeparatingLine, ...]


@dataclass(frozen=True)
class Series:
    """Support vector machines for several λ, one of which is shown."""

    data: LabelledSample
    fits: tuple[FittedMargin, ...]
    shown: int

    @property
    def fit(self) -> FittedMargin:
        """The one that is shown."""
        return self.fits[self.shown]


def halves(seed: int = 0, n: int = 60, theta0: float = 0.0) -> Halves:
    """Points on the two sides of θ·x + θ₀ = 0; θ = (−1, 0.6) points to the left, as in the text."""
    rng = np.random.default_rng(seed)
    theta = np.array([-1.0, 0.6])
    X = rng.uniform(-3, 3, size=(n, 2))
    # Nothing on the line itself, where the sign is a matter of definition.
    X = X[np.abs(X @ theta + theta0) > 0.25]
    cosines = X @ theta / (np.linalg.norm(X, axis=1) * np.linalg.norm(theta))
    return Halves(
        theta, theta0, LabelledSample(X, np.where(X @ theta + theta0 > 0, 1, -1)), cosines
    )


def with_bias(seed: int = 0, n: int = 60) -> Halves:
    """The same θ with θ₀ = −1.2 (chosen)."""
    return halves(seed, n, theta0=-1.2)


def projection(seed: int = 0) -> Projection:
    """A positive point at random, and its orthogonal projection x⁽⁰⁾."""
    rng = np.random.default_rng(seed)
    theta, theta0 = np.array([-1.0, 0.6]), -0.5
    length = float(np.linalg.norm(theta))
    along = np.array([theta[1], -theta[0]]) / length
    on_the_line = -theta0 * theta / length**2 + rng.uniform(-1, 1) * along
    point = on_the_line + rng.uniform(1.2, 2.0) * theta / length
    agreement = float(theta @ point + theta0) / length
    foot = point - agreement * theta / length
    return Projection(
        theta, theta0, point, foot, float(np.linalg.norm(point - foot)), float(agreement)
    )


def fit_margin(data: LabelledSample, lam: float, kind: str = "soft") -> FittedMargin:
    """The support vector machine for λ, to a relative gap of 1e-6, and what there is to count."""
    X, y = data
    model: Any = LinearSVM(lam=lam, margin=kind, tol=TOL).fit(X, y)
    theta, theta0 = model.coef_[0], float(model.intercept_[0])
    agreement = y * (X @ theta + theta0)
    between = X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0)
    length = float(np.linalg.norm(theta))
    cosine = theta @ between / (length * np.linalg.norm(between))
    return FittedMargin(
        lam=lam,
        theta=theta,
        theta0=theta0,
        margin=1 / length,
        inside=int((agreement < 1 - 1e-3).sum()),
        wrong=int((agreement <= 0).sum()),
        support=int(np.ravel(model.n_support_)[0]),
        mean_loss=float(np.maximum(0, 1 - agreement).mean()),
        turned=float(np.degrees(np.arccos(np.clip(cosine, -1, 1)))),
        gap=model.certificate_.relative_gap,
        model=model,
    )


def violations(seed: int = 0, n: int = 60) -> Margins:
    """Figure 3.4: two clouds that overlap, λ = 0.05 (chosen), violations marked."""
    data = overlapping_groups(seed, n)
    return Margins(data, (fit_margin(data, 0.05),))


def small_and_large(seed: int = 0, n: int = 40) -> Margins:
    """Figure 3.5: λ = 0.1 and λ = 300 (chosen) on `two_groups`."""
    return for_lams(SMALL_AND_LARGE, seed, n)


def widest(seed: int = 0, n: int = 40, others: int = 3) -> Widest:
    """Figure 3.6: the hard margin on `two_groups` without a stray example.

    Beside it what the perceptron finds in so many random orders (chosen): all separate, and none
    has a larger margin.
    """
    data = two_groups(seed, n, stray=False)
    found = [_perceptron(data, seed + k) for k in range(others)]
    return Widest(data, fit_margin(data, 1.0, "hard"), tuple(found))


def _perceptron(data: LabelledSample, seed: int) -> SeparatingLine:
    model: Any = Perceptron(max_iter=1000, shuffle=True, random_state=seed).fit(*data)
    theta, theta0 = model.coef_[0], float(model.intercept_[0])
    nearest = float((data.y * (data.X @ theta + theta0)).min() / np.linalg.norm(theta))
    return SeparatingLine(theta, theta0, nearest)


def for_lams(lams: tuple[float, ...], seed: int = 0, n: int = 40) -> Margins:
    """One machine for each λ, on `two_groups`."""
    data = two_groups(seed, n)
    return Margins(data, tuple(fit_margin(data, lam) for lam in lams))
