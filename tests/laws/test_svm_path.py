"""The path over λ: its fits, and what is proved of the optima between them."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from cotas import LinearSVM, svm_path
from cotas.certificates import optimum_region
from cotas.certificates.consequences.biases import best_biases
from cotas.certificates.consequences.path import bound_between, outlooks
from cotas.stops import InterruptedWarning
from errors import refuses
from problems import clouds, labelled, three_clouds


def optimum(X, y, lam, bias, weights=None):
    """An optimum of high precision, and the regions that enclose the exact one."""
    model = LinearSVM(lam=lam, tol=1e-13, fit_intercept=bias, max_iter=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, sample_weight=weights)
    assert max(c.relative_gap for c in model._certificates) < 1e-7
    return model, [optimum_region(c, X, y) for c in model._certificates]


def possible_errors(model, regions, X, y):
    """How many rows the exact optimum may get wrong, at most."""
    low, high = (np.array(side) for side in zip(*(r.scores(X) for r in regions), strict=True))
    if len(regions) == 1:
        positive = y == model.classes_[1]
        return int(np.where(positive, low[0] <= 0, high[0] > 0).sum())
    codes = np.searchsorted(model.classes_, y)
    own = low[codes, np.arange(len(y))]
    high[codes, np.arange(len(y))] = -np.inf
    return int((high.max(axis=0) >= own).sum())


def check_against_a_dense_grid(path, X, y, X_val, y_val, bias, weights=None, between=7):
    bound = path.validation_bound
    ends = zip(path.lams[1:], path.lams[:-1], bound.lower, strict=True)
    for low, high, lower in ends:
        if lower == 0:  # nothing is claimed
            continue
        for lam in np.geomspace(low, high, between):
            model, regions = optimum(X, y, lam, bias, weights)
            assert lower * len(y_val) <= possible_errors(model, regions, X_val, y_val) + 1e-9
    assert bound.error == bound.lower.min()
    assert bound.vacuous == (bound.error == 0)


@pytest.mark.parametrize("bias", [True, False])
@given(
    data=labelled(),
    ratio=st.sampled_from([1.02, 1.1, 1.5, 4.0]),
    tol=st.sampled_from([1e-3, 1e-8]),
    weighted=st.booleans(),
)
def test_no_optimum_between_beats_the_bound(bias, data, ratio, tol, weighted):
    X, weights = data.X / 8, np.linspace(0.5, 1.5, len(data.y)) if weighted else None
    rng = np.random.default_rng(0)
    X_val = np.vstack([X, rng.normal(size=(60, X.shape[1])) * 5])
    y_val = np.append(-data.y, rng.choice([-1, 1], 60))
    lams = 0.1 * ratio ** np.arange(3)
    options = {"tol": tol, "fit_intercept": bias, "sample_weight": weights}
    path = svm_path(X, data.y, lams, validation=(X_val, y_val), pieces=8, **options)
    check_against_a_dense_grid(path, X, data.y, X_val, y_val, bias, weights, between=4)


@pytest.mark.parametrize("bias", [True, False])
def test_no_optimum_between_beats_the_bound_with_three_classes(bias):
    X, y = three_clouds(90)
    X_val, y_val = three_clouds(60, seed=5)
    lams = np.geomspace(0.01, 0.1, 8)
    path = svm_path(X, y, lams, validation=(X_val, y_val), fit_intercept=bias, tol=1e-7)
    assert not path.validation_bound.vacuous
    check_against_a_dense_grid(path, X, y, X_val, y_val, bias, between=5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("ratio", [1.01, 1.3, 10.0, 0.5])
def test_an_outlook_encloses_the_scores_of_every_optimum(bias, ratio):
    X, y = clouds(80, 3)
    X_val, _ = clouds(40, 3, seed=7)
    fit = LinearSVM(lam=0.05, tol=1e-4, fit_intercept=bias).fit(X, y)
    [outlook] = outlooks([fit.certificate_], X, y, X_val)
    least, most = sorted([1 / 0.05, 1 / (0.05 * ratio)])
    low, high = outlook.scores(least, most)
    for lam in np.geomspace(1 / most, 1 / least, 9):
        model, [region] = optimum(X, y, lam, bias)
        lowest, highest = region.scores(X_val)
        assert (low <= highest).all()
        assert (lowest <= high).all()
        assert (low - 1e-3 <= model.decision_function(X_val)).all()
    # A part of the interval says at least as much.
    inner_low, inner_high = outlook.scores(least, (least + most) / 2)
    assert (inner_high - inner_low <= high - low + 1e-12).all()


def test_the_radius_at_its_own_lam_is_that_of_the_gap():
    X, y = clouds(80, 3)
    certificate = LinearSVM(lam=0.05, tol=1e-3, fit_intercept=False).fit(X, y).certificate_
    [outlook] = outlooks([certificate], X, y, X)
    low, high = outlook.scores(20.0, 20.0)
    region = optimum_region(certificate, X, y)
    region_low, region_high = region.scores(X)
    # Counting both sides of the gap makes the ball smaller, by √2 where θ = θ(α).
    assert (high - low <= (region_high - region_low) / np.sqrt(2) * (1 + 1e-3)).all()


def test_the_enclosure_is_tight_where_all_margins_are_violated():
    # For large λ every αᵢ is sᵢ, so θ* = (1/λ) Σ sᵢyᵢxᵢ, at the far end of the ball.
    X, y = np.array([[1.0], [2.0], [-1.0]]), np.array([1, 1, -1])
    model = LinearSVM(lam=10.0, tol=1e-14, fit_intercept=False, solver="dual-coordinate-ascent")
    certificate = model.fit(X, y).certificate_
    [outlook] = outlooks([certificate], X, y, np.array([[1.0]]))
    for lam in (5.0, 20.0):
        low, high = outlook.scores(1 / lam, 1 / lam)
        score = 4 / 3 / lam
        nearest = high if lam < 10 else low
        assert low <= score <= high
        assert nearest == pytest.approx(score, rel=1e-6)


def test_more_pieces_and_a_finer_grid_prove_more():
    X, y = clouds(100, 4)
    X_val, y_val = clouds(100, 4, noise=1.5, seed=3)
    coarse = svm_path(X, y, np.geomspace(0.01, 0.1, 5), validation=(X_val, y_val), pieces=1)
    cut = svm_path(X, y, np.geomspace(0.01, 0.1, 5), validation=(X_val, y_val), pieces=64)
    fine = svm_path(X, y, np.geomspace(0.01, 0.1, 65), validation=(X_val, y_val), tol=1e-9)
    assert (coarse.validation_bound.lower <= cut.validation_bound.lower).all()
    assert cut.validation_bound.error < fine.validation_bound.error
    assert fine.validation_bound.error <= fine.validation_errors.min()
    groups = [outlooks(group, X, y, X_val) for group in (c.singles for c in cut.certificates[:2])]
    ends = (float(cut.lams[1]), float(cut.lams[0]))
    counts = [
        bound_between(groups, ends, (y_val > 0).astype(int), pieces, len(y_val))[0]
        for pieces in (1, 2, 4, 8, 16)
    ]
    assert counts == sorted(counts)


def test_on_real_data_it_can_end_the_search_for_lam():
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.arange(len(y)) % 5 < 3
    scaler = StandardScaler().fit(X[rows])
    X = scaler.transform(X)
    held_out = (X[~rows], y[~rows])
    path = svm_path(X[rows], y[rows], np.geomspace(1e-2, 1, 100), validation=held_out, tol=1e-8)
    assert 0 < path.validation_bound.error <= path.validation_errors.min()
    assert f"below {path.validation_bound.error:.4f}" in str(path)
    few = svm_path(X[rows], y[rows], [1.0, 1e-3], validation=held_out)
    assert few.validation_bound.vacuous
    assert "vacuous" in repr(few)


@pytest.mark.parametrize("solver", ["interior-point", "dual-coordinate-ascent"])
def test_each_fit_is_that_of_its_lam(solver):
    X, y = clouds(120, 4)
    path = svm_path(X, y, [0.01, 1.0, 0.1, 0.1], solver=solver, random_state=0)
    np.testing.assert_array_equal(path.lams, [1.0, 0.1, 0.01])
    assert path.coefs.shape == (3, 1, 4)
    assert path.validation_errors is path.validation_bound is None
    assert len(path.iterations) == len(path.seconds) == 3
    for lam, coef, certificate in zip(path.lams, path.coefs, path.certificates, strict=True):
        alone = LinearSVM(lam=lam, tol=1e-6).fit(X, y)
        assert certificate.relative_gap <= 1e-6
        assert certificate.upper == pytest.approx(alone.certificate_.upper, abs=1e-6)
        np.testing.assert_allclose(coef, alone.coef_, atol=2 * np.sqrt(2e-6 / lam))
    assert path.verify(X, y)
    with refuses("validation"):
        _ = path.best_lam


def test_layouts_agree_and_it_can_be_verified():
    X, y = clouds(100, 4)
    X_val, y_val = clouds(50, 4, seed=9)
    lams = np.geomspace(0.01, 0.1, 20)
    dense = svm_path(X, y, lams, validation=(X_val, y_val))
    thin = svm_path(
        sparse.csr_matrix(X), y, lams, validation=(sparse.csc_matrix(X_val), y_val), tol=1e-6
    )
    np.testing.assert_allclose(dense.validation_bound.lower, thin.validation_bound.lower, atol=0.05)
    assert dense.verify(X, y, validation=(X_val, y_val))
    assert not dense.verify(X, np.roll(y, 1), validation=(X_val, y_val))
    claimed = replace(dense.validation_bound, lower=dense.validation_bound.lower + 0.2)
    assert not replace(dense, validation_bound=claimed).verify(X, y, validation=(X_val, y_val))
    with refuses("validation"):
        dense.verify(X, y)


@pytest.mark.parametrize("k", [2, 3])
def test_a_path_of_other_classes_proves_nothing(k):
    X, y = three_clouds(90) if k > 2 else clouds(90, 3)
    path = svm_path(X, y, [0.1, 0.01], validation=(X, y))
    one, other = path.certificates
    doubled = np.full(len(y), 2.0)
    doubled[0] = 1.0
    weighted = LinearSVM(lam=0.01).fit(X, y, sample_weight=doubled).certificate_
    free = LinearSVM(lam=0.01, fit_intercept=False).fit(X, y).certificate_
    forged = [
        {"classes": path.classes[::-1]},
        {"classes": np.roll(path.classes, 1)},
        {"classes": np.append(path.classes, path.classes.max() + 1)},
        {"certificates": (one, weighted)},
        {"certificates": (one, free)},
    ]
    if k > 2:
        forged.append({"certificates": (one, replace(other, parts=other.parts[::-1]))})
    for changes in forged:
        with pytest.raises(ValueError, match="classes"):
            replace(path, **changes).bound(X, y, X, y)


def test_it_warns_once_of_all_the_gaps():
    X, y = clouds(60, 3)
    with pytest.warns(ConvergenceWarning) as caught:
        svm_path(X, y, [1.0, 0.1, 0.01], tol=1e-15, max_iter=2)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_ctrl_c_ends_the_path(monkeypatch):
    X, y = clouds(60, 3)
    fit = LinearSVM.fit

    def interrupted(self, *data):
        if self.lam > 0.5:
            return fit(self, *data)

        def interrupt(report):
            raise KeyboardInterrupt

        return fit(self.set_params(callbacks=interrupt), *data)

    monkeypatch.setattr(LinearSVM, "fit", interrupted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = svm_path(X, y, [1.0, 0.1, 0.01], validation=(X, y))
    assert len(path.lams) == len(path.certificates) == len(path.validation_errors) == 2
    assert path.verify(X, y, validation=(X, y))


def test_ctrl_c_in_the_proof_keeps_the_fits(monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("cotas.fitting.path.bound_validation_error", interrupted)
    X, y = clouds(60, 3)
    with pytest.warns(InterruptedWarning):
        path = svm_path(X, y, [1.0, 0.1], validation=(X, y))
    assert len(path.lams) == 2
    assert path.validation_bound is None
    assert "Best validation error" in str(path)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"lams": []}, "lams"),
        ({"lams": [1.0, -1.0]}, "lams"),
        ({"lams": [np.nan]}, "lams"),
        ({"pieces": 0}, "pieces"),
        ({"validation": ([[1.0, 2.0, 3.0]], [1, -1])}, "validation"),
        ({"validation": ([[1.0, 2.0, 3.0]], [5])}, "validation"),
        ({"validation": ([[1.0, 2.0]], [1])}, "features"),
        ({"solver": "magic"}, "solver"),
    ],
)
def test_bad_input(changes, word):
    X, y = clouds(20, 3)
    with pytest.raises(ValueError, match=word):
        svm_path(X, y, **{"lams": [0.1, 1.0], **changes})


def test_what_is_no_path_is_refused():
    X, y = clouds(30, 2, noise=0.1)
    hard = LinearSVM(margin="hard").fit(X, y)
    with pytest.raises(ValueError, match="margin"):
        outlooks([hard.certificate_], X, y, X)


@given(
    corners=st.lists(st.integers(-5, 5), min_size=2, max_size=12),
    data=st.data(),
    equal=st.booleans(),
)
def test_the_ends_of_all_the_best_biases_are_exact(corners, data, equal):
    corners = np.array(corners, dtype=float)
    one = st.just(1) if equal else st.integers(0, 4)
    weights = np.array(data.draw(st.lists(one, min_size=len(corners), max_size=len(corners))))
    positive = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(corners), max_size=len(corners)))
    )
    level = weights[positive].sum()

    def is_best(value):
        below, up_to = weights[corners < value].sum(), weights[corners <= value].sum()
        return below <= level <= up_to

    best = [value for value in corners[weights > 0] if is_best(value)]
    # The weights as shares, as a fit knows them: the sums of those are rounded.
    for given_weights in (weights, weights / max(1, weights.sum())):
        low, high = best_biases(corners, corners, positive, given_weights.astype(float))
        assert low == (min(best) if level else -np.inf)
        assert high == (max(best) if weights[~positive].any() else np.inf)
