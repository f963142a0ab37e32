"""What a part is told it passes on: errors, sums, scores, and each of several targets to its own.

An error that is forgotten on the way hardly shows in a bound, since it is so small; told to be
large, it does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from cotas.certificates.core import choices, gap, gram, residuals, rounding, softmax
from cotas.certificates.core.blocks import Claims, block_bounds
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.gap import L2, Claim, Risk, Weights
from cotas.certificates.core.margins import Logistic
from cotas.certificates.core.sparse_rows import rows_in
from laws.exact.as_written import U, as_written, differ
from laws.exact.guesses import _Parts, put
from laws.exact.oracle import rational


def errors_of_sums(rng: np.random.Generator) -> Iterator[str]:
    """How far a sum is off counts beside how far its terms are."""
    n, k = int(rng.integers(2, 9)), int(rng.integers(2, 5))

    def total(a: Any) -> tuple[float, float]:
        return math.fsum(np.ravel(a)), 0.25

    y, s = np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.random(n) + 0.3
    p, truth = rng.dirichlet(np.ones(k), size=n), np.eye(k)[rng.integers(k, size=n)]
    c, t = -y * s * rng.uniform(0.1, 0.9, size=n), float(rng.uniform(0.1, 1.0))
    for loss in (gap.Hinge(), Logistic()):
        with as_written(gap), put(gap, total=total):
            found = gap.gain_of(loss, y, c, s, t)
        values, sizes = loss.gain(y, c, s, t)
        off = 0.25 + (loss.ulps + 4) * U * sizes.sum()
        yield from differ(f"{loss}: gain", found, (values.sum(), off))
    with as_written(softmax), put(softmax, total=total):
        value = softmax.entropy_down(p, truth, s, 1.0)
    sizes = s @ (p * (2.0 + np.abs(np.log(p)))).sum(axis=1)
    entropy = -float(s @ (p * np.log(p)).sum(axis=1))
    yield from differ("entropy", value, entropy - 0.25 - (k + 24) * U * sizes)
    with put(gap, total=total):
        w = Weights.of(s, n)
    yield from differ("weights", (w.low, w.high), (s.sum() - 0.25, s.sum() + 0.25))


def charges_told(rng: np.random.Generator) -> Iterator[str]:
    """A charge is what the dual point, the scores and Xᵀc have felt of rounding."""
    n, asked = int(rng.integers(2, 6)), list[Any]()
    parts = [float(v) for v in rng.uniform(0.1, 0.9, size=3)]
    X, y, theta = rng.normal(size=(n, 2)), rng.normal(size=n), rng.normal(size=2)
    claim = Claim(Risk(residuals.Squared(), L2(0.5), False), y, theta, 0.0)
    told = {"felt": lambda *given: parts[1], "blur": lambda *given: parts[2]}

    def charge(*given: Any) -> float:
        asked.append(given)
        return 0.125

    with put(choices, **told, charge=charge), put(gap, lower=lambda *given: (0.1, 0.5, parts[0])):
        gap.all_bounds(rows_in(X, False), [claim])
    value = 0.5 * np.mean(np.square(X @ theta - y)) + 0.25 * theta @ theta
    yield from differ("charge", asked[0], (sum(parts), 0.1, value))


def scores_told(rng: np.random.Generator) -> Iterator[str]:
    """P of a kernel machine is that of its scores, Kβ and the bias, which are off by so much."""
    n, asked, bias = int(rng.integers(2, 6)), list[Any](), float(rng.normal())
    made, w = gram.Gram(("linear",), rng.normal(size=(n, 2))), Weights.of(None, n)
    values, off = rng.normal(size=(n, 2)), rng.random((n, 2))
    beta, c, y = rng.normal(size=(3, n))
    risk = Risk(residuals.Squared(), gram.SquaredLength(0.5), True)

    def upper(*given: Any) -> float:
        asked.append(given)
        return 9.0

    with put(gram, upper=upper, lower=lambda *given: asked.append(given) or (0.0, 0.0, 0.0)):
        gram.bounds(Claim(risk, y, beta, bias, c), made, w, values, off)
    claim, _, z, wide = asked[0]
    yield from differ("scores", (z, wide), (values[:, 0] + bias, off[:, 0]))
    lengths = [made.length(a, values[:, k], off[:, k]) for k, a in enumerate((beta, c))]
    if (claim.theta, asked[1][3]) != (lengths[0], lengths[1]) or asked[1][4] != 9.0:
        yield f"the lengths {claim.theta} and {asked[1][3]}, not {lengths}"


def several_at_once(rng: np.random.Generator) -> Iterator[str]:
    """Models of several targets in blocks prove what each does alone, whichever is moved."""
    n, d, k = 2 * int(rng.integers(2, 9)), 2, 3
    X, s = rng.normal(size=(n, d)), None if rng.random() < 0.5 else rng.random(n) + 0.1
    y = rng.normal(size=(n, k)) + rng.choice([0.0, 40.0], size=k)
    y[::2, 1] = -y[1::2, 1]  # the mean of one of them is zero
    thetas, biases = rng.normal(size=(d, k)), tuple(y.mean(axis=0).tolist())
    parts = _Parts(rng, X, y, s, -1)
    for loss in (residuals.Squared(), residuals.Huber(0.5)):
        risk = Risk(loss, L2(0.5), True)

        def asked(some: list[int], risk: Any = risk) -> list[Any]:
            given = thetas[:, some], tuple(biases[j] for j in some)
            read = (lambda b: (b.y[:, some], b.s), (None,) * len(some))
            found = block_bounds(parts, Claims(risk, *given, *read, n, d))
            return [(one.bounds.lower, one.bounds.upper) for one in found]

        together, alone = asked([*range(k)]), [asked([j])[0] for j in range(k)]
        if not np.allclose(together, alone, rtol=1e-9):
            yield f"{loss}: {together} together, and {alone} alone"


def ends_of_the_range(rng: np.random.Generator) -> Iterator[str]:
    """Lengths of vectors whose entries are nearly too large, and sums of weights that are none."""
    n = int(rng.choice([2, 400]))
    a = rng.uniform(-1, 1, size=n) * 2.0 ** float(rng.uniform(1020, 1024))
    found, square = rounding.norm_up(a), sum(v * v for v in rational(a))
    if math.isfinite(found):
        [length] = rational(found)
        if not square <= length * length <= square * (1 + rational(1e-12)[0]):
            yield f"{n} numbers are {found} long"
    elif square < rational(1e308)[0] ** 2:
        yield f"{n} numbers of the square {float(math.log10(square)):.1f} have no length"
    for low, high in ((0.0, 1.0), (1e-200, 1.0), (2.0, 1.0), (1.0, math.inf), (math.nan, 1.0)):
        try:
            yield f"weights with a sum of {Weights(None, low, high)}"
        except Objection as objection:
            if objection.code != "weights":
                yield f"weights of {low} to {high}: {objection.code}"


def shifted_products(rng: np.random.Generator) -> Iterator[str]:
    """What is added to the diagonal is added to the products of every kernel."""
    n, shift = int(rng.integers(2, 9)), float(rng.uniform(0.1, 2.0))
    X, W = rng.normal(size=(n, 2)), rng.normal(size=(n, 1))
    for spec in (("linear",), ("rbf", 0.5, 1.0), ("sum", ("linear",), ("constant", 1.0))):
        plain = gram.Gram(spec, X).times(W, np.ones(n, bool))
        found, off = gram.Gram(spec, X, shift=shift).times(W, np.ones(n, bool))
        if not (np.abs(found - plain[0] - shift * W) <= 4 * (off + plain[1])).all():
            yield f"{spec} and {shift} I: products {found}, and {plain[0]} without"


PASSED_ON = (
    shifted_products,
    errors_of_sums,
    charges_told,
    scores_told,
    several_at_once,
    ends_of_the_range,
)
