"""Laws of logistic regression: what is minimized, how it is reached, and what is said of it."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.preprocessing import StandardScaler

import cotas
from cotas.stops import Stop
from errors import refuses
from problems import LAYOUTS, clouds, three_clouds

TWO, THREE = clouds(120, 4), three_clouds(120, 4)
PENALTIES = {"l2": 0.0, "l1": 1.0, "elasticnet": 0.4}
by_penalty = pytest.mark.parametrize("penalty", PENALTIES)
by_multiclass = pytest.mark.parametrize("multiclass", ["softmax", "ovr"])
by_data = pytest.mark.parametrize("data", [TWO, THREE], ids=["two", "three"])


def model_of(penalty, **others):
    return cotas.LogisticRegression(penalty=penalty, l1_ratio=0.4, **{"lam": 0.01, **others})


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def objective(X, y, weights, coef, intercept, lam, ratio):
    """The mean log loss of one class or of all, with the penalty."""
    z = np.asarray(X @ coef.T + intercept)
    if z.shape[1] == 1:
        signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
        losses = np.logaddexp(0.0, -signs * z[:, 0])
    else:
        own = z[np.arange(len(y)), np.searchsorted(np.unique(y), y)]
        losses = np.logaddexp.reduce(z, axis=1) - own
    size = ratio * np.abs(coef).sum() + 0.5 * (1 - ratio) * (coef**2).sum()
    return float(weights @ losses / weights.sum() + lam * size)


@by_penalty
@by_multiclass
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_digits])
def test_the_gap_asked_for_is_proved_on_real_tables(load, multiclass, penalty):
    X, y = scaled(load)
    model = model_of(penalty, multiclass=multiclass, lam=1e-3).fit(X, y)
    assert model.stop_ is Stop.PROVED
    assert model.certificate_.holds
    assert model.certificate_.relative_gap <= 1e-4
    assert model.certificate_.verify(X, y)


@by_penalty
@by_data
@pytest.mark.parametrize("bias", [True, False])
def test_no_other_solver_finds_less_than_the_bound(data, penalty, bias):
    X, y = data
    ratio, weights = PENALTIES[penalty], np.linspace(0.2, 2.0, len(y))
    model = model_of(penalty, fit_intercept=bias, tol=1e-9).fit(X, y, weights)
    peer = Peer(C=1.0 / (0.01 * weights.sum()), l1_ratio=ratio, solver="saga", tol=1e-10)
    peer.set_params(max_iter=50_000, fit_intercept=bias).fit(X, y, weights)
    mine = objective(X, y, weights, model.coef_, model.intercept_, 0.01, ratio)
    theirs = objective(X, y, weights, peer.coef_, peer.intercept_, 0.01, ratio)
    certificate = model.certificate_
    assert certificate.lower <= theirs * (1 + 1e-12)
    assert certificate.lower <= mine <= certificate.upper * (1 + 1e-12)
    assert mine <= theirs * (1 + 1e-9)


@by_penalty
@by_multiclass
def test_a_weight_is_a_number_of_copies(penalty, multiclass):
    X, y = THREE
    times = np.arange(len(y)) % 4
    model = model_of(penalty, multiclass=multiclass, tol=1e-10)
    weighted = model.fit(X, y, times).coef_.copy()
    copied = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).coef_
    np.testing.assert_allclose(weighted, copied, atol=1e-4)


def test_the_weight_of_a_class_is_that_of_its_examples():
    X, y = THREE
    by_class = cotas.LogisticRegression(class_weight={0: 1.0, 1: 2.0, 2: 0.5}).fit(X, y)
    by_row = cotas.LogisticRegression().fit(X, y, np.array([1.0, 2.0, 0.5])[y])
    np.testing.assert_array_equal(by_class.coef_, by_row.coef_)
    with refuses("sample_weight"):
        cotas.LogisticRegression(class_weight={1: 0.0}).fit(X, y)


def test_lam_and_C_say_the_same_and_only_one_may_be_given():
    X, y = TWO
    n = len(y)
    one = cotas.LogisticRegression(C=4.0).fit(X, y)
    other = cotas.LogisticRegression(lam=1 / (4.0 * n)).fit(X, y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.lam_ == 1 / (4.0 * n)
    with refuses("C"):
        cotas.LogisticRegression(lam=0.1, C=1.0).fit(X, y)


@by_penalty
@by_data
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_the_rows_does_not_matter(data, penalty, layout):
    X, y = data
    expected = model_of(penalty, tol=1e-8).fit(X, y)
    other = LAYOUTS[layout](X)
    model = model_of(penalty, tol=1e-8).fit(other, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(other), expected.predict_proba(X), atol=1e-5)
    assert model.certificate_.verify(other, y)


@by_data
def test_the_probabilities_have_the_frequencies_of_the_classes(data):
    """What a free bias is for: the slope of the objective in it is zero."""
    X, y = data
    model = cotas.LogisticRegression(tol=1e-10).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    frequencies = np.unique(y, return_counts=True)[1] / len(y)
    np.testing.assert_allclose(p.mean(axis=0), frequencies, atol=1e-5)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))


def test_logarithms_of_probabilities_keep_their_digits():
    model = cotas.LogisticRegression(lam=1e-6).fit([[0.0], [1.0]], [0, 1])
    logs = model.predict_log_proba([[-1e3], [1e3]])
    assert np.isfinite(logs).all()
    assert logs[0, 1] < -1000


@by_multiclass
def test_a_strong_l1_penalty_leaves_nothing_and_a_weaker_one_something(multiclass):
    X, y = THREE
    signs = (y[:, None] == np.arange(3)) - (1 / 3)
    most = np.abs(X.T @ signs).max() / len(y)  # the largest slope at θ = 0 with the best biases
    none = model_of("l1", multiclass=multiclass, lam=1.01 * most, tol=1e-8).fit(X, y)
    some = model_of("l1", multiclass=multiclass, lam=0.5 * most, tol=1e-8).fit(X, y)
    assert not none.coef_.any()
    assert 0 < np.count_nonzero(some.coef_) < some.coef_.size


@pytest.mark.parametrize("ratio", [0.4, 1.0])
def test_at_the_answer_no_coefficient_wants_to_move(ratio):
    X, y = THREE
    model = cotas.LogisticRegression(lam=0.02, penalty="elasticnet", l1_ratio=ratio, tol=1e-10).fit(
        X, y
    )
    p = model.predict_proba(X)
    slope = (p - (y[:, None] == np.arange(3))).T @ X / len(y)
    first, second = 0.02 * ratio, 0.02 * (1 - ratio)
    used = model.coef_ != 0
    rest = slope + second * model.coef_
    assert np.abs(rest[~used]).max(initial=0.0) <= first + 1e-6
    np.testing.assert_allclose(rest[used], -first * np.sign(model.coef_[used]), atol=1e-5)


def test_an_elastic_net_between_its_ends_is_between_them():
    X, y = TWO

    def coef(**how):
        return cotas.LogisticRegression(lam=0.05, tol=1e-10, **how).fit(X, y).coef_

    for ratio, penalty in ((0.0, "l2"), (1.0, "l1")):
        net = coef(penalty="elasticnet", l1_ratio=ratio)
        np.testing.assert_allclose(net, coef(penalty=penalty), atol=1e-5)


def test_more_columns_than_rows_and_conjugate_gradients():
    rng = np.random.default_rng(0)
    X = sparse.random(80, 3000, 0.01, random_state=0, format="csr")
    y = rng.integers(0, 3, 80)
    for penalty in PENALTIES:
        model = model_of(penalty).fit(X, y)
        assert model.certificate_.relative_gap <= 1e-4
        assert model.certificate_.verify(X, y)


@by_penalty
@by_multiclass
def test_a_warm_start_goes_on(penalty, multiclass):
    X, y = THREE
    model = model_of(penalty, multiclass=multiclass, warm_start=True, tol=1e-6).fit(X, y)
    before = model.coef_.copy()
    assert model.fit(X, y).n_iter_ == 0
    np.testing.assert_array_equal(model.coef_, before)
    cold = model_of(penalty, multiclass=multiclass, tol=1e-6, lam=0.009).fit(X, y)
    warm = model.set_params(lam=0.009).fit(X, y)
    assert 0 < warm.n_iter_ < cold.n_iter_
    assert model.fit(X[:, :2], y).certificate_.holds  # other features: from zero


def test_limits_end_the_fit_with_a_warning_and_a_true_certificate():
    X, y = scaled(load_digits)
    for limit, stop in (({"max_iter": 2}, Stop.ITERATIONS), ({"max_time": 1e-9}, Stop.TIME)):
        model = cotas.LogisticRegression(**limit)
        with pytest.warns(ConvergenceWarning):
            model.fit(X, y)
        assert model.stop_ is stop
        assert model.certificate_.relative_gap > 1e-4
        assert model.certificate_.verify(X, y)


@by_multiclass
def test_callbacks_see_falling_objectives_and_can_stop(multiclass):
    X, y = THREE
    seen = {}

    def watch(report):
        seen.setdefault(report.label, []).append(report.certificate.upper)
        return len(seen[report.label]) == 3

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cotas.LogisticRegression(multiclass=multiclass, callbacks=watch).fit(X, y)
    assert model.stop_ is Stop.CALLBACK
    assert len(seen) == (1 if multiclass == "softmax" else 3)
    for values in seen.values():
        assert sorted(values, reverse=True) == values
    assert model.certificate_.verify(X, y)


@by_multiclass
def test_threads_change_nothing(multiclass):
    X, y = THREE
    one, two = (
        cotas.LogisticRegression(multiclass=multiclass, n_jobs=jobs).fit(X, y) for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_raw_data_are_no_obstacle():
    X, y = load_breast_cancer(return_X_y=True)
    model = cotas.LogisticRegression(C=1.0).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-4


def test_certify_proves_it_again():
    X, y = THREE
    model = cotas.LogisticRegression(penalty="l1", lam=0.01).fit(X, y)
    again = cotas.certify(model, X, y)
    assert again.holds
    assert again.upper == pytest.approx(model.certificate_.upper, rel=1e-9)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"lam": 0.0}, "lam"),
        ({"C": -1.0}, "C"),
        ({"penalty": "l0"}, "penalty"),
        ({"l1_ratio": 1.5}, "l1_ratio"),
        ({"multiclass": "ovo"}, "multiclass"),
        ({"tol": np.nan}, "tol"),
        ({"max_time": -1}, "max_time"),
    ],
)
def test_a_wrong_parameter_is_named(wrong, name):
    with refuses(name):
        cotas.LogisticRegression(**wrong).fit(*TWO)
