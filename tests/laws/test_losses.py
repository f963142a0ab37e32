"""Laws that every loss obeys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cotas.certificates.core import margins as core
from cotas.certificates.core import residuals
from cotas.losses import (
    Exponential,
    Hinge,
    Logistic,
    ModifiedHuber,
    Squared,
    SquaredHinge,
    ZeroOne,
)
from cotas.solvers import losses as solvers

CONVEX = [Hinge(), Squared(), Exponential(), Logistic(), SquaredHinge(), ModifiedHuber()]
MARGIN = [Hinge(), Exponential(), Logistic(), SquaredHinge(), ModifiedHuber()]
SOLVERS = [*solvers.SMOOTH.values(), solvers.Huber(1.35)]
numbers = st.floats(-30, 30, allow_nan=False)


def test_the_losses_of_the_documents_are_their_formulas():
    z = np.linspace(-5, 5, 1001)
    np.testing.assert_array_equal(ZeroOne().value(z), np.where(z <= 0, 1, 0))
    np.testing.assert_array_equal(Hinge().value(z), np.where(z <= 1, 1 - z, 0))
    np.testing.assert_allclose(Exponential().value(z), np.exp(-z))
    np.testing.assert_allclose(Logistic().value(z), np.log(1 + np.exp(-z)))
    np.testing.assert_array_equal(Squared().value(z), z**2 / 2)


@pytest.mark.parametrize("loss", CONVEX, ids=lambda loss: loss.name)
@given(z=numbers)
def test_slope_is_the_derivative(loss, z):
    if isinstance(loss, Hinge) and abs(z - 1) < 1e-3:
        return  # the corner has no derivative
    h = 1e-5
    measured = (loss.value(np.array(z + h)) - loss.value(np.array(z - h))) / (2 * h)
    # Where the second derivative jumps, the quotient is half a jump times h off.
    assert loss.slope(np.array(z)) == pytest.approx(float(measured), rel=1e-5, abs=2 * h)


@pytest.mark.parametrize("loss", CONVEX, ids=lambda loss: loss.name)
@given(z=numbers, a=st.floats(-40, 40))
def test_fenchel_young(loss, z, a):
    total = loss.value(np.array(z)) + loss.conjugate(np.array(a))
    assert total >= a * z - 1e-9 * (1 + abs(a * z))


@pytest.mark.parametrize("loss", CONVEX, ids=lambda loss: loss.name)
@given(z=numbers)
def test_fenchel_young_is_tight_at_the_slope(loss, z):
    a = loss.slope(np.array(z))
    total = loss.value(np.array(z)) + loss.conjugate(a)
    assert total == pytest.approx(float(a) * z, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("loss", SOLVERS, ids=repr)
@given(y=st.sampled_from([-1.0, 1.0]), z=numbers)
def test_the_losses_of_the_solvers_have_the_derivatives_that_they_say(loss, y, z):
    h, edge = 1e-5, abs(abs(z - y) - loss.k) if loss else min(abs(y * z - 1), abs(y * z + 1))
    if not isinstance(loss, solvers.Logistic) and edge < 1e-3:
        return  # the slope has a corner there
    first = (solvers.value(loss, y, z + h) - solvers.value(loss, y, z - h)) / (2 * h)
    second = (solvers.slope(loss, y, z + h) - solvers.slope(loss, y, z - h)) / (2 * h)
    assert solvers.slope(loss, y, z) == pytest.approx(first, rel=1e-5, abs=1e-6)
    assert solvers.curvature(loss, y, z) == pytest.approx(second, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("loss", SOLVERS, ids=repr)
def test_the_losses_of_the_solvers_are_those_of_the_core_in_every_row(loss):
    y, z = np.where(np.arange(40) % 3 == 0, 1.0, -1.0), np.linspace(-4, 4, 40)
    kind = getattr(residuals if loss else core, type(loss).__name__)
    expected, weights = kind(*loss), np.linspace(0, 1, 40)
    slopes, curvatures = np.empty((2, 40))
    value = solvers.derivatives(loss, y, weights, z, slopes, curvatures)
    assert value == pytest.approx(float(weights @ expected.value(y, z, 0.0)), rel=1e-12)
    assert value == solvers.total(loss, y, weights, z)
    np.testing.assert_allclose(slopes, weights * expected.slope(y, z), rtol=1e-6, atol=1e-8)
    rows = [weights[i] * solvers.curvature(loss, y[i], z[i]) for i in range(40)]
    np.testing.assert_allclose(curvatures, rows, rtol=1e-14)


@pytest.mark.parametrize("loss", MARGIN, ids=lambda loss: loss.name)
def test_the_conjugate_is_finite_exactly_between_the_steepest_slope_and_zero(loss):
    deepest = min(loss.steepest, 1e6)
    inside = -deepest * np.linspace(0, 1, 11)
    assert np.isfinite(loss.conjugate(inside)).all()
    assert np.isinf(loss.conjugate(np.array(1e-9)))
    if np.isfinite(loss.steepest):
        assert np.isinf(loss.conjugate(np.array(-loss.steepest * (1 + 1e-9))))


def test_the_modified_huber_loss_is_the_squared_hinge_without_its_steep_part():
    z = np.linspace(-1, 3, 401)
    np.testing.assert_allclose(ModifiedHuber().value(z), SquaredHinge().value(z))
    assert ModifiedHuber().value(np.array(-2.0)) < SquaredHinge().value(np.array(-2.0))


def test_hinge_bounds_zero_one_from_above():
    z = np.linspace(-5, 5, 1001)
    assert (Hinge().value(z) >= ZeroOne().value(z)).all()
    assert ZeroOne().value(np.array([0.0])) == 1  # the boundary is a mistake


def test_hinge_between_zero_and_one_is_not_the_misprint():
    assert Hinge().value(np.array(0.25)) == 0.75


def test_extreme_arguments_do_not_overflow_the_logistic_loss():
    values = Logistic().value(np.array([-1e300, 1e300]))
    assert values[0] == 1e300
    assert values[1] == 0
