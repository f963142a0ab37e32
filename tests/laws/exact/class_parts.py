"""What the parts of softmax regression promise, asked with large errors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from cotas.certificates.core import choices, softmax
from cotas.certificates.core.bounds import Pull
from cotas.certificates.core.gap import L2, Claim, Risk, Weights, best_multiple
from cotas.certificates.core.sparsity import ElasticNetRegularizer
from laws.exact.contracts import TINY, conjugate
from laws.exact.oracle import DIGITS, Rational, decimal, near, put, rational

# ---- softmax ------------------------------------------------------------------------------------


def _log_loss(scores: list[Any], own: int) -> Decimal:
    with localcontext(DIGITS):
        z = [decimal(v) for v in scores]
        return sum((v - z[own]).exp() for v in z).ln()


def class_losses(rng: np.random.Generator) -> Iterator[str]:
    """The log loss at the worst of the scores that are possible."""
    n, k = 4, int(rng.integers(2, 5))
    z = rng.normal(size=(n, k)) * 10.0 ** rng.uniform(-2, 2) + rng.choice([0.0, 1e6])
    own = rng.integers(k, size=n)
    if rng.random() < 0.3:  # of exponentials that add up to one, rounded
        z = np.where(np.eye(k)[own] > 0, 0.0, -rng.uniform(36, 40, size=(n, k)))
    off = np.full((n, k), rng.choice([0.0, 1e-3, 0.7]))
    off *= 1.0 if rng.random() < 0.5 else rng.random((n, k))
    losses, slack = softmax.losses_of(z, off, np.eye(k)[own])
    for i in range(n):
        scores, wide = rational(z[i]), rational(off[i])
        ends = [v + w for v, w in zip(scores, wide, strict=True)]
        ends[own[i]] = scores[own[i]] - wide[own[i]]
        worst, middle = near(_log_loss(ends, own[i])), near(_log_loss(scores, own[i]))
        size = 1 + abs(z[i, own[i]]) + abs(z[i].max()) + math.log(k)
        if not worst <= losses[i] <= middle + 2 * off[i].max() + (k + 24) * 2.0**-53 * size:
            yield f"a loss of {losses[i]}, not {worst}"
        if not losses[i] >= middle + (k + 8) * 2.0**-53 * (1 + abs(z[i, own[i]]) + abs(z[i].max())):
            yield f"a loss of {losses[i]}: roundings of {middle} are not counted"
        if slack[i] != 2 * off[i].max():
            yield "slack"


def entropies(rng: np.random.Generator) -> Iterator[str]:
    """Σ s H(e + t(p − e)), where p is known to some roundings."""
    n, k = int(rng.choice([1, 4])), int(rng.integers(2, 5))
    t = float(rng.choice([1.0, 0.999, 0.9, 0.3]))
    n = 200 if rng.random() < 0.04 else n  # more numbers than are added up at once
    p = rng.dirichlet(np.full(k, rng.choice([0.05, 1.0])), size=n)
    p[rng.random((n, k)) < 0.2] = 0.0
    p[:, 0] += p.sum(axis=1) == 0
    p /= p.sum(axis=1, keepdims=True)
    own, s = rng.integers(k, size=n), rng.random(n) + 0.1
    truth = np.eye(k)[own]
    found = softmax.entropy_down(p, truth, s, t)
    with localcontext(DIGITS):
        exact, room = Decimal(0), Decimal(0)
        for i in range(n):
            whole = sum(rational(p[i]))
            for j in range(k):
                e = Rational(int(j == own[i]))
                q = decimal(e + Rational(t) * (Rational(p[i, j]) / whole - e))
                term = -q * q.ln() if q > 0 else Decimal(0)
                exact += Decimal(float(s[i])) * term
                # One unit of p moves a term by as much as this.
                room += Decimal(float(s[i])) * (q * (1 + abs(q.ln())) if q > 0 else 0)
                if t < 1.0 and e:  # 1 − t(1 − p) has the rounding of 1 − p
                    room += Decimal(float(s[i])) * (1 - q) * (1 + abs(q.ln())) / 2
    units = Decimal((k + 4) * 2.0**-53)
    if not Decimal(found) <= exact - units * room:
        yield f"an entropy of {found}, not {exact:.17g}"
    if not Decimal(found) >= exact - 64 * units * (room + Decimal(float(s.sum()))):
        yield f"an entropy of {found}, far below {exact:.17g}"


def class_probabilities(rng: np.random.Generator) -> Iterator[str]:
    """Rows become probabilities, and classes get their mass."""
    n, k = 30, int(rng.integers(2, 5))
    truth, s = np.eye(k)[rng.integers(k, size=n)], rng.random(n) + 0.1
    p = rng.dirichlet(np.ones(k), size=n)
    wanted = s @ truth
    shares = choices.balance(wanted, s @ p)
    found = softmax.feasible(p, truth, *shares)
    if not ((found >= 0).all() and np.allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-15 * k)):
        yield "no probabilities"
    if not np.allclose(s @ found, wanted, rtol=1e-9):
        yield f"classes of {s @ found}, not {wanted}"
    if not np.abs(found - p).sum() <= 3 * np.abs(s @ p - wanted).sum() / s.min():
        yield "moved by more than is needed"
    same = choices.balance(wanted, wanted)
    if not (np.allclose(same[0], 1.0) and np.allclose(softmax.feasible(p, truth, *same), p)):
        yield "moved without need"
    spoiled = np.array(p)
    spoiled[0, 0], spoiled[1, 1], spoiled[2, 0], spoiled[3] = math.nan, math.inf, -1.0, 0.0
    spoiled[4] = 1e308  # whose sum is infinite
    with np.errstate(all="ignore"):
        found = softmax.feasible(spoiled, truth, *shares)
    if not ((found >= 0).all() and np.allclose(found.sum(axis=1), 1.0)):
        yield "rows that are none"
    ones, zeros = np.ones(k), np.zeros(k)
    with np.errstate(all="ignore"):
        found = softmax.feasible(spoiled, truth, ones, zeros)
    if not ((found[[0, 1, 3, 4]] == truth[[0, 1, 3, 4]]).all() and (found[2] >= 0).all()):
        yield "rows that are none do not become the truth"


def class_duals(rng: np.random.Generator) -> Iterator[str]:
    """D with pulls that are far off, biases that take away, and a sum of weights hardly known."""
    d, k = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    lam = float(10.0 ** rng.uniform(-1, 1))
    penalty = (L2(lam), ElasticNetRegularizer(lam, lam), ElasticNetRegularizer(lam, 0.0))[
        rng.integers(3)
    ]
    unit = 2.0 ** rng.integers(-3, 4, size=d)
    us = rng.normal(size=(k, d)) * rng.choice([0.1, 1.0])
    off = float(rng.choice([0.0, 0.01, 0.3]))
    pull = Pull(us.ravel(), np.tile(unit, k), off * math.sqrt(k) * (1 + 1e-15))
    low, high, slip = 2.0, 3.0, float(rng.choice([0.0, 0.1]))
    theta = rng.normal(size=k * d)
    claim = Claim(Risk(softmax.LogLoss(), penalty, True), np.zeros(0), theta, 0.0)
    rise, fall = rng.uniform(0, 30), rng.uniform(0, 15)  # gains are concave
    gains = {t: float(rise * t - fall * t * t) for t in (1.0, 0.5, 0.1, 0.01)}
    gains |= {1.5: 1e6, -0.5: 1e6, math.nan: 1e6}  # which lie outside of the domain
    with put(choices, multiples=lambda *given: [*gains]):
        given = (pull, lambda t: (gains[t], 0.0), gains.get, 0.0, slip, math.inf)
        found, multiple, _ = best_multiple(claim, Weights(None, low, high), *given)
    values: list[Any] = [Rational(0)]
    for t, gain in [*gains.items()][:4]:
        costs = []
        for u in us:  # every column moved outwards by its part
            aim = u * unit / (np.linalg.norm(u * unit) or 1.0) * (off * (1 - 1e-12))
            worst = [a + b * c for a, b, c in zip(*map(rational, (u, unit, aim)), strict=True)]
            sigma = [Rational(1)] * d
            costs.append(
                conjugate(penalty, sigma, [Rational(t) * v / Rational(low) for v in worst])
            )
        if None not in costs:
            values.append(
                Rational(gain) / Rational(high) - sum(costs) - Rational(t) * Rational(slip)
            )
    if not Rational(found) <= max(values):
        yield f"{penalty}: {found} above {near(max(values))}"
    smooth = isinstance(penalty, L2) or bool(penalty.lam2)
    close = max(values) * (1 - Rational(1, 10**9)) - TINY
    if off == 0.0 and smooth and not Rational(found) >= close:
        yield f"{penalty}: {found} far below {near(max(values))}"
    if (found > 0) != (multiple > 0) or multiple not in (0.0, *gains):
        yield f"{penalty}: {found} at {multiple}"
    left = us.ravel() + lam * low * theta if smooth else us
    reach = 1.0 if isinstance(penalty, L2) else min(1.0, lam * low / float(np.abs(left).max()))
    allowed = min(1.0, penalty.reach(pull, theta, 1.0 / low))
    if off == 0.0 and not reach * (1 - 1e-12) <= allowed <= reach:
        yield f"{penalty}: reach {allowed}, not {reach}"


def class_slips(rng: np.random.Generator) -> Iterator[str]:
    """What biases take away: Σ|δₖ|B/S, with c that has been rounded."""
    k, lam = int(rng.integers(2, 6)), float(10.0 ** rng.uniform(-2, 2))
    low = float(rng.uniform(1, 5))
    high, smallest = low * float(rng.uniform(1, 1.5)), low * float(rng.uniform(0.01, 0.4))
    longest, rest = float(rng.uniform(0, 5)), float(rng.choice([0.0, 0.1, 1e-12]))
    level = float(rng.choice([0.1, 1.0, 50.0]))
    masses = softmax.Masses(Weights(np.zeros(0), low, high), smallest, longest, rest)
    found = softmax.slip_of(L2(lam), k, level, masses)
    least = min(level, math.log(k))
    far = 2 * longest * math.sqrt(2 * least / lam) + least * high / smallest
    left = rest + (k + 8) * 2.0**-53 * 2 * high
    if not left * far / low <= found <= left * far / low * (1 + 1e-9):
        yield f"slip {found}, not {left * far / low}"
    felt, reached = softmax.felt_of(k, 3, 2.5), (k + 8) * 2.0**-53 * 2.5
    if not reached <= felt <= reached * 1.0001:
        yield f"felt {felt}, not {reached}"


CLASS_PARTS = (class_losses, entropies, class_probabilities, class_duals, class_slips)
