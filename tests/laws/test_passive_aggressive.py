"""Algorithm 4 of Fuentes Cabrera, and the bound of Crammer et al. 2006."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cotas import PassiveAggressive
from problems import labelled

lams = st.sampled_from([0.01, 0.3, 1.0, 20.0])


@given(data=labelled(max_rows=8), lam=lams)
def test_after_a_step_the_loss_is_zero_or_the_step_was_the_longest(data, lam):
    model = PassiveAggressive(lam=lam)
    before = np.zeros(data.X.shape[1] + 1)
    for x, label in zip(data.X, data.y, strict=True):
        model.partial_fit([x], [label], classes=[-1, 1])
        after = np.append(model.coef_[0], model.intercept_)
        z = np.append(x, 1.0)
        if not np.array_equal(after, before):
            step = np.linalg.norm(after - before) / np.linalg.norm(z)
            loss = 1 - label * (after @ z)
            assert abs(loss) <= 1e-9 * (1 + z @ z) or step == pytest.approx(1 / lam)
        before = after


@given(data=labelled(), lam=lams, epochs=st.integers(1, 5), average=st.booleans())
def test_mistake_bound(data, lam, epochs, average):
    model = PassiveAggressive(lam=lam, max_iter=epochs, average=average).fit(*data)
    certificate = model.certificate_
    assert certificate.holds
    assert certificate.verify(*data)
    # The theorem by hand, with u the model itself and every epoch counted.
    Z = np.column_stack([data.X, np.ones(len(data.y))])
    u = np.append(model.coef_[0], model.intercept_)
    losses = model.certificate_.figures["presentations"] / len(data.y)
    losses *= np.maximum(0, 1 - data.y * (Z @ u)).sum()
    bound = max((Z**2).sum(axis=1).max(), lam) * (u @ u + 2 / lam * losses)
    assert certificate.upper == pytest.approx(bound, rel=1e-6)
    assert certificate.lower == model.mistakes_per_epoch_.sum() <= bound * (1 + 1e-9)


@given(data=labelled(), lam=lams, seed=st.integers(0, 99))
def test_mistake_bound_with_weights(data, lam, seed):
    weights = np.random.default_rng(seed).uniform(0.1, 3, len(data.y))
    model = PassiveAggressive(lam=lam, max_iter=3).fit(*data, sample_weight=weights)
    assert model.certificate_.verify(*data)


def test_a_zero_row_without_bias_is_no_division_by_zero():
    model = PassiveAggressive(fit_intercept=False, max_iter=3)
    model.fit([[0.0], [1.0], [-1.0]], [1, 1, -1])
    assert np.isfinite(model.coef_).all()
    assert model.certificate_.holds
