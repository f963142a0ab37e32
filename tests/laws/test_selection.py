"""Choosing by validation: what is measured, what is proved, and what goes with scikit-learn."""

import json

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as OtherRidge
from sklearn.metrics import accuracy_score, hinge_loss, mean_squared_error
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

import cotas
from cotas import kernels
from cotas.selection.choice import regimes_of
from problems import clouds, noisy_clouds, plane, regression, three_clouds

LAMS = [1.0, 0.1, 0.01]


def halves(data, n):
    """The first n rows to train on, and the others to judge by."""
    X, y = data
    return (X[:n], y[:n]), (X[n:], y[n:])


# ---- what is measured ----------------------------------------------------------------------------


def test_losses_and_errors_are_those_of_the_fitted_models():
    (X, y), held_out = halves(noisy_clouds(150), 100)
    exact = cotas.LinearSVM(tol=1e-9)
    found = cotas.choose(exact, X, y, values=LAMS, validation=held_out, tighten=0)
    for k, lam in enumerate(found.values):
        model = cotas.LinearSVM(lam=lam, tol=1e-9).fit(X, y)
        for rows, loss, error in (
            ((X, y), found.training_loss[k], found.training_error[k]),
            (held_out, found.validation_loss[k], found.validation_error[k]),
        ):
            scores = model.decision_function(rows[0])
            assert loss == pytest.approx(hinge_loss(rows[1], scores), rel=1e-3)
            assert error == pytest.approx(1 - accuracy_score(rows[1], model.predict(rows[0])))
    assert found.c == pytest.approx(1 / (np.array(found.values) * 100))
    assert found.best_c == pytest.approx(1 / (found.best_value * 100))


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3])
def test_a_part_is_held_out_and_the_others_are_trained_on(share):
    """70–90 % to train on and 10–30 % to choose with: c = 1/(λn) tells what n was."""
    X, y = noisy_clouds(150)
    found = cotas.choose(
        cotas.LinearSVM(), X, y, values=LAMS, validation=share, random_state=0, refit=False
    )
    np.testing.assert_allclose(1 / (found.c * found.values), (1 - share) * 150)
    wrong = np.array(found.validation_error) * share * 150
    np.testing.assert_allclose(wrong, np.round(wrong), atol=1e-9)


def test_more_complexity_never_raises_the_training_loss_of_an_optimum():
    X, y = noisy_clouds(150)
    found = cotas.choose(cotas.LinearSVM(tol=1e-8), X, y, random_state=0)
    assert len(found.values) == 13
    assert (np.diff(found.values) < 0).all()
    assert (np.diff(found.c) > 0).all()
    assert (np.diff(found.training_loss) <= 1e-6).all()


@pytest.mark.parametrize("options", [{}, {"standardize": True}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
def test_the_grid_of_a_lasso_begins_where_it_is_zero(options, layout):
    (X, y), held_out = halves(regression(), 40)
    validation = layout(held_out[0]), held_out[1]
    found = cotas.choose(cotas.Lasso(**options), layout(X), y, validation=validation, refit=False)
    first, second = found.values[0], found.values[1]
    at_most = cotas.Lasso(lam=first * 1.01, **options).fit(X, y)
    below = cotas.Lasso(lam=second, **options).fit(X, y)
    assert (at_most.coef_ == 0).all()
    assert (below.coef_ != 0).any()


def test_regimes_are_told_by_the_losses():
    """Both losses are larger where too little was learned, and ties are neither."""
    training, validation = np.array([5.0, 4, 3, 3, 2, 6]), np.array([7.0, 5, 4, 4, 6, 8])
    told = regimes_of(2, training, validation, True)
    assert told == ("under", "under", "best", "level", "over", "under")
    X, y = np.arange(40.0)[:, None], np.arange(40) // 14
    found = cotas.choose(cotas.LinearSVM(), X, y, values=[10.0, 1.0, 0.1, 1e-3], random_state=0)
    best = found.best_index
    for k, regime in enumerate(found.regimes):
        assert (regime in ("best", "level")) == bool(
            found.validation_loss[k] <= found.validation_loss[best]
        )


def test_the_hinge_of_several_classes_is_what_their_machines_minimize():
    """So that with less penalty the loss on the training rows never rises."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 4
    X = rng.normal(size=(120, 3)) + np.eye(4)[y][:, :3]
    found = cotas.choose(
        cotas.LinearSVM(tol=1e-8), X, y, values=np.geomspace(10, 1e-4, 6), random_state=0
    )
    assert found.loss == "hinge"
    assert (np.diff(found.training_loss) <= 1e-6).all()
    for loss, (low, high) in zip(found.validation_loss, found.loss_interval, strict=True):
        assert low - 1e-9 <= loss <= high + 1e-9


def test_regimes_lie_on_the_two_sides_of_the_choice():
    X, y = noisy_clouds(150)
    found = cotas.choose(cotas.LinearSVM(), X, y, values=[0.001, 10.0, 0.1, 1.0], random_state=0)
    assert found.values == (10.0, 1.0, 0.1, 0.001)
    k = found.best_index
    assert found.regimes == ("under",) * k + ("best",) + ("over",) * (3 - k)
    assert found.validation_loss[k] == found.validation_loss.min()


def test_of_equal_values_the_simplest_wins():
    (X, y), held_out = halves(clouds(60, noise=0.01), 40)
    found = cotas.choose(
        cotas.LinearSVM(), X, y, values=LAMS, validation=held_out, by="error", n_jobs=1
    )
    assert (found.validation_error == 0).all()
    assert found.best_value == 1.0
    assert found.safe is True


def test_the_error_of_numbers_is_the_root_of_the_mean_square():
    (X, y), held_out = halves(regression(), 40)
    found = cotas.choose(cotas.Ridge(), X, y, values=LAMS, validation=held_out)
    for lam, loss, error in zip(
        found.values, found.validation_loss, found.validation_error, strict=True
    ):
        model = cotas.Ridge(lam=lam).fit(X, y)
        square = mean_squared_error(held_out[1], model.predict(held_out[0]))
        assert (loss, error) == pytest.approx((square / 2, np.sqrt(square)))


@pytest.mark.parametrize("loss", ["hinge", "zero-one", "log"])
def test_named_losses_against_a_function(loss):
    (X, y), held_out = halves(noisy_clouds(90), 60)
    model = LogisticRegression()
    found = cotas.choose(model, X, y, "C", [1.0], validation=held_out, loss=loss, refit=False)
    fitted = clone(model).fit(X, y)
    z = held_out[1] * fitted.decision_function(held_out[0])
    rows = {"hinge": np.maximum(0, 1 - z), "zero-one": z <= 0, "log": np.logaddexp(0, -z)}
    assert found.validation_loss[0] == pytest.approx(rows[loss].mean())


def test_a_loss_may_be_a_function():
    (X, y), held_out = halves(regression(), 40)

    def cubic(truth, predictions):
        return np.abs(truth - predictions) ** 3

    found = cotas.choose(cotas.Ridge(), X, y, values=[0.1], validation=held_out, loss=cubic)
    predictions = cotas.Ridge(lam=0.1).fit(X, y).predict(held_out[0])
    assert found.loss == "cubic"
    assert found.validation_loss[0] == pytest.approx(cubic(held_out[1], predictions).mean())
    assert np.isnan(found.loss_interval).all()


# ---- what is proved ------------------------------------------------------------------------------


def sparse_rows(data):
    return sparse.csr_matrix(data[0]), data[1]


ROUGH = {
    "svm": (cotas.LinearSVM(tol=0.05), noisy_clouds(150), LAMS),
    "svm, no bias": (cotas.LinearSVM(tol=0.05, fit_intercept=False), noisy_clouds(150), LAMS),
    "three classes": (cotas.LinearSVM(tol=0.05), three_clouds(150), LAMS),
    "pegasos": (cotas.Pegasos(max_iter=20, random_state=0), noisy_clouds(150), LAMS),
    "kernel": (cotas.KernelSVM(kernels.RBF(1.5), tol=0.05), noisy_clouds(150), LAMS),
    "kernel, no bias": (
        cotas.KernelSVM(kernels.RBF(1.5), tol=0.3, fit_intercept=False),
        noisy_clouds(150),
        LAMS,
    ),
    "votes": (cotas.KernelSVM(kernels.RBF(1.5), tol=0.05), three_clouds(150), LAMS),
    "ridge": (cotas.Ridge(solver="gradient", tol=0.05), plane(), LAMS),
    "ridge, scaled": (cotas.Ridge(solver="gradient", tol=0.05, standardize=True), plane(), LAMS),
    "ridge, sparse": (cotas.Ridge(solver="gradient", tol=0.05), sparse_rows(plane()), LAMS),
}


@pytest.mark.parametrize("name", ROUGH)
def test_the_interval_contains_the_exact_optimum(name):
    model, data, lams = ROUGH[name]
    (X, y), held_out = halves(data, 2 * data[0].shape[0] // 3)
    exact = clone(model)
    if isinstance(model, cotas.Pegasos):
        exact = cotas.LinearSVM()
    elif isinstance(model, cotas.Ridge):
        exact.set_params(solver="auto")
    exact.set_params(tol=1e-9)
    common = {"values": lams, "validation": held_out, "tighten": 0, "refit": False}
    rough = cotas.choose(model, X, y, **common)
    best = cotas.choose(exact, X, y, **common)
    assert (best.gaps < 1e-8).all()
    assert (rough.gaps > best.gaps).any()
    slack = 1e-9 + 1e-6 * np.abs(best.validation_loss)
    for interval, there in (
        (rough.loss_interval, best.validation_loss),
        (rough.error_interval, best.validation_error),
    ):
        assert np.isfinite(interval).all()
        assert (interval[:, 0] <= there + slack).all()
        assert (there - slack <= interval[:, 1]).all()


def test_a_safe_choice_is_that_of_the_exact_optima():
    safe = 0
    for seed in range(4):
        X, y = noisy_clouds(120, seed)
        rough = cotas.choose(cotas.LinearSVM(tol=0.1), X, y, random_state=seed, refit=False)
        exact = cotas.choose(
            cotas.LinearSVM(tol=1e-9), X, y, random_state=seed, refit=False, tighten=0
        )
        safe += bool(rough.safe)
        if rough.safe:
            assert rough.best_value == exact.best_value
            assert rough.regret == 0
        behind = exact.validation_loss[rough.best_index] - exact.validation_loss.min()
        assert behind <= rough.regret + 1e-6
        assert (rough.gaps[rough.tightened > 0] < 0.1).all()
    assert safe >= 2


def test_a_missed_gap_is_marked_and_told():
    X, y = noisy_clouds(200)
    model = cotas.LinearSVM(max_iter=1, tol=1e-6)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        found = cotas.choose(model, X, y, values=LAMS, tighten=0, refit=False, random_state=0)
    assert found.missed.all()
    assert set(found.status) == {"MISSED tol"}
    assert found.safe is False
    assert "Not proved" in str(found)
    assert found.regret > 0
    assert "MISSED tol" in str(found)


def test_a_missed_gap_that_matters_is_proved_after_all():
    X, y = noisy_clouds(200)
    model = cotas.LinearSVM(solver="dual-coordinate-ascent", max_iter=2, tol=1e-3)
    common = {"values": [1.0, 0.1], "random_state": 0, "refit": False}
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        left = cotas.choose(model, X, y, tighten=0, **common)
    found = cotas.choose(model, X, y, tighten=6, **common)
    assert left.missed.any()
    assert not found.missed.any()
    assert (found.tightened[left.missed] > 0).all()


def test_a_gap_that_could_change_the_winner_is_made_smaller():
    X, y = noisy_clouds(200)
    model = cotas.LinearSVM(tol=0.3)
    common = {"values": [1.0, 0.1], "random_state": 0, "refit": False}
    left = cotas.choose(model, X, y, tighten=0, **common)
    found = cotas.choose(model, X, y, **common)
    assert left.safe is False
    assert (left.tightened == 0).all()
    again = found.tightened > 0
    assert again[found.best_index]
    assert found.safe
    assert (found.gaps[again] < left.gaps[again]).all()


def test_the_model_on_all_the_data_is_as_tight_as_the_one_that_was_chosen():
    X, y = noisy_clouds(200)
    found = cotas.choose(cotas.LinearSVM(tol=0.3), X, y, values=[0.1, 0.01], random_state=0)
    assert found.tightened[found.best_index] > 0
    assert found.best_model_.tol == found.validated_model_.tol < 0.3
    assert found.validated_model_.warm_start is found.best_model_.warm_start is False
    assert len(found.best_model_._ends[0].share) == 200  # fitted on all the rows


@pytest.mark.parametrize(
    ("model", "over", "values", "data"),
    [
        (cotas.Lasso(), "lam", [1.0, 0.1], regression()),
        (cotas.Lasso(), "delta", [1.0, 5.0], regression()),
        (cotas.PassiveAggressive(random_state=0), "lam", [1.0, 0.1], noisy_clouds(60)),
        (cotas.LSBoost(max_iter=50), "eps", [0.1, 1.0], regression()),
    ],
    ids=["Lasso", "Lasso on the ball", "passive-aggressive", "LS-Boost"],
)
def test_without_a_modulus_nothing_is_claimed(model, over, values, data):
    found = cotas.choose(model, *data, over, values, random_state=0)
    assert found.safe is None
    assert np.isnan(found.loss_interval).all()
    assert "Not comparable by proof" in found.ranking
    assert (found.tightened == 0).all()


def test_a_foreign_machine_is_certified_and_enclosed():
    (X, y), held_out = halves(noisy_clouds(150), 100)
    found = cotas.choose(
        SVC(kernel="rbf", gamma=0.3), X, y, "C", [0.1, 1.0], validation=held_out, loss="hinge"
    )
    assert set(found.status) == {"gap measured"}
    exact = cotas.choose(
        cotas.KernelSVM(kernels.RBF(gamma=0.3), tol=1e-9),
        *(X, y, "C", [0.1, 1.0]),
        validation=held_out,
    )
    assert (found.loss_interval[:, 0] <= exact.validation_loss + 1e-9).all()
    assert (exact.validation_loss <= found.loss_interval[:, 1] + 1e-9).all()


def test_certificates_are_those_of_the_training_rows():
    (X, y), held_out = halves(noisy_clouds(120), 80)
    found = cotas.choose(cotas.LinearSVM(), X, y, values=LAMS, validation=held_out)
    assert all(c.verify(X, y) for group in found.certificates for c in group)
    assert not any(c.verify(X, -y) for group in found.certificates for c in group)


def test_nothing_is_claimed_of_a_model_that_chooses_itself():
    X, y = noisy_clouds(90)
    search = GridSearchCV(cotas.LinearSVM(), {"lam": [1.0, 0.1]}, cv=2)
    found = cotas.choose(search, X, y, "estimator__fit_intercept", [True, False], random_state=0)
    assert found.safe is None


def test_the_bound_between_the_values_is_that_of_the_path():
    (X, y), held_out = halves(noisy_clouds(150), 100)
    lams = [1.0, 0.95, 0.9]
    model = cotas.LinearSVM(tol=1e-8)
    found = cotas.choose(model, X, y, "lam", lams, validation=held_out, between=True, tighten=0)
    path = cotas.svm_path(X, y, lams, validation=held_out, tol=1e-8)
    np.testing.assert_allclose(found.between.lower, path.validation_bound.lower, atol=0.021)
    assert found.between.error > 0
    for lam in (0.97, 0.92):
        exact = cotas.LinearSVM(lam=lam, tol=1e-9).fit(X, y)
        assert found.between.error <= 1 - exact.score(*held_out)
    assert "no optimum at any λ" in str(found)
    piped = cotas.choose(
        make_pipeline(StandardScaler(), model), X, y, "lam", lams, validation=held_out, between=True
    )
    assert piped.between.n_rows == 50


# ---- one fit for many values ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "over", "data"),
    [
        (cotas.AdaBoost(n_estimators=12), "n_estimators", noisy_clouds(80)),
        (cotas.LogitBoost(n_estimators=12), "n_estimators", noisy_clouds(80)),
        (cotas.AnyBoost(n_estimators=12), "n_estimators", noisy_clouds(80)),
        (cotas.LSBoost(max_iter=40), "max_iter", regression()),
        (cotas.ForwardStagewise(eps=0.5, max_iter=40), "max_iter", regression()),
        (
            cotas.RegularizedForwardStagewise(eps=0.5, delta=20.0, max_iter=40),
            "max_iter",
            regression(),
        ),
        (make_pipeline(StandardScaler(), cotas.LSBoost(max_iter=40)), "max_iter", regression()),
    ],
    ids=lambda value: getattr(type(value), "__name__", None),
)
def test_prefixes_are_the_fits_with_fewer_rounds(model, over, data):
    (X, y), held_out = halves(data, 50)
    values = [1, 3, 12]
    found = cotas.choose(model, X, y, over, values, validation=held_out, n_jobs=1)
    for k, value in enumerate(values):
        path = over if over in model.get_params() else f"lsboost__{over}"
        alone = clone(model).set_params(**{path: value}).fit(X, y)
        score = 1 - alone.score(*held_out)
        if hasattr(alone, "predict_proba"):
            assert found.validation_error[k] == pytest.approx(score)
        else:
            square = mean_squared_error(held_out[1], alone.predict(held_out[0]))
            assert found.validation_error[k] == pytest.approx(np.sqrt(square))
        assert all(c.holds for c in found.certificates[k])
    kept = found.validated_model_
    current = (kept[-1] if isinstance(kept, Pipeline) else kept).certificate_
    assert all(c.holds for c in current.singles)
    assert len(found.values) == 3


def test_a_prefix_carries_its_own_certificate():
    (X, y), held_out = halves(regression(), 50)
    found = cotas.choose(cotas.LSBoost(), X, y, "max_iter", [5, 50], validation=held_out)
    for (proof,), value in zip(found.certificates, found.values, strict=True):
        alone = cotas.LSBoost(max_iter=value).fit(X, y).certificate_
        assert (proof.lower, proof.upper) == pytest.approx((alone.lower, alone.upper))
        assert proof.verify(X, y)


# ---- threads, weights, and scikit-learn ----------------------------------------------------------


@pytest.mark.parametrize(
    "model", [cotas.LinearSVM(), cotas.KernelSVM(), cotas.Pegasos(random_state=0)], ids=str
)
def test_threads_do_not_change_the_result(model):
    X, y = noisy_clouds(120)
    common = {"values": [1.0, 0.5, 0.2, 0.1, 0.05], "folds": 3, "random_state": 0, "refit": False}
    one, two = (cotas.choose(model, X, y, n_jobs=n, **common) for n in (1, 2))
    for name in ("training_loss", "validation_loss", "gaps", "tightened", "loss_interval"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-12, atol=1e-15)


def test_whole_weights_are_repeated_rows():
    (X, y), held_out = halves(regression(), 40)
    times = np.arange(40) % 3
    weighted = cotas.choose(
        cotas.Ridge(), X, y, values=LAMS, validation=held_out, sample_weight=times
    )
    rows = np.repeat(np.arange(40), times)
    repeated = cotas.choose(cotas.Ridge(), X[rows], y[rows], values=LAMS, validation=held_out)
    for name in ("training_loss", "validation_loss", "c"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name))
    # The intervals rest on gaps of the size of rounding, which is another for other sums.
    assert weighted.loss_interval == pytest.approx(repeated.loss_interval, rel=1e-3)


def test_weights_reach_the_last_step_with_and_without_routing():
    X, y = noisy_clouds(120)
    weights = np.random.default_rng(0).integers(1, 5, size=len(y)).astype(float)
    common = {"values": LAMS, "sample_weight": weights, "random_state": 0}
    plain = cotas.choose(make_pipeline(StandardScaler(), cotas.LinearSVM()), X, y, **common)
    unweighted = cotas.choose(
        make_pipeline(StandardScaler(), cotas.LinearSVM()), X, y, values=LAMS, random_state=0
    )
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        machine = cotas.LinearSVM().set_fit_request(sample_weight=True)
        routed = cotas.choose(make_pipeline(scaler, machine), X, y, **common)
    np.testing.assert_allclose(plain.validation_loss, routed.validation_loss)
    assert not np.allclose(plain.validation_loss, unweighted.validation_loss)
    assert plain.hold_out.kind == "none"


@pytest.mark.parametrize(
    ("model", "values", "scoring", "data"),
    [
        (cotas.LinearSVM(tol=1e-8), LAMS, "accuracy", noisy_clouds(121)),
        (cotas.Ridge(), LAMS, "neg_mean_squared_error", regression()),
    ],
    ids=["classes", "numbers"],
)
def test_scores_are_those_of_grid_search(model, values, scoring, data):
    folds = (StratifiedKFold if scoring == "accuracy" else KFold)(4, shuffle=True, random_state=1)
    found = cotas.choose(model, *data, "lam", values, folds=folds, scoring=scoring)
    grid = GridSearchCV(model, {"lam": values}, cv=folds, scoring=scoring).fit(*data)
    assert -found.validation_loss == pytest.approx(grid.cv_results_["mean_test_score"])
    assert found.best_value == grid.best_params_["lam"]
    scatter = grid.cv_results_["std_test_score"] / np.sqrt(3)  # of four folds, about their mean
    assert found.standard_errors == pytest.approx(scatter)
    np.testing.assert_allclose(found.best_model_.coef_, grid.best_estimator_.coef_, rtol=1e-4)


def test_any_step_of_a_pipeline_can_be_chosen():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(80, 1))
    y = X[:, 0] ** 3 - X[:, 0] + 0.05 * rng.normal(size=80)
    model = Pipeline([("powers", PolynomialFeatures()), ("line", cotas.Ridge(lam=1e-6))])
    found = cotas.choose(model, X, y, "powers__degree", [1, 2, 3, 4], folds=5, random_state=0)
    assert found.best_value >= 3
    short = cotas.choose(model, X, y, "degree", [1, 2, 3, 4], folds=5, random_state=0)
    np.testing.assert_array_equal(short.validation_loss, found.validation_loss)
    assert found.regimes[0] == "under"
    assert found.safe
    scores = cross_validate(found.best_model_, X, y, cv=3)["test_score"]
    assert scores.min() > 0.5


def test_parameters_of_kernels():
    X, y = noisy_clouds(100)
    common = {"random_state": 0, "refit": True}
    by_field = cotas.choose(cotas.KernelSVM(), X, y, "sigma", [4.0, 1.0], **common)
    spelled = cotas.choose(
        make_pipeline(cotas.KernelSVM()), X, y, "kernelsvm__kernel__sigma", [4.0, 1.0], **common
    )
    listed = [kernels.RBF(4.0), kernels.RBF(1.0)]
    by_value = cotas.choose(cotas.KernelSVM(), X, y, "kernel", listed, **common)
    np.testing.assert_allclose(by_field.validation_loss, spelled.validation_loss)
    np.testing.assert_allclose(by_field.validation_loss, by_value.validation_loss)
    assert by_field.best_model_.kernel == by_value.best_value
    assert by_field.regimes
    assert not by_value.regimes


def test_tables_of_pandas_and_sparse_rows_are_taken():
    pandas = pytest.importorskip("pandas")
    X, y = noisy_clouds(100)
    plain = cotas.choose(cotas.LinearSVM(), X, y, values=LAMS, random_state=0)
    polars = pytest.importorskip("polars")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    for table in (frame, polars.DataFrame(X, schema=list("abcd")), sparse.csr_matrix(X)):
        found = cotas.choose(cotas.LinearSVM(), table, y, values=LAMS, random_state=0)
        np.testing.assert_allclose(found.validation_loss, plain.validation_loss, rtol=1e-3)
    assert list(found.best_model_.classes_) == [-1, 1]


@pytest.mark.parametrize(
    ("model", "over", "values"),
    [
        (cotas.Perceptron(), "max_iter", [1, 5]),
        (cotas.AveragedPerceptron(), "max_iter", [1, 5]),
        (cotas.KernelPerceptron(), "max_iter", [1, 5]),
        (cotas.KernelPegasos(random_state=0), "lam", [1.0, 0.1]),
        (
            cotas.KernelSVM(approximate="nystroem", n_components=9, random_state=0),
            "lam",
            [1.0, 0.1],
        ),
        (cotas.RealAdaBoost(n_estimators=4), "n_estimators", None),
        (cotas.GentleBoost(n_estimators=4), "n_estimators", None),
        (cotas.ConvexAnyBoost(n_estimators=4, tol=0.9), "n_estimators", None),
        (cotas.AdaBoost(n_estimators=4), "weak_learner", ["stump", cotas.Stump()]),
    ],
    ids=lambda value: getattr(type(value), "__name__", None),
)
def test_every_classifier_can_be_chosen(model, over, values):
    X, y = noisy_clouds(60)
    labels = np.where(y > 0, "yes", "no")
    found = cotas.choose(model, X.tolist(), labels, over, values, random_state=0)
    alone = clone(model).set_params(**{over: found.best_value}).fit(X, labels)
    np.testing.assert_array_equal(found.best_model_.predict(X), alone.predict(X))
    assert found.validation_loss[found.best_index] == found.validation_loss.min()
    assert found.hold_out.kind == "hold-out"
    assert found.gaps.shape == found.seconds.shape == (len(found.values),)


def test_several_targets_are_judged_together():
    (X, y), held_out = halves(regression(), 40)
    both, both_held_out = np.c_[y, 2 * y], np.c_[held_out[1], 2 * held_out[1]]
    one = cotas.choose(cotas.Ridge(), X, y, values=LAMS, validation=held_out)
    two = cotas.choose(cotas.Ridge(), X, both, values=LAMS, validation=(held_out[0], both_held_out))
    assert two.validation_loss == pytest.approx(2.5 * one.validation_loss)
    assert two.safe


def test_a_precomputed_kernel_is_split_on_both_sides():
    X, y = noisy_clouds(100)
    common = {"values": LAMS, "random_state": 0, "refit": False}
    by_rows = cotas.choose(cotas.KernelSVM("linear", tol=1e-7), X, y, **common)
    by_gram = cotas.choose(cotas.KernelSVM("precomputed", tol=1e-7), X @ X.T, y, **common)
    np.testing.assert_allclose(by_rows.validation_loss, by_gram.validation_loss, atol=1e-3)


def test_it_reads_as_a_table_and_goes_into_json():
    X, y = noisy_clouds(100)
    found = cotas.choose(cotas.LinearSVM(), X, y, values=LAMS, random_state=0)
    said = str(found)
    assert said.startswith("Chosen by the validation loss: lam = ")
    for part in ("validation error", "regime", "under", "Proved", "95% confidence"):
        assert part in said
    assert "<table>" in found._repr_html_()
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["best_value"] == found.best_value
    assert plain["validation_loss"] == found.validation_loss.tolist()


# ---- learning curves -----------------------------------------------------------------------------


def test_learning_curves_end_with_the_fit_on_all_training_rows():
    X, y = noisy_clouds(120)
    curves = cotas.learning_curves(cotas.LinearSVM(lam=0.1), X, y, [8, 0.5, 96], random_state=0)
    whole = cotas.choose(
        cotas.LinearSVM(), X, y, values=[0.1], random_state=0, refit=False, tighten=0
    )
    assert curves.sizes.tolist() == [8, 48, 96]
    assert curves.validation_loss[-1] == pytest.approx(whole.validation_loss[0])
    assert curves.training_loss[-1] == pytest.approx(whole.training_loss[0])
    assert curves.status == ("proved",) * 3
    assert "96" in str(curves)
    assert "<table>" in curves._repr_html_()
    json.dumps(curves.to_dict())


def test_few_rows_are_fitted_too_well():
    X, y = regression(200, 8, noise=2.0)
    curves = cotas.learning_curves(cotas.Ridge(lam=1e-6), X, y, [12, 150], folds=4, random_state=0)
    assert curves.training_loss[0] < curves.training_loss[1]
    assert curves.validation_loss[0] > curves.validation_loss[1]
    assert curves.n_validation == 200


def test_every_beginning_has_all_classes():
    X, y = clouds(100)
    y = np.where(np.arange(100) % 10 == 0, 1, -1)
    curves = cotas.learning_curves(cotas.LinearSVM(), X, y, [10, 20, 40], random_state=0)
    assert len(curves.sizes) == 3


# ---- bias and variance ---------------------------------------------------------------------------


def wave(X):
    return np.sin(3 * X[:, 0])


def draw_wave(rng):
    X = rng.uniform(-1, 1, size=(30, 1))
    return X, wave(X) + 0.3 * rng.normal(size=30)


def polynomial():
    return make_pipeline(PolynomialFeatures(), cotas.LeastSquares())


def test_the_error_is_exactly_the_sum_of_its_parts():
    found = cotas.bias_variance(
        polynomial(), draw_wave, "polynomialfeatures__degree", [0, 1, 3, 9], truth=wave, repeats=30,
        random_state=0,
    )  # fmt: skip
    parts = found.bias_squared + found.variance + found.noise + found.remainder
    assert parts == pytest.approx(found.error)
    cut = cotas.bias_variance(
        polynomial(), draw_wave, "polynomialfeatures__degree", [0, 1, 3, 9], repeats=30,
        random_state=0,
    )  # fmt: skip
    assert cut.bias_squared + cut.variance == pytest.approx(cut.error)
    assert cut.error == pytest.approx(found.error)


def test_degree_trades_structural_for_estimation_error():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, size=(4000, 1))
    test = X, wave(X) + 0.3 * rng.normal(size=4000)
    found = cotas.bias_variance(
        polynomial(), draw_wave, "polynomialfeatures__degree", [0, 1, 3, 7], truth=wave, test=test,
        repeats=60, random_state=0,
    )  # fmt: skip
    assert (np.diff(found.bias_squared[:3]) < 0).all()
    assert found.variance[3] > 5 * found.variance[2] > 0
    assert found.best_value == 3
    assert found.noise == pytest.approx(0.09, rel=0.1)
    # Up to the error of the simulation.
    assert (np.abs(found.remainder) < 0.02).all()
    assert found.bias_squared[0] + found.variance[0] == pytest.approx(0.54, abs=0.05)


def test_the_variance_of_a_mean_is_known():
    def draw(rng):
        return np.zeros((25, 1)), 2.0 + rng.normal(size=25)

    test = np.zeros((1, 1)), np.array([2.0])
    found = cotas.bias_variance(
        DummyRegressor(), draw, truth=lambda X: np.full(len(X), 2.0), test=test, repeats=1500,
        random_state=0, n_jobs=1,
    )  # fmt: skip
    assert found.variance[0] == pytest.approx(1 / 25, rel=0.15)
    assert found.bias_squared[0] < 0.001
    assert found.status == ("no certificate",)


def test_data_are_resampled():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(60, 20)), rng.normal(size=60)
    found = cotas.bias_variance(
        cotas.Ridge(), data, "lam", [100.0, 1e-4], repeats=20, random_state=0
    )
    assert found.bias_squared + found.variance == pytest.approx(found.error)
    assert found.variance[0] < found.variance[1]  # nothing to learn, and much to learn by heart
    assert np.isnan(found.noise)
    assert found.n_test == 18
    assert "cannot be told apart" in str(found)
    json.dumps(found.to_dict())
    assert "<table>" in found._repr_html_()


class Constant(RegressorMixin, BaseEstimator):
    """Learns nothing: no variance, and all its error is bias and noise."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_a_model_that_learns_nothing_has_no_variance():
    found = cotas.bias_variance(Constant(), draw_wave, truth=wave, repeats=5, random_state=1)
    assert found.variance[0] == 0.0
    assert found.bias_squared[0] > 0.1
    assert found.values == ("Constant",)


def test_ridge_of_scikit_learn_is_decomposed_the_same():
    common = {"truth": wave, "repeats": 10, "random_state": 0}
    ours = cotas.bias_variance(cotas.Ridge(lam=0.1), draw_wave, **common)
    theirs = cotas.bias_variance(OtherRidge(alpha=0.1 * 30), draw_wave, **common)
    assert ours.error == pytest.approx(theirs.error)
    assert ours.variance == pytest.approx(theirs.variance)
