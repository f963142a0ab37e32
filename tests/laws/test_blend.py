"""A blend is the mean of its models, its certificate has their proofs, and its shares are best."""

import copy

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import cross_val_score

import cotas
from cotas.files.problems import ModelFileError
from cotas.selection.blend import Blend, answers, members_of
from cotas.selection.halving import BLEND, LEAST_SHARE, Candidate, Halving, Judge, Subsample
from cotas.stops import InterruptedWarning, Stop
from errors import refuses
from problems import clouds

X, Y = load_diabetes(return_X_y=True)
THREE, FLOWERS = load_iris(return_X_y=True)
LINE, TREES = cotas.Ridge(), cotas.LSBoost(cotas.Tree(2), n_estimators=5)
PAIR = [("line", LINE), ("trees", TREES)]


def machines():
    return [
        ("kernel", cotas.KernelSVM()),
        ("line", cotas.LogisticRegression()),
        ("trees", cotas.LogitBoost(cotas.Tree(2), n_estimators=5)),
    ]


@pytest.mark.parametrize("weights", [None, [1, 3, 0], [0.5, 0.25, 0.25]])
def test_it_is_the_mean_of_what_the_models_answer(weights):
    blend = Blend(machines(), weights).fit(THREE, FLOWERS)
    given = np.ones(3) if weights is None else np.array(weights)
    each = [clone(one).fit(THREE, FLOWERS) for _, one in machines()]
    mean = sum(w * answers(one, THREE) for w, one in zip(given, each, strict=True)) / given.sum()
    np.testing.assert_allclose(blend.predict_proba(THREE), mean, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(blend.predict(THREE), mean.argmax(axis=1))
    np.testing.assert_array_equal(
        blend.decision_function(THREE).argmax(axis=1), mean.argmax(axis=1)
    )
    assert len(blend.estimators_) == np.count_nonzero(given)
    assert blend.certificate_.holds


def test_two_classes_are_decided_by_the_sign():
    rows, labels = clouds(80, 3)
    blend = Blend(machines()).fit(rows, labels)
    scores = blend.decision_function(rows)
    np.testing.assert_array_equal(blend.predict(rows), blend.classes_[(scores > 0).astype(int)])


def test_every_part_is_named_by_its_model_and_its_class():
    blend = Blend(machines()).fit(THREE, FLOWERS)
    parts = blend.certificate_.parts
    assert {part.member for part in parts} == {name for name, _ in machines()}
    assert len({part.title for part in parts}) == len(parts)
    assert cotas.certify(blend, THREE, FLOWERS).holds
    assert all(part.title in str(blend.certificate_) for part in parts)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda m: setattr(m, "weights_", m.weights_[::-1] * [1.5, 0.5]), "other weights"),
        (lambda m: m.estimators_.reverse(), "exchanged models"),
        (lambda m: m.estimators_[0].coef_.__imul__(2.0), "another model"),
        (lambda m: setattr(m, "predict", lambda rows: np.zeros(len(rows))), "another prediction"),
    ],
)
def test_what_was_changed_is_not_proved(change, name):
    blend = Blend(PAIR, [2, 1]).fit(X, Y)
    change(blend)
    assert not blend.certificate_.holds, name
    assert not blend.certificate_.verify(X, Y), name


def test_weights_that_were_sealed_anew_are_not_those_of_the_certificate():
    blend = Blend(PAIR, [2, 1]).fit(X, Y)
    blend.weights_ = np.array([0.5, 0.5])
    assert not blend._sealed().certificate_.verify(X, Y)


@pytest.mark.parametrize(
    ("estimators", "weights", "parameter"),
    [
        ([], None, "estimators"),
        ([("a", LINE), ("a", TREES)], None, "estimators"),
        ([("a", LINE), ("b", cotas.LinearSVM())], None, "estimators"),
        ([("a", LINE), ("b", "ridge")], None, "estimators"),
        ([("a", LINE), ("b", "drop")], None, "estimators"),
        ([("a", LINE), ("b", Blend(PAIR))], None, "estimators"),
        ((("a", LINE), ("b", TREES)), None, "estimators"),
        ([LINE, TREES], None, "estimators"),
        ("ab", None, "estimators"),
        (PAIR, {"line": 1, "trees": 2}, "weights"),
        (PAIR, "12", "weights"),
        (PAIR, [1, 2, 3], "weights"),
        (PAIR, [-1, 2], "weights"),
        (PAIR, [0, 0], "weights"),
        (PAIR, [np.nan, 1], "weights"),
    ],
)
def test_what_is_no_blend_is_refused(estimators, weights, parameter):
    with refuses(parameter):
        Blend(estimators, weights).fit(X, Y)


def test_parameters_of_the_models_are_those_of_the_blend():
    blend = Blend(PAIR).set_params(line__lam=3.0)
    assert blend.get_params()["line__lam"] == 3.0
    assert clone(blend).get_params()["trees__n_estimators"] == 5
    LINE.set_params(lam=cotas.Ridge().lam)


def test_an_interrupted_blend_has_the_models_that_were_fitted():
    class Interrupted(cotas.Ridge):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y)
            self._stop = "INTERRUPTED"
            return self._sealed()

    three = [("a", cotas.Ridge()), ("b", Interrupted()), ("c", cotas.Ridge())]
    with pytest.warns(InterruptedWarning):
        blend = Blend(three, [1, 1, 2]).fit(X, Y)
    assert blend.stop_ is Stop.INTERRUPTED
    assert blend.names_ == ["a", "b"]
    np.testing.assert_allclose(blend.weights_, [0.5, 0.5])
    assert blend.certificate_.verify(X, Y)


def test_what_counts_in_a_blend_is_what_counts_in_its_models():
    blend = Blend(PAIR, [2, 1]).fit(X, Y)
    line, trees = members_of(blend)
    share = np.abs(line.coef_) / np.abs(line.coef_).sum()
    mean = (2 * share + trees.feature_importances_) / 3
    np.testing.assert_allclose(blend.feature_importances_, mean)
    kernels = Blend([("a", cotas.KernelRidge())]).fit(X[:40], Y[:40])
    assert not hasattr(kernels, "feature_importances_")


def test_no_bound_of_a_model_is_one_of_the_mean():
    """A bound of the training error of the trees is none of the blend's."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 2))
    labels = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    trees = cotas.LogitBoost(cotas.Tree(3), n_estimators=5)
    pair = [("line", cotas.LogisticRegression(lam=0.01)), ("trees", trees)]
    blend = Blend(pair, weights=[0.97, 0.03]).fit(rows, labels)
    whole = blend.certificate_
    assert whole.kind == "mean"
    assert whole.holds
    assert whole.relative_gap == whole.upper == 1.0  # the trees prove no gap
    lines = Blend([("a", cotas.Ridge()), ("b", cotas.Ridge(lam=2.0))]).fit(X, Y).certificate_
    assert lines.relative_gap == max(part.relative_gap for part in lines.parts) < 1e-6


class Zero(Blend):
    def _averaged(self, X):
        return np.zeros(X.shape[0])


@pytest.mark.parametrize(
    "change",
    [
        lambda m: setattr(m, "weights_", np.array([5.0, -4.0])),
        lambda m: setattr(m, "weights_", np.array([np.nan, 1.0])),
        lambda m: setattr(m, "names_", ["line", "line"]),
        lambda m: setattr(m, "predict", lambda rows: np.zeros(len(rows))),
        lambda m: setattr(m, "__class__", Zero),
    ],
    ids=["no mean", "no number", "one name", "another method", "another class"],
)
def test_only_the_mean_is_proved_again(change):
    blend = Blend(PAIR, [2, 1]).fit(X, Y)
    change(blend)
    assert not cotas.certify(blend, X, Y).holds
    assert not blend.certificate_.verify(X, Y)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: setattr(m, "weights_", [0.5, 0.5]),
        lambda m: setattr(m, "weights_", np.eye(2)),
        lambda m: m.estimators_.pop(),
        lambda m: m.names_.pop(),
    ],
)
def test_what_is_no_blend_any_more_is_not_proved_and_raises_nothing(change):
    blend = Blend(PAIR, [2, 1]).fit(X, Y)
    change(blend)
    assert not blend.certificate_.holds


def test_requests_of_metadata_change_no_proof():
    with config_context(enable_metadata_routing=True):
        blend = Blend(PAIR).set_fit_request(sample_weight=True).fit(X, Y)
        assert blend.certificate_.holds
        blend.set_score_request(sample_weight=True)
        assert blend.certificate_.verify(X, Y)


def test_rows_of_a_precomputed_kernel_are_taken_with_their_columns():
    K = X @ X.T
    blend = Blend([("kernel", cotas.KernelRidge(kernel="precomputed"))])
    assert np.isfinite(cross_val_score(blend, K, Y)).all()


@pytest.mark.parametrize(
    "members",
    [
        [cotas.Ridge().fit(X, Y[:, None]), cotas.Ridge().fit(X, Y)],
        [cotas.Ridge().fit(X, np.column_stack([Y, Y])) for _ in range(2)],
        [cotas.Ridge().fit(X[:, :3], Y), cotas.Ridge().fit(X, Y)],
    ],
    ids=["a column", "two targets", "other columns"],
)
def test_a_file_of_models_that_do_not_belong_together_is_refused(members, tmp_path):
    blend = Blend(PAIR, [2, 1]).fit(X, Y)
    blend.estimators_ = members
    blend._claim = blend._now()
    with pytest.raises(ModelFileError):
        blend._sealed().save(tmp_path / "forged.cotas")


def test_groups_count_once_where_a_mean_is_chosen():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(10), 50)
    truth = np.zeros(500)
    old, new = np.ones(500), 1 + rng.choice([-0.1, 0.1], 10)[groups]
    rows = np.arange(500)
    gain = (old**2 - new**2)[::50]
    expected = bool(gain.mean() > gain.std(ddof=1) / np.sqrt(10))
    assert Judge(truth, False, groups).is_better(new, old, rows) == expected


# ---- which mean --------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e-200, 1e200])
def test_shares_are_shares_at_any_scale(scale):
    rng = np.random.default_rng(0)
    truth = scale * rng.normal(size=50)
    told = [truth + scale * rng.normal(size=50) for _ in range(3)]
    shares = Judge(truth, False).shares(told, np.arange(50))
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("classes", [False, True])
def test_no_other_mean_has_smaller_squares(seed, classes):
    rng = np.random.default_rng(seed)
    rows = np.arange(200)
    if classes:
        truth = rng.integers(0, 3, 200)
        noisy = np.eye(3)[truth] + rng.gumbel(size=(6, 200, 3)) * rng.uniform(0.5, 3, (6, 1, 1))
        told = list(np.exp(noisy) / np.exp(noisy).sum(axis=2, keepdims=True))
        target = np.eye(3)[truth]
    else:
        target = truth = rng.normal(size=200)
        told = list(truth + rng.normal(size=(6, 200)) * rng.uniform(0.5, 2, (6, 1)))
    shares = Judge(truth, classes).shares(told, rows)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1)

    def squares(weights):
        mean = sum(w * one for w, one in zip(weights, told, strict=True))
        return float(((mean - target) ** 2).sum())

    least = squares(shares)
    others = [*np.eye(6), *rng.dirichlet(np.full(6, 0.3), 300)]
    others += [0.98 * shares + 0.02 * corner for corner in np.eye(6)]
    # Shares that are too small to count are left out, which costs little.
    assert all(squares(other) >= least * (1 - LEAST_SHARE) for other in others)


@pytest.mark.parametrize("count", [2, 3])
def test_the_squares_of_classes_are_the_score_of_brier(count):
    rng = np.random.default_rng(count)
    truth, told = np.arange(60) % count, rng.dirichlet(np.ones(count), size=60)
    ours = Judge(truth, True).squares(told, np.arange(60)).mean()
    assert ours == pytest.approx(brier_score_loss(truth, told if count > 2 else told[:, 1]))


def test_equal_answers_are_no_better_than_each_other():
    rng = np.random.default_rng(0)
    truth, rows = rng.normal(size=100), np.arange(100)
    judge, told = Judge(truth, False), truth + rng.normal(size=100)
    assert not judge.is_better(told, told, rows)
    assert judge.is_better(truth, told, rows)
    assert not judge.is_better(told, truth, rows)


def waves(n=900):
    """A line and a wave: neither a line nor small trees are enough."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 4))
    return rows, 2 * rows @ [1.0, -1, 0.5, 0] + 2 * np.sign(rows[:, 3]) + rng.normal(size=n)


def searched(**options):
    rows, y = waves()
    order = np.random.default_rng(1).permutation(len(y))
    part = Subsample(order[300:], order[:300])
    found = [
        Candidate("ridge", cotas.Ridge(lam=0.01), "ridge"),
        Candidate("trees", cotas.LSBoost(cotas.Tree(1), n_estimators=40), "trees"),
    ]
    search = Halving(rows, y, [part], **options)
    return search, search.run(found)


def test_a_search_ends_with_the_mean_where_that_is_better():
    search, best = searched()
    assert best.candidate.name == BLEND
    alone = [trial for trial in search.trials if trial is not best]
    assert best.error < min(trial.error for trial in alone)
    rows, y = waves()
    whole = best.settled.fit(rows, y)
    assert whole.certificate_.verify(rows, y)
    weights = copy.copy(whole.weights_)
    np.testing.assert_allclose(clone(best.settled).fit(rows, y).weights_, weights)


def test_a_search_may_be_for_a_single_model():
    search, best = searched(blends=False)
    assert BLEND not in {trial.candidate.name for trial in search.trials}
    assert best.candidate.name != BLEND
