"""The stagewise certificates against exact arithmetic, on data that are badly scaled on purpose.

Floating-point numbers are rational, and so is everything here but the lengths σⱼ of the columns,
which are known to 300 binary digits: far more than any of the inequalities leaves open.
"""

from __future__ import annotations

import dataclasses
import math
import os
import secrets
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from cotas import ForwardStagewise, LSBoost, RegularizedForwardStagewise

SEED = int(os.environ.get("COTAS_SEED", secrets.randbits(32)))
PROBLEMS = int(os.environ.get("COTAS_PROBLEMS", 60))
DIGITS = 300


def rational(values):
    return [Fraction(v) for v in np.asarray(values, dtype=np.float64).ravel().tolist()]


def root(x):
    """√x to 300 binary digits, from below."""
    shift = 2 * (DIGITS + max(0, x.denominator.bit_length() - x.numerator.bit_length()))
    return Fraction(math.isqrt((x.numerator << shift) // x.denominator), 1 << (shift // 2))


def inner(w, a, b):
    return sum((wi * ai * bi for wi, ai, bi in zip(w, a, b, strict=True)), Fraction(0))


def solve(A, b):
    """A solution of A x = b, which has one, for a symmetric A that may be singular."""
    A, x = [[*row, v] for row, v in zip(A, b, strict=True)], [Fraction(0)] * len(b)
    pivots, top = [], 0
    for j in range(len(b)):
        at = next((i for i in range(top, len(A)) if A[i][j]), None)
        if at is None:
            continue
        A[top], A[at] = A[at], A[top]
        A[top] = [v / A[top][j] for v in A[top]]
        for i in range(len(A)):
            if i != top and A[i][j]:
                A[i] = [v - A[i][j] * u for v, u in zip(A[i], A[top], strict=True)]
        pivots.append(j)
        top += 1
    for i, j in enumerate(pivots):
        x[j] = A[i][-1]
    return x, len(pivots)


def semidefinite(A):
    """Whether a symmetric matrix has no negative eigenvalue, by elimination without error."""
    A = [list(row) for row in A]
    for k in range(len(A)):
        if A[k][k] < 0 or (A[k][k] == 0 and any(A[i][k] for i in range(k, len(A)))):
            return False
        for i in range(k + 1, len(A)):
            if A[k][k]:
                f = A[i][k] / A[k][k]
                A[i] = [v - f * u for v, u in zip(A[i], A[k], strict=True)]
    return True


class Exact:
    """A problem without rounding: columns centred, their lengths, least squares."""

    def __init__(self, X, y, weights, centred):
        self.w = rational(np.ones(len(y)) if weights is None else weights)
        self.n = sum(self.w)
        self.raw, self.raw_y = [rational(column) for column in np.asarray(X, float).T], rational(y)
        self.centred = centred
        self.columns, self.y = [self.centre(x) for x in self.raw], self.centre(self.raw_y)
        self.squares = [inner(self.w, x, x) for x in self.columns]
        self.used = [j for j, s in enumerate(self.squares) if s]
        self.sigma = [root(s) if s else Fraction(1) for s in self.squares]
        self.C = [
            [inner(self.w, self.columns[i], self.columns[j]) for j in self.used] for i in self.used
        ]
        self.cross = [inner(self.w, self.columns[j], self.y) for j in self.used]
        self.solution, self.rank = solve(self.C, self.cross)
        self.square = inner(self.w, self.y, self.y)
        self.fitted = sum(
            (a * b for a, b in zip(self.solution, self.cross, strict=True)), Fraction(0)
        )

    def centre(self, x):
        mean = inner(self.w, x, [1] * len(x)) / self.n if self.centred else 0
        return [v - mean for v in x]

    def smallest_is_at_least(self, mu):
        """λ_pmin ≥ μ: for XᵀX if it is regular, else for XXᵀ, which has the same λ_pmin."""
        if self.rank == len(self.used):
            return semidefinite(
                [[self.C[i][j] - (mu * self.C[i][i] if i == j else 0) for j in range(self.rank)]
                 for i in range(self.rank)]
            )  # fmt: skip
        rows = [i for i, w in enumerate(self.w) if w]
        # 2μ·(the projection on what is orthogonal to all columns) lifts the zeros of XXᵀ over μ.
        basis = self._orthogonal(rows)
        K = [[sum(self.columns[j][a] * self.columns[j][b] / self.squares[j] for j in self.used)
              for b in rows] for a in rows]  # fmt: skip
        w = [self.w[i] for i in rows]
        for v in basis:
            size = sum(x * x / u for x, u in zip(v, w, strict=True))
            for a in range(len(rows)):
                for b in range(len(rows)):
                    K[a][b] += 2 * mu * v[a] * v[b] / (w[a] * w[b]) / size
        return semidefinite(
            [[K[a][b] - (mu / w[a] if a == b else 0) for b in range(len(rows))]
             for a in range(len(rows))]
        )  # fmt: skip

    def _orthogonal(self, rows):
        """Vectors v, orthogonal for Σvu/w, with Σ vᵢxᵢⱼ = 0 for each column j."""
        found = []
        for i in range(len(rows)):
            v = [Fraction(int(i == a)) for a in range(len(rows))]
            span = [[self.w[r] * self.columns[j][r] for r in rows] for j in self.used] + found
            w = [self.w[r] for r in rows]
            M = [
                [sum(a * b / u for a, b, u in zip(p, q, w, strict=True)) for q in span]
                for p in span
            ]
            t = [sum(a * b / u for a, b, u in zip(p, v, w, strict=True)) for p in span]
            x, _ = solve(M, t)
            v = [c - sum(x[k] * span[k][a] for k in range(len(span))) for a, c in enumerate(v)]
            if any(v):
                found.append(v)
        return found

    def residual(self, beta):
        found = list(self.y)
        for j in self.used:
            if beta[j]:
                found = [
                    r - beta[j] / self.sigma[j] * x
                    for r, x in zip(found, self.columns[j], strict=True)
                ]
        return found

    def correlations(self, r):
        return [inner(self.w, self.columns[j], r) / self.sigma[j] for j in self.used]

    def loss(self, coef, intercept):
        """2n L_n of a model as it predicts."""
        total = Fraction(0)
        for i, w in enumerate(self.w):
            r = (
                self.raw_y[i]
                - intercept
                - sum(c * x[i] for c, x in zip(coef, self.raw, strict=True))
            )
            total += w * r * r
        return total


def betas(run, p):
    """βᵏ for every k, from the steps of the run."""
    beta, found = [Fraction(0)] * p, []
    found.append(list(beta))
    delta = None if math.isinf(run.delta) else Fraction(run.delta)
    for eps, j, u in zip(rational(run.eps), run.chosen.tolist(), rational(run.steps), strict=True):
        if delta is not None:
            beta = [(1 - eps / delta) * b for b in beta]
        beta[j] += u
        found.append(list(beta))
    return found


def quantities(exact, beta):
    """Everything that an item can be about, squared where there is a root."""
    r = exact.residual(beta)
    c = exact.correlations(r)
    excess = inner(exact.w, r, r) - (exact.square - exact.fitted)
    far = None
    if exact.rank == len(exact.used):
        e = [beta[j] - s * exact.sigma[j] for j, s in zip(exact.used, exact.solution, strict=True)]
        far = sum((v * v for v in e), Fraction(0))
    agree = sum((beta[j] * v for j, v in zip(exact.used, c, strict=True)), Fraction(0))
    top = max((abs(v) for v in c), default=Fraction(0))
    length = sum(map(abs, beta))
    return excess, far, top, length, sum(b != 0 for b in beta), agree, inner(exact.w, r, r)


def largest_true(name, algorithm, found, exact, delta):
    """The quantity of an item, squared, and what it is multiplied with in the item."""
    excess, far, top, length, nonzeros, agree, _ = found
    if algorithm == "R-FS" and name in ("training error", "predictions"):
        omega = top - agree / delta
        return (delta * omega / exact.n) ** 2 if name == "training error" else 2 * delta * omega
    return {
        "training error": (excess / (2 * exact.n)) ** 2,
        "coefficients": far,
        "predictions": excess,
        "gradient": (top / exact.n) ** 2,
        "correlation": top**2,
        "length of the coefficients": length**2,
        "coefficients that are not zero": Fraction(nonzeros) ** 2,
    }[name]


def exact_bounds(certificate, exact, k, drop):
    """The bounds of the theorem at iteration k, squared, with μ for λ_pmin and F for ‖Xβ_LS‖²."""
    run = certificate.witness
    mu = Fraction(certificate.figures["λ_pmin, at least"])
    F = Fraction(certificate.figures["‖Xβ_LS‖², at most"])
    eps, p, n = rational(run.eps), len(exact.used), exact.n
    bounds = {"coefficients that are not zero": Fraction(k) ** 2}
    if run.algorithm == "LS-Boost":
        products = [Fraction(1)]
        for e in eps[:k]:
            products.append(products[-1] * (1 - e * (2 - e) * mu / (4 * max(p, 1))))
        here = F * products[k]
        bounds |= {"training error": (here / (2 * n)) ** 2, "predictions": here}
        bounds |= {"gradient": here / n**2, "coefficients": here / mu if mu else (None if F else F)}
        by_drop = sum((e / (2 - e) for e in eps[:k]), Fraction(0)) * drop
        by_rate = sum(
            (e * root(F * q) for e, q in zip(eps[:k], products, strict=False)), Fraction(0)
        )
        bounds["length of the coefficients"] = min(by_drop, by_rate**2)
        return bounds
    again = [*eps[:k], eps[min(k, len(eps) - 1)]] if eps else []
    square = 4 if run.algorithm == "R-FS" else 1
    b = (F + square * sum(e * e for e in again)) / (2 * sum(again)) if again else None
    if b is None:
        # Without a step the theorem says something only where nothing is left to explain.
        names = ("training error", "coefficients", "predictions", "correlation")
        bounds |= dict.fromkeys(names, None if F else Fraction(0))
        return bounds | {"length of the coefficients": Fraction(0)}
    if run.algorithm == "R-FS":
        delta, kept = Fraction(run.delta), Fraction(1)
        for e in eps[:k]:
            kept *= 1 - e / delta
        bounds |= {"training error": (delta * b / n) ** 2, "predictions": 2 * delta * b}
        return bounds | {"length of the coefficients": (delta * (1 - kept)) ** 2}
    wide = 4 * p * b * b
    bounds |= {"correlation": b * b, "length of the coefficients": sum(eps[:k]) ** 2}
    if mu:
        bounds |= {"training error": (wide / (2 * n * mu)) ** 2}
        bounds |= {"coefficients": wide / mu**2, "predictions": wide / mu}
    return bounds


def say(seed):
    return f"COTAS_SEED={seed}"


def check_items(certificate, exact, seed):
    """Every item that is said to hold is true, and what was measured is no less than it is."""
    run, opened = certificate.witness, 0
    path = betas(run, len(exact.raw))
    found = [quantities(exact, beta) for beta in path]
    for k in range(len(path)):
        items = certificate.at(k)
        bounds = exact_bounds(certificate, exact, k, exact.square - found[k][6])
        for item in items:
            at = item.iteration
            assert at == k or (at < k and run.algorithm != "LS-Boost")
            opened += not item.holds
            true = largest_true(item.name, run.algorithm, found[at], exact, Fraction(run.delta or 0)
                                if math.isfinite(run.delta) else None)  # fmt: skip
            if true is None:
                continue
            if math.isfinite(item.measured):
                assert true <= Fraction(item.measured) ** 2 * ROOM, (say(seed), k, item)
            if item.holds:
                assert item.measured <= item.bound, (say(seed), k, item)
                assert bounds[item.name] is not None, (say(seed), k, item)
                assert true <= bounds[item.name] * ROOM, (say(seed), k, item)
    return opened


# Where both sides are equal, the 300 digits of σ decide: this is what they leave.
ROOM = 1 + Fraction(1, 1 << (DIGITS - 40))


def check_claim(certificate, exact, seed):
    """The sentence itself: λ_pmin, ‖Xβ_LS‖², the training error of the model, the ball."""
    run, figures = certificate.witness, certificate.figures
    mu, F = figures["λ_pmin, at least"], figures["‖Xβ_LS‖², at most"]
    assert exact.fitted <= Fraction(F), say(seed)
    if mu:
        assert exact.smallest_is_at_least(Fraction(mu)), say(seed)
    loss = exact.loss(rational(run.coef), Fraction(run.intercept))
    lower, upper = Fraction(certificate.lower), Fraction(certificate.upper)
    if run.algorithm == "R-FS":
        assert loss <= 2 * exact.n * upper * ROOM, say(seed)
        delta = Fraction(run.delta)
        _, _, top, _, _, agree, square = quantities(exact, betas(run, len(exact.raw))[-1])
        dual = square - 2 * (delta * top - agree)
        assert 2 * exact.n * lower <= max(dual * ROOM, 0), say(seed)
        return
    assert lower <= upper
    end = Fraction(figures["at the end, at most"]) if run.algorithm == "FS" else lower
    assert loss - (exact.square - exact.fitted) <= 2 * exact.n * end * ROOM, say(seed)


def draw(rng):
    """Few rows and columns; offsets up to 2⁴⁰, scales 1e±12, duplicates, constants, weights."""
    n, p = int(rng.integers(2, 7)), int(rng.integers(1, 5))
    X = rng.integers(-4, 5, (n, p)).astype(float)
    if rng.random() < 0.5:
        X = rng.normal(size=(n, p))
    X *= 10.0 ** rng.integers(-12, 13, p) if rng.random() < 0.5 else 1.0
    X += 2.0 ** rng.integers(0, 41, p) * rng.integers(-1, 2, p) if rng.random() < 0.6 else 0.0
    if rng.random() < 0.2:
        X[:, -1] = X[:, 0]
    if rng.random() < 0.2:
        X[:, -1] = rng.choice([0.1, 3.0, 2.0**40])
    y = rng.normal(size=n) * 10.0 ** rng.integers(-12, 13) + rng.choice([0.0, 1.0, 2.0**40])
    weights = rng.choice([0.0, 0.1, 1.0, 3.0], n) if rng.random() < 0.3 else None
    if weights is not None and not weights.any():
        weights = None
    return X, y, weights


def models(rng, y):
    size = float(np.ptp(y)) or 1.0
    k, bias = int(rng.integers(1, 13)), bool(rng.random() < 0.8)
    eps = float(rng.choice([0.1, 0.5, 1.0]))
    yield LSBoost(eps=eps, max_iter=k, fit_intercept=bias)
    yield ForwardStagewise(eps=eps * size, max_iter=k, fit_intercept=bias)
    delta = size * float(rng.uniform(1, 5))
    yield RegularizedForwardStagewise(eps=eps * size, delta=delta, max_iter=k, fit_intercept=bias)


@pytest.mark.parametrize("number", range(PROBLEMS))
def test_every_claim_is_true_without_rounding(number):
    rng = np.random.default_rng([SEED, number])
    X, y, weights = draw(rng)
    for model in models(rng, y):
        certificate = model.fit(X, y, sample_weight=weights).certificate_
        exact = Exact(X, y, weights, model.fit_intercept)
        check_items(certificate, exact, (SEED, number))
        if certificate.holds:
            check_claim(certificate, exact, (SEED, number))


ARRAYS = ("eps", "steps", "coef", "weights", "chosen")
NUMBERS = ("delta", "intercept")


def forgeries(run, rng):
    """The run with each of its fields replaced by something else."""
    for name in ARRAYS:
        given = np.asarray(getattr(run, name), dtype=np.float64)
        for value in (math.nan, math.inf, -math.inf, 5e-324, -1.0, 1e300, 0.0):
            other = given.copy()
            other[int(rng.integers(len(other)))] = value
            yield name, other
            yield name, np.full_like(given, value)
        for factor in (2.0, 1 + 1e-6, 1 + 1e-13, 1e-300, -1.0):
            yield name, given * factor
        yield name, rng.permutation(given)
        yield name, given[:-1]
        yield name, np.append(given, given[-1])
        yield name, given[:, None]
        for dtype in (np.float32, np.float16, np.int64, np.uint8, np.complex128, object, str):
            with np.errstate(all="ignore"):
                yield name, given.astype(dtype)
    for name in NUMBERS:
        given = getattr(run, name)
        for value in (
            math.nan,
            math.inf,
            -math.inf,
            5e-324,
            -given,
            2 * given,
            given * (1 + 1e-6),
            0,
        ):
            yield name, value
        yield name, str(given)
        yield name, np.float32(given)
    yield "free_bias", not run.free_bias
    yield "weights", None
    for algorithm in ("LS-Boost", "FS", "R-FS", "none", None):
        yield "algorithm", algorithm


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("algorithm", range(3))
def test_a_forged_run_proves_nothing_that_is_false(algorithm, number):
    """Whatever is written into the witness, what then holds is true of these data."""
    rng = np.random.default_rng([SEED, 1000, number])
    X = rng.normal(size=(8, 3)) * [1.0, 1e3, 1e-6] + [0.0, 2.0**30, 0.0]
    y, weights = X[:, 0] + rng.normal(size=8), rng.choice([0.5, 1.0, 2.0], 8)
    model = list(models(rng, y))[algorithm].set_params(max_iter=8)
    run = model.fit(X, y, sample_weight=weights).certificate_.witness
    assert run.check(X, y).holds
    tried = held = 0
    for name, value in forgeries(run, rng):
        forged = dataclasses.replace(run, **{name: value})
        tried += 1
        try:
            found = forged.check(X, y)
        except (ValueError, TypeError, ArithmeticError, LookupError):
            continue
        if not found.holds:
            continue
        held += 1
        witness = found.witness
        exact = Exact(X, y, witness.weights, witness.free_bias)
        check_items(found, exact, (SEED, number, name, value))
        check_claim(found, exact, (SEED, number, name, value))
    assert tried > 150
    assert held < tried / 3


@pytest.mark.parametrize("name", ["bounds", "measured", "holds"])
def test_forged_items_do_not_verify(name):
    rng = np.random.default_rng([SEED, 2000])
    X = rng.normal(size=(20, 3))
    y = X @ np.ones(3) + rng.normal(size=20)
    certificate = LSBoost(max_iter=1).fit(X, y).certificate_
    assert certificate.verify(X, y)
    proof = certificate.proof
    other = np.ones_like(proof.holds) if name == "holds" else getattr(proof, name) * 0.9
    forged = dataclasses.replace(certificate, proof=dataclasses.replace(proof, **{name: other}))
    assert not forged.verify(X, y)


def test_time_stamps_are_no_constant():
    """A column is constant if all its entries are equal, and not because its spread is small."""
    rng = np.random.default_rng([SEED, 3000])
    stamps = 1.7e12 + rng.uniform(0, 200, 20_000).round(1)
    X = np.column_stack([stamps, rng.normal(size=20_000), np.full(20_000, 0.1)])
    y = (stamps - 1.7e12) / 50 + X[:, 1] + 0.1 * rng.normal(size=20_000)
    for form in (X, sparse.csr_matrix(X)):
        model = LSBoost(eps=0.5, max_iter=60).fit(form, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_)
    model = LSBoost(eps=0.5, max_iter=60).fit(X, y)
    assert model.certificate_.holds
    assert model.coef_ == pytest.approx([0.02, 1.0, 0.0], abs=0.01)
    assert np.std(y - model.predict(X)) < 0.2
