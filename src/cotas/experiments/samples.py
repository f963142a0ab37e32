"""The data of the figures, drawn as the text of each document says.

Where a document does not state a number it is chosen here, and the docstring says so. Everything
follows from `seed`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray


def standard_error(values: Any) -> float:
    """Compute the standard error of the mean of some numbers; of a single one there is none, so
    0."""
    found = np.asarray(values, dtype=np.float64)
    return float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else 0.0


def mean(values: Any) -> float:
    """Return the mean of some numbers."""
    return float(np.mean(np.asarray(values, dtype=np.float64)))


def plus_minus(values: Any, digits: int = 1, unit: str = "") -> str:
    """Return the mean with its standard error, in per cent if that is the unit: "90.4 ± 1.2%"."""
    scale = 100.0 if unit == "%" else 1.0
    middle, error = scale * mean(values), scale * standard_error(values)
    text = f"{middle:.{digits}f} ± {error:.{digits}f}{unit}"
    return text.replace("-", "−")


def spaced(number: int) -> str:
    """Return a large number with its thousands apart."""
    return f"{number:,}".replace(",", " ")


N_CLOUDS = 10


class LabelledSample(NamedTuple):
    """Examples and their labels, −1 or +1."""

    X: FloatArray
    y: IntArray


class Split(NamedTuple):
    """Examples to learn from, and new ones from the same distribution."""

    training: LabelledSample
    new: LabelledSample


class Regression(NamedTuple):
    """Centred columns of unit length, a centred target, and the coefficients it was made with."""

    X: FloatArray
    y: FloatArray
    truth: FloatArray


# ---- Fuentes Cabrera and Clasificación lineal: points in the plane -------------------------------


def two_groups(seed: int = 0, n: int = 40, gap: float = 15.0, stray: bool = True) -> LabelledSample:
    """Return two groups in the plane that a line separates, for the pictures of margins.

    Documents 000 and 004 print the pictures without the data. Chosen: n/2 points a class, normal
    around (±40, ±20) with deviation 18, those closer than `gap` to the line between the two
    centres drawn again; and if `stray`, one example of class +1 at the distance gap/3 from that
    line, so that it matters how strongly a single example counts. The coordinates are of the
    order of 50, since only there the λ = 0.1, 100 and 1000 of Clasificación lineal differ: data
    t times as large with t²λ have the same picture.
    """
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    centre = np.array([40.0, 20.0])
    across = centre / np.linalg.norm(centre)
    X = np.empty((n, 2))
    for i, label in enumerate(y):
        X[i] = label * centre + 18.0 * rng.normal(size=2)
        while label * (X[i] @ across) < gap:
            X[i] = label * centre + 18.0 * rng.normal(size=2)
    if stray:
        along = np.array([-across[1], across[0]])
        X[0] = gap / 3 * across + 30.0 * along
    return LabelledSample(X, y)


def overlapping_groups(seed: int = 0, n: int = 60) -> LabelledSample:
    """Return two normal clouds that overlap, around (±1.2, ±0.8) with deviation 1 (all chosen)."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    return LabelledSample(y[:, None] * np.array([1.2, 0.8]) + rng.normal(size=(n, 2)), y)


def with_margin(
    seed: int = 0, n: int = 300, gamma: float = 0.1, dimension: int = 20
) -> LabelledSample:
    """Return points of length 1 that a hyperplane through the origin separates with margin `gamma`.

    For Theorem 3.1 of Fuentes Cabrera. Chosen: uniform directions, those nearer to the hyperplane
    than `gamma` pushed away from it, so that the margin is close to `gamma` where n is large.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, dimension))
    across = X[:, 0] / np.linalg.norm(X, axis=1)
    y = np.where(across > 0, 1, -1)
    across = y * np.maximum(np.abs(across), gamma)
    rest = X[:, 1:] / np.linalg.norm(X[:, 1:], axis=1, keepdims=True)
    return LabelledSample(np.column_stack([across, np.sqrt(1 - across**2)[:, None] * rest]), y)


def noisy_line(
    seed: int = 0, n: int = 40, dimension: int = 20, n_new: int = 5000
) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Return a linear function with noise, and few examples for so many features (all chosen).

    For section 4.2 of Fuentes Cabrera: normal features, θ of length 1, noise of deviation 1.
    """
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=dimension)
    theta /= np.linalg.norm(theta)

    def draw(size: int) -> tuple[FloatArray, FloatArray]:
        X = rng.normal(size=(size, dimension))
        return X, X @ theta + rng.normal(size=size)

    return draw(n), draw(n_new)


def balanced_cube(seed: int = 0, n: int = 200, dimension: int = 5) -> Split:
    """Draw balanced classes with continuous features, so that no two examples coincide.

    Section 2.2 of Fuentes Cabrera asks for no more. Chosen: uniform in a cube, the label being the
    side of the plane Σx = 0 whose sign a linear classifier could learn.
    """
    rng = np.random.default_rng(seed)

    def draw() -> LabelledSample:
        y = np.where(np.arange(n) % 2 == 0, 1, -1)
        X = rng.uniform(-1, 1, size=(n, dimension))
        # Mirrored where the sum has the wrong sign: balanced classes without drawing again.
        return LabelledSample(X * (y * np.sign(X.sum(axis=1)))[:, None], y)

    return Split(draw(), draw())


# ---- Rugeles Ospina, chapter 1 -------------------------------------------------------------------


def ten_clouds(
    seed: int = 0, n: int = 1000, dimension: int = 2, n_new: int = 5000, spread: float = 1.0
) -> Split:
    """Draw the sample of Figure 1.2: ten clouds of points, five of them given to each class at
    random, 1000 in all.

    Chosen: normal clouds with deviation `spread` around centres uniform in [−10, 10]ᵈ, which are
    the habits of scikit-learn's `make_blobs`, as many points in each, and `n_new` new points from
    the same clouds for the accuracy on new data.
    """
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-10, 10, size=(N_CLOUDS, dimension))
    classes = rng.permutation(np.repeat([-1, 1], N_CLOUDS // 2))

    def draw(size: int) -> LabelledSample:
        cloud = np.arange(size) % N_CLOUDS
        return LabelledSample(
            centres[cloud] + spread * rng.normal(size=(size, dimension)), classes[cloud]
        )

    return Split(draw(n), draw(n_new))


def two_gaussians(seed: int = 0, n: int = 1000, dimension: int = 2, n_new: int = 5000) -> Split:
    """Draw the sample of Figure 1.7: one class is N((1, 1), I), the other N((3, 3), 2I).

    Chosen: the second is the class +1, both have n/2 examples (n is not stated), and in other
    dimensions the centres are (1, …, 1) and (3, …, 3).
    """
    rng = np.random.default_rng(seed)

    def draw(size: int) -> LabelledSample:
        y = np.where(np.arange(size) % 2 == 0, 1, -1)
        centre, deviation = np.where(y == 1, 3.0, 1.0), np.where(y == 1, np.sqrt(2.0), 1.0)
        noise = rng.normal(size=(size, dimension))
        return LabelledSample(centre[:, None] + deviation[:, None] * noise, y)

    return Split(draw(n), draw(n_new))


def half_log_odds(X: FloatArray) -> FloatArray:
    """Return the F of Lemma 1.1.3 for `two_gaussians`: ½ ln(P(y = 1 given x)/P(y = −1 given x))."""
    to_first = ((X - 1.0) ** 2).sum(axis=1)
    to_second = ((X - 3.0) ** 2).sum(axis=1)
    log_ratio = to_first / 2 - to_second / 4 - X.shape[1] / 2 * np.log(2.0)
    return np.asarray(log_ratio / 2)


# ---- Rugeles Ospina, chapter 2 -------------------------------------------------------------------


def informative_covariates(
    seed: int = 0, n: int = 200, dimension: int = 10, informative: int = 4
) -> Regression:
    """Draw the data of Section 2.3: `dimension` covariates, of which a few carry most of the
    information.

    Rugeles Ospina states the dimensions 10, with four informative covariates, and 100; and that
    columns are centred and of length one. Chosen: n = 200 rows (500 in dimension 100, with ten
    informative covariates), normal columns, coefficients ±U(100, 250) for the informative
    covariates, as many positive as negative, and U(−10, 10) for the others, so that δ = 200 is a
    part of ‖β‖₁, and noise of length about 60.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, dimension))
    X -= X.mean(axis=0)
    X /= np.linalg.norm(X, axis=0)
    truth = rng.uniform(-10, 10, size=dimension)
    chosen = rng.choice(dimension, size=informative, replace=False)
    signs = rng.permutation(np.where(np.arange(informative) % 2 == 0, 1, -1))
    truth[chosen] = signs * rng.uniform(100, 250, size=informative)
    y = X @ truth + rng.normal(size=n) * 60.0 / np.sqrt(n)
    return Regression(X, y - y.mean(), truth)


# ---- Fuentes-Pineda and Clasificación lineal -----------------------------------------------------


def two_moons(seed: int = 0, n: int = 120, noise: float = 0.18) -> LabelledSample:
    """Return two half circles that reach into each other: no line separates them.

    Fuentes-Pineda took its data from the package pmtk3 and does not list them; these are chosen.
    """
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    angle = rng.uniform(0, np.pi, size=n)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1 - np.cos(angle), 0.4 - np.sin(angle)])
    return LabelledSample(
        np.where((y == 1)[:, None], upper, lower) + noise * rng.normal(size=(n, 2)), y
    )


def two_rings(seed: int = 0, n: int = 120) -> LabelledSample:
    """Draw a disc inside a ring: separable by a circle, so by a plane in the features of degree
    2."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    radius = np.where(y == 1, rng.uniform(0.0, 0.8, size=n), rng.uniform(1.2, 2.0, size=n))
    angle = rng.uniform(0, 2 * np.pi, size=n)
    return LabelledSample(radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y)


def noisy_plane(seed: int = 0, n: int = 400, dimension: int = 80, n_new: int = 8000) -> Split:
    """Draw few noisy examples in many dimensions, where fitting too closely does harm.

    Clasificación lineal draws losses without data. Chosen: normal features, the label the side of a
    plane that depends on the first three, after noise, so that about a seventh of the labels are
    wrong.
    """
    rng = np.random.default_rng(seed)
    direction = np.zeros(dimension)
    direction[:3] = (1.0, -1.0, 0.5)

    def draw(size: int) -> LabelledSample:
        X = rng.normal(size=(size, dimension))
        side = X @ direction + 0.75 * rng.normal(size=size)
        return LabelledSample(X, np.where(side > 0, 1, -1))

    return Split(draw(n), draw(n_new))


def four_quarters(seed: int = 0, n: int = 120) -> LabelledSample:
    """Draw exclusive or: the label is the sign of x₁x₂, in a square, with a gap along both axes.

    The example that no line separates, and two stumps in turn do not either (chosen).
    """
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    first = rng.choice([-1.0, 1.0], size=n)
    sides = np.column_stack([first, y * first])
    return LabelledSample(sides * rng.uniform(0.08, 1.0, size=(n, 2)), y)
