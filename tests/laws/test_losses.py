"""Laws that every loss obeys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cotas.losses import (
    Exponential,
    Hinge,
    Logistic,
    ModifiedHuber,
    Squared,
    SquaredHinge,
    ZeroOne,
)

CONVEX = [Hinge(), Squared(), Exponential(), Logistic(), SquaredHinge(), ModifiedHuber()]
MARGIN = [Hinge(), Exponential(), Logistic(), SquaredHinge(), ModifiedHuber()]
SMOOTH = [Logistic(), SquaredHinge(), ModifiedHuber()]
numbers = st.floats(-30, 30, allow_nan=False)


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


@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
@given(z=numbers)
def test_curvature_is_the_derivative_of_the_slope(loss, z):
    if not isinstance(loss, Logistic) and abs(abs(z) - 1) < 1e-3:
        return  # the slope has a corner there
    h = 1e-5
    measured = (loss.slope(np.array(z + h)) - loss.slope(np.array(z - h))) / (2 * h)
    assert loss.curvature(np.array(z)) == pytest.approx(float(measured), rel=1e-5, abs=1e-7)


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
