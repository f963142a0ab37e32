"""The bounds of the core enclose in exact arithmetic: fresh problems in every run.

`COTAS_SEED` repeats a run, `make deep` looks at a million problems.
"""

import os
import time
from collections.abc import Callable

import numpy as np
import pytest
from scipy import sparse

from cotas.certificates.core import gap, margins, residuals, sparsity
from cotas.certificates.core.gap import Claim, Risk
from cotas.certificates.core.sparse_rows import rows_in
from laws.exact.any_choice import choice_failures
from laws.exact.cases import FAMILIES, draw
from laws.exact.claims import bounds, failures
from laws.exact.more_claims import softmax_failures, squares_failures
from laws.exact.oracle import Exact, Rational, at_least, at_most, rational

SEED = int(os.environ.get("COTAS_SEED", time.time_ns() // 1000 % 10**12))
# Problems of each family, and the seconds after which a slow machine stops asking for more.
EACH, SECONDS = 25, 0.5


@pytest.mark.parametrize("family", FAMILIES, ids=" ".join)
def test_no_bound_is_false_in_exact_arithmetic(family: tuple[str, str]) -> None:
    begin = time.monotonic()
    for k in range(EACH):
        found = failures(SEED + k, family)
        assert not found, f"COTAS_SEED={SEED}: " + "; ".join(found)
        if time.monotonic() - begin > SECONDS:
            break


@pytest.mark.parametrize("law", [squares_failures, softmax_failures, choice_failures])
def test_no_bound_of_its_own_kind_is_false(law: Callable[[int], list[str]]) -> None:
    begin = time.monotonic()
    for k in range(100):
        found = law(SEED + k)
        assert not found, f"COTAS_SEED={SEED}: " + "; ".join(found)
        if time.monotonic() - begin > 4 * SECONDS:
            break


@pytest.mark.parametrize("free_bias", [False, True])
@pytest.mark.parametrize(
    "loss", [gap.Hinge(), residuals.Squared(), residuals.EpsilonInsensitive(0.5)]
)
def test_no_bound_is_false_with_many_rows(loss: object, free_bias: bool) -> None:
    rng = np.random.default_rng(SEED)
    X = rng.integers(-3, 4, size=(5000, 2)) + np.array([2.0**31, 0.0])
    y = np.sign(X[:, 1] + rng.normal(size=5000)) + 0.0
    y[y == 0] = 1.0
    risk = Risk(loss, gap.L2(1.0), free_bias)
    exact = Exact(risk, X, y, None)
    theta, bias = np.array([0.0, 0.25]), 0.125 * free_bias
    found = bounds(rows_in(X, free_bias), Claim(risk, y, theta, bias))
    value = exact.value(rational(theta), Rational(bias))
    assert at_least(found.upper, value), SEED
    assert at_most(found.lower, value), SEED


def test_the_oracle_agrees_with_itself_along_a_line() -> None:
    """The smallest value on a line is no larger than others on it, and is reached."""
    rng = np.random.default_rng(SEED)
    for loss in (gap.Hinge(), margins.ModifiedHuber(), residuals.Huber(0.5), residuals.Squared()):
        X, y = rng.normal(size=(9, 2)), np.where(rng.random(9) < 0.5, 1.0, -1.0)
        exact = Exact(Risk(loss, sparsity.ElasticNetRegularizer(0.1, 0.1), True), X, y, None)
        theta, step = rational(rng.normal(size=2)), rational(rng.normal(size=2))
        least = exact.smallest_on_line(theta, Rational(0), step, Rational(1))

        def along(
            tau: float, exact: Exact = exact, theta: list = theta, step: list = step
        ) -> object:
            moved = [t + Rational(tau) * dt for t, dt in zip(theta, step, strict=True)]
            return exact.value(moved, Rational(tau))

        grid = [along(float(tau)) for tau in np.linspace(-4, 4, 801)]
        assert least <= min(grid)
        assert min(grid) - least < 0.1 * (1 + least)


def test_cases_are_optimal_by_construction() -> None:
    """Most of the drawn pairs are optimal: otherwise the laws would look at loose bounds only."""
    rng = np.random.default_rng(SEED)
    assert np.mean([draw(rng).optimal for _ in range(200)]) > 0.5, SEED


def test_sparse_rows_are_measured_as_dense_ones() -> None:
    random = np.random.default_rng(0)
    X = sparse.random(900, 40, density=0.1, format="csr", random_state=0)
    X = X @ sparse.diags(10.0 ** random.integers(-160, 160, 40))
    X = sparse.vstack([X, sparse.csr_matrix((3, 40))], format="csr")
    dense, rows = rows_in(X.toarray(), False), rows_in(X, False)
    assert (rows.unit == dense.unit).all()
    assert rows.plain == dense.plain


# Losses that nearly vanish: rounding is a part of them that sums in another order show.
NEARLY_ZERO = {
    911878479070: "+ball",
    911878500148: "ball",
    911878501062: "ball",
    911878506541: "net",
    911878522934: "+ball",
    20473293: "positive net",
}


@pytest.mark.parametrize("seed", NEARLY_ZERO)
def test_bounds_that_nearly_vanish_are_proved_in_any_order(seed: int) -> None:
    assert not failures(seed, ("epsilon", NEARLY_ZERO[seed]))
