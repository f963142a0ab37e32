"""Input that no Lasso and no stagewise run can use, and input at the edges of what they can."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import cotas.solvers.lasso_working_set as working_set
import cotas.solvers.stagewise as stagewise
from cotas import ForwardStagewise, Lasso, LSBoost, RegularizedForwardStagewise, lasso_path
from cotas.stops import InterruptedWarning
from errors import refuses
from problems import regression

X, Y = regression(30, 5)
MODELS = [
    Lasso(lam=0.1),
    Lasso(delta=1.0),
    LSBoost(max_iter=50),
    ForwardStagewise(max_iter=50),
    RegularizedForwardStagewise(delta=2.0, max_iter=50),
]
by_model = pytest.mark.parametrize("model", MODELS, ids=str)


@pytest.mark.parametrize(
    ("parameters", "parameter"),
    [
        ({"lam": -1.0}, "lam"),
        ({"lam": 0.0}, "lam"),
        ({"lam": np.nan}, "lam"),
        ({"delta": 0.0}, "delta"),
        ({"delta": -2.0}, "delta"),
        ({"delta": np.inf}, "delta"),
        ({"lam": 1.0, "delta": 1.0}, "delta"),
        ({"tol": 0.0}, "tol"),
        ({"max_time": -1.0}, "max_time"),
    ],
)
def test_parameters_of_the_lasso(parameters, parameter):
    with refuses(parameter):
        Lasso(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("model", "parameter"),
    [
        (LSBoost(eps=0.0), "eps"),
        (LSBoost(eps=1.5), "eps"),
        (LSBoost(eps=-0.1), "eps"),
        (LSBoost(eps=[0.1, 0.2], max_iter=3), "eps"),
        (LSBoost(eps=lambda k: 1.0 - k, max_iter=3), "eps"),
        (LSBoost(eps=np.nan), "eps"),
        (LSBoost(max_iter=0), "max_iter"),
        (LSBoost(ties="last"), "ties"),
        (ForwardStagewise(eps=np.inf), "eps"),
        (RegularizedForwardStagewise(eps=1.0, delta=0.5), "eps"),
        (RegularizedForwardStagewise(delta=0.0), "delta"),
        (RegularizedForwardStagewise(delta=-np.inf), "delta"),
        (RegularizedForwardStagewise(delta=np.nan), "delta"),
    ],
)
def test_parameters_of_the_stagewise_algorithms(model, parameter):
    with refuses(parameter):
        model.fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "parameter"),
    [
        ({"method": "magic"}, "method"),
        ({"lams": [1.0, -1.0]}, "lams"),
        ({"lams": []}, "lams"),
        ({"ratio": 0.0}, "ratio"),
        ({"n_lams": 0}, "n_lams"),
        ({"method": "homotopy", "lams": [1.0]}, "method"),
    ],
)
def test_parameters_of_the_path(parameters, parameter):
    with refuses(parameter):
        lasso_path(X, Y, **parameters)


@by_model
def test_data_that_cannot_be_used(model):
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="X"):
            model.fit(np.where(X[0, 0] == X, bad, X), Y)
        with pytest.raises(ValueError, match="y"):
            model.fit(X, np.where(np.arange(30) == 3, bad, Y))
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, Y[:-1])
    with pytest.raises(ValueError, match="non-zero"):
        model.fit(X, Y, sample_weight=np.zeros(30))


def test_one_target_at_a_time_for_the_stagewise_algorithms():
    with pytest.raises(ValueError, match="1d"):
        LSBoost().fit(X, np.column_stack([Y, Y]))


@by_model
def test_columns_that_say_nothing(model):
    """Constant and repeated columns change neither the fit nor its certificate."""
    expected = model.fit(X, Y)
    fit, upper = expected.predict(X), expected.certificate_.upper
    constant = np.column_stack([np.full(30, 7.7), X, np.zeros(30)])
    other = model.fit(constant, Y)
    assert other.certificate_.holds
    assert other.coef_[0] == other.coef_[-1] == 0
    np.testing.assert_allclose(other.predict(constant), fit, atol=1e-4)
    repeated = model.fit(np.hstack([X, X]), Y)
    assert repeated.certificate_.holds
    if isinstance(model, Lasso):
        assert repeated.certificate_.upper == pytest.approx(upper, rel=1e-5)


@by_model
def test_one_row_and_constant_targets(model):
    for data in ((X[:1], Y[:1]), (X, np.full(30, 1e9))):
        fitted = model.fit(*data)
        assert (fitted.coef_ == 0).all()
        assert fitted.intercept_ == pytest.approx(data[1][0])
        assert fitted.certificate_.holds
        assert fitted.certificate_.gap < 1e-9


@by_model
@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_columns_of_any_scale(model, scale):
    fitted = model.fit(X * scale, Y)
    assert np.isfinite(fitted.coef_).all()
    assert np.isfinite(fitted.certificate_.upper)


@pytest.mark.parametrize("parameters", [{"lam": 1e-3}, {"delta": 2.0}], ids=str)
def test_interrupted_fits_are_honest(monkeypatch, parameters):
    real, tries = working_set.solve_on_gram, []

    def interrupted(state, m, lams, penalty, square, tols, rounds):
        if tries:
            raise KeyboardInterrupt
        tries.append(real(state, m, lams, penalty, square, np.full(len(tols), 1e-2), 1))
        return tries[-1]._replace(done=False)

    monkeypatch.setattr(working_set, "solve_on_gram", interrupted)
    wide = regression(30, 200, seed=9)
    with pytest.warns(InterruptedWarning):
        model = Lasso(**parameters, tol=1e-12).fit(*wide)
    assert (model.coef_ != 0).any()
    assert model.certificate_.relative_gap > 1e-12
    assert model.certificate_.holds
    assert model.certificate_.verify(*wide)


def test_interrupted_runs_are_honest(monkeypatch):
    real = stagewise.follow

    def interrupted(gram, c, c0, schedule, path, k, least):
        if k >= 20:
            raise KeyboardInterrupt
        short = stagewise.StagewiseSteps(path.chosen[: k + 20], path.steps[: k + 20])
        return real(gram, c, c0, schedule, short, k, least)

    monkeypatch.setattr(stagewise, "follow", interrupted)
    monkeypatch.setattr(stagewise.Stagewise, "_fetch", lambda self: True)
    with pytest.warns(InterruptedWarning):
        model = LSBoost(max_iter=500).fit(X, Y)
    assert model.n_iter_ == 20
    assert model.certificate_.holds
    assert model.certificate_.verify(X, Y)


def test_a_penalty_far_below_rounding_ends_soon():
    """On the way to it no λ is solved again and again: its gap cannot be seen."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 4)), 1e100 * random.normal(size=60)
    with pytest.warns(ConvergenceWarning):
        model = Lasso(lam=1e-6).fit(X, y)
    assert model.n_iter_ < 10_000
