"""What `verify` takes, and what it catches: all that a certificate says comes out again, or not."""

import itertools
import pickle
import warnings
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import cotas
from cotas.certificates import Certificate, HeldOut, conclude, no_certificate
from cotas.selection.blend import Blend
from cotas.source import Arrays
from cotas.words import lang
from estimators import every_estimator, problems_of
from problems import clouds, three_clouds

X, Y = clouds(90, 3)
TARGET = X @ [1.0, -2.0, 0.5] + 0.1 * np.sin(np.arange(90.0))
MANY, LABELS = three_clouds(90)
NAMES = np.array(["setosa", "versicolor", "virginica"])[LABELS]

CLASSIFIERS = [
    cotas.LinearSVM(),
    cotas.LinearSVM(loss="squared_hinge", fit_intercept=False),
    cotas.LogisticRegression(),
    cotas.LogisticRegression(lam=0.01, penalty="l1"),
    cotas.LogisticRegression(lam=0.01, penalty="elasticnet", multiclass="ovr"),
    cotas.Perceptron(),
    cotas.PassiveAggressive(),
    cotas.Pegasos(lam=0.1, random_state=0),
    cotas.KernelSVM(),
    cotas.KernelSVM(approximate="nystroem"),
    cotas.KernelPerceptron(),
    cotas.KernelPegasos(lam=0.1, random_state=0),
    cotas.AdaBoost(n_estimators=5),
    cotas.RealAdaBoost(n_estimators=5),
    cotas.LogitBoost(n_estimators=5),
    cotas.GentleBoost(n_estimators=5),
    cotas.ConvexAnyBoost(n_estimators=20, tol=0.5),
]
REGRESSORS = [
    cotas.LeastSquares(),
    cotas.Ridge(lam=0.1),
    cotas.Lasso(lam=0.05),
    cotas.Lasso(delta=1.0),
    cotas.ElasticNet(lam=0.05),
    cotas.KernelRidge(lam=0.05),
    cotas.KernelSVR(lam=0.05),
    cotas.LinearSVR(epsilon=0.05),
    cotas.HuberRegressor(epsilon=0.05, fit_intercept=False),
    cotas.LSBoost(max_iter=10),
    cotas.LSBoost("stump", 10),
    cotas.LSBoost("stump", 10, loss="absolute"),
    cotas.LSBoost("tree", 10),
    cotas.ForwardStagewise(max_iter=10),
    cotas.RegularizedForwardStagewise(delta=1.0, max_iter=10),
]
by_classifier = pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: repr(m)[:40])
by_regressor = pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: repr(m)[:40])


def fitted(model, data, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data, y).certificate_


def forms_of_rows(data):
    """The same rows in every form that `fit` takes."""
    big = sparse.csr_matrix(data)
    big.data = big.data.astype(">f8")
    yield data.tolist()
    yield np.asfortranarray(data)
    yield data.astype(">f8")
    yield big
    yield sparse.csc_matrix(data)
    yield pd.DataFrame(data)
    yield pd.DataFrame(data).convert_dtypes()


def forms_of_labels(y):
    yield y[:, None]
    yield y.tolist()
    yield pd.Series(y)
    yield pd.Series(y).convert_dtypes()
    yield pd.DataFrame({"y": y})


@by_classifier
@pytest.mark.parametrize("classes", [2, 3])
def test_verify_takes_what_fit_takes(model, classes):
    data, y = (X, Y) if classes == 2 else (MANY, NAMES)
    certificate = fitted(model, data, y)
    assert certificate.discrepancies(data, y) == []
    for other in forms_of_rows(data):
        assert certificate.discrepancies(other, y) == []
    for other in forms_of_labels(y):
        assert certificate.discrepancies(data, other) == []


@by_regressor
def test_verify_takes_the_targets_that_fit_takes(model):
    certificate = fitted(model, X, TARGET)
    assert certificate.discrepancies(X, TARGET) == []
    for other in forms_of_rows(X):
        assert certificate.discrepancies(other, TARGET) == []
    for other in forms_of_labels(TARGET):
        assert certificate.discrepancies(X, other) == []


FORGERIES = {
    "kind": lambda c: replace(c, kind="gradient" if c.kind == "duality" else "duality"),
    "lower": lambda c: replace(c, lower=c.lower + 1e-3, charge=np.inf),
    "upper": lambda c: replace(c, upper=c.upper - 1e-3, charge=np.inf),
    "far below": lambda c: replace(c, lower=c.lower - 100, charge=np.inf),
    "far above": lambda c: replace(c, upper=c.upper + 100, charge=np.inf),
    "a little above": lambda c: replace(c, upper=c.upper * 1.02, charge=np.inf),
    "statement": lambda c: replace(c, statement="No model on earth is better."),
    "a number in it": lambda c: replace(c, statement=_with_another_number(c.statement)),
    "reference": lambda c: replace(c, reference="a paper"),
    "remarks": lambda c: replace(c, remarks=()),
    "trusted": lambda c: replace(c, trusted=("nothing",)),
    "vacuous": lambda c: replace(c, vacuous=not c.vacuous),
    "figures": lambda c: replace(c, figures={k: v + 0.1 for k, v in c.figures.items()}),
    "no figures": lambda c: replace(c, figures={"another": 1.0}),
    "sketch": lambda c: replace(c, sketch=None),
    "label": lambda c: replace(c, label="another class against the rest"),
    "zero": lambda c: replace(c, zero_objective=1e9),
    "holds": lambda c: replace(c, holds=False, objection="no"),
    "NaN": lambda c: replace(c, lower=np.nan),
}


def _with_another_number(statement):
    digits = [k for k, letter in enumerate(statement) if letter.isdecimal()]
    k = digits[len(digits) // 2]
    return statement[:k] + str((int(statement[k]) + 5) % 10) + statement[k + 1 :]


@pytest.mark.parametrize("forgery", FORGERIES)
@by_classifier
def test_nothing_that_is_said_can_be_replaced(model, forgery):
    certificate = fitted(model, X, Y)
    assert certificate.verify(X, Y)
    forged = FORGERIES[forgery](certificate)
    assert forged == certificate or not forged.verify(X, Y)  # there may be nothing to replace


@pytest.mark.parametrize("forgery", set(FORGERIES) - {"label"})
@by_regressor
def test_nothing_that_is_said_of_a_regression_can_be_replaced(model, forgery):
    certificate = fitted(model, X, TARGET)
    assert certificate.verify(X, TARGET)
    forged = FORGERIES[forgery](certificate)
    assert forged == certificate or not forged.verify(X, TARGET)


def test_a_better_model_is_another_one_however_far_the_best_is():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        poor = cotas.LeastSquares(solver="stochastic", max_iter=1, random_state=0).fit(X, TARGET)
    certificate = poor.certificate_
    assert certificate.relative_gap > 0.2
    assert certificate.verify(X, TARGET)
    best = cotas.LeastSquares().fit(X, TARGET)
    for part in (0.05, 0.5, 1.0):
        coef = (1 - part) * poor.coef_ + part * best.coef_
        bettered = replace(certificate.witness, coef=coef)
        assert not replace(certificate, witness=bettered).verify(X, TARGET)


def test_what_the_estimator_says_is_told_apart_and_not_verified():
    certificate = fitted(cotas.LinearSVM(), X, Y).noted("It is the best model of the year.")
    assert certificate.verify(X, Y)
    assert "Said besides, not proved: It is the best" in str(certificate)
    several = fitted(cotas.LinearSVM(), MANY, NAMES).noted("It is the best model of the year.")
    assert several.verify(MANY, NAMES)
    assert str(several).count("It is the best model of the year.") == 1


# ---- several classes ---------------------------------------------------------------------------


@by_classifier
def test_one_certificate_with_a_part_for_each_class(model):
    whole = fitted(model, MANY, NAMES)
    assert isinstance(whole, Certificate)
    if not whole.parts:  # all classes at once
        return
    assert len({part.label for part in whole.parts}) == 3
    assert whole.holds == all(part.holds for part in whole.parts)
    if whole.kind in ("duality", "gradient"):
        assert whole.relative_gap == max(part.relative_gap for part in whole.parts)
    else:
        alike = [part.upper for part in whole.parts if part.vacuous == whole.vacuous]
        assert whole.upper == max(alike)
    assert whole.singles == whole.parts
    assert [p["label"] for p in whole.to_dict()["parts"]] == [p.label for p in whole.parts]
    for part in whole.parts:
        assert part.singles == (part,)
        assert part.label in str(whole)
        assert part.label in whole._repr_html_()


def test_the_labels_are_those_of_the_parts():
    whole = fitted(cotas.KernelSVM(), MANY, NAMES)
    labels = [part.label for part in whole.parts]
    assert labels[:2] == ["setosa against versicolor", "setosa against virginica"]
    assert labels[2:] == ["versicolor against virginica"]
    swapped = (whole.parts[1], whole.parts[0], whole.parts[2])
    assert not Certificate.of_parts(swapped, labels).verify(MANY, NAMES)
    rest = fitted(cotas.LinearSVM(), MANY, NAMES)
    names = [f"{name} against the rest" for name in np.unique(NAMES)]
    assert [part.label for part in rest.parts] == names
    alike = np.array(["a", "b against c", "a against b", "c"])[np.arange(len(NAMES)) % 4]
    assert fitted(cotas.KernelSVM(max_iter=5), MANY, alike).verify(MANY, alike)


@by_classifier
def test_each_class_has_the_part_that_proves_it(model):
    """Whether a model is bound to it or not: names, numbers and order are those of the proofs."""
    whole = fitted(model, MANY, NAMES)
    if not whole.parts:
        return
    parts = [replace(part, predictor=None) for part in whole.parts]
    labels = [part.label for part in parts]

    def verified(parts, labels):
        return Certificate.of_parts(parts, labels).verify(MANY, NAMES)

    assert verified(parts, labels)
    assert verified(parts[::-1], labels[::-1])
    assert not verified(parts, [labels[1], labels[0], labels[2]])
    for k in range(3):
        others = [j for j in range(3) if j != k]
        assert not verified(parts, [*labels[:k], "unicorn against the rest", *labels[k + 1 :]])
        assert not verified([parts[j] for j in others], [labels[j] for j in others])
        assert not verified([*parts, parts[k]], [*labels, labels[k]])
        assert not verified([parts[k]], [labels[k]])


@by_regressor
def test_a_label_that_no_witness_has_is_refused(model):
    certificate = fitted(model, X, TARGET)
    assert certificate.verify(X, TARGET)
    assert not replace(certificate, label="target 7").verify(X, TARGET)
    alone = Certificate.of_parts([certificate, certificate], ["target 0", "target 1"])
    assert not alone.verify(X, TARGET)


@pytest.mark.parametrize("blocks", [False, True])
def test_each_model_of_a_blend_has_all_its_parts(blocks):
    given = (Arrays(MANY, NAMES, block_rows=40),) if blocks else (MANY, NAMES)
    models = [("svm", cotas.LinearSVM(lam=0.1)), ("boosted", cotas.AdaBoost(n_estimators=3))]
    whole = Blend(models).fit(*given).certificate_
    assert whole.verify(*given)
    for k in range(len(whole.parts)):
        parts = [part for j, part in enumerate(whole.parts) if j != k]
        assert not Certificate.of_parts(parts, [part.label for part in parts]).verify(*given)
        alone = replace(whole.parts[k], member="another")
        parts = [*parts, alone]
        assert not Certificate.of_parts(parts, [part.label for part in parts]).verify(*given)
    for name, _ in models:
        parts = [part for part in whole.parts if part.member != name]
        assert not Certificate.of_parts(parts, [part.label for part in parts]).verify(*given)


def test_each_target_has_the_part_that_proves_it():
    both = cotas.Ridge().fit(X, np.c_[TARGET, -TARGET]).certificate_
    parts, labels = [*both.parts], [part.label for part in both.parts]
    for source in (X, Arrays(X, np.c_[TARGET, -TARGET], block_rows=40)):
        y = np.c_[TARGET, -TARGET] if source is X else None
        assert Certificate.of_parts(parts, labels).verify(source, y)
        assert not Certificate.of_parts(parts, labels[::-1]).verify(source, y)
        assert not Certificate.of_parts(parts[1:], labels[1:]).verify(source, y)


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=lambda m: repr(m)[:40])
def test_equal_are_certificates_that_say_the_same_by_the_same_witness(model):
    rows, y = (MANY, NAMES) if model in CLASSIFIERS else (X, TARGET)
    one, other = fitted(model, rows, y), fitted(model, rows, y)
    assert one == one
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other}) == 1
    with lang("es"):
        assert one == other
        assert hash(one) == hash(other)
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert hash(again) == hash(one)
    assert one != str(one)
    assert one != replace(one, upper=2.0 * one.upper + 1.0)
    assert replace(one, lower=np.nan) == replace(other, lower=-np.nan)
    assert hash(replace(one, lower=np.nan)) == hash(replace(other, lower=-np.nan))
    part, stranger = one.singles[0], fitted(clone(model), rows[::-1] + 0.25, y).singles[0]
    assert replace(part, witness=stranger.witness) != part


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e154, 1e160, 1e300])
@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=lambda m: repr(m)[:40])
def test_what_holds_is_verified_at_any_scale(model, scale):
    """And what does not hold is not; a fit may also refuse such rows."""
    y = Y if model in CLASSIFIERS else TARGET
    try:
        certificate = fitted(clone(model), scale * X[:40], y[:40])
    except ValueError:
        return
    assert certificate.holds == certificate.verify(scale * X[:40], y[:40])


@pytest.mark.parametrize("model", list(every_estimator()), ids=lambda m: repr(m)[:60])
def test_a_witness_holds_real_numbers_and_a_composite_none(model):
    """NumPy would drop the imaginary part, or uncover what is masked, and prove the rest."""
    data = problems_of(model)[-1]
    whole = fitted(clone(model), *data)
    part = whole.singles[0]
    assert part.witness == replace(part.witness)
    assert part.witness != part
    for one in fields(part.witness):
        array = getattr(part.witness, one.name)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu" or not array.size:
            continue
        for strange in (array + 1j, np.ma.array(array, mask=np.ones(array.shape))):
            forged = replace(part, witness=replace(part.witness, **{one.name: strange}))
            if whole.parts:
                forged = replace(whole, parts=(forged, *whole.parts[1:]))
            assert not forged.verify(*data)
    if whole.parts:
        assert whole.verify(*data)
        assert not replace(whole, witness=part.witness).verify(*data)
        assert not replace(whole, member="another model").verify(*data)


def test_targets_come_as_vectors_and_as_columns():
    column = cotas.LeastSquares().fit(X, TARGET[:, None]).certificate_
    assert column.verify(X, TARGET)
    assert column.verify(X, TARGET[:, None])
    both = cotas.Ridge().fit(X, np.c_[TARGET, -TARGET]).certificate_
    assert [part.label for part in both.parts] == ["target 0", "target 1"]
    assert both.verify(X, np.c_[TARGET, -TARGET])
    assert not both.verify(X, np.c_[-TARGET, TARGET])


def test_a_composite_cannot_say_more_than_its_parts():
    whole = fitted(cotas.LinearSVM(), MANY, NAMES)
    assert whole.verify(MANY, NAMES)
    worst = max(whole.parts, key=lambda part: part.relative_gap)
    best = min(whole.parts, key=lambda part: part.relative_gap)
    assert not replace(whole, lower=worst.upper + 1.0).verify(MANY, NAMES)
    generous = tuple(replace(part, charge=np.inf) for part in whole.parts)
    assert replace(whole, parts=generous).verify(MANY, NAMES)
    assert not replace(whole, parts=generous, lower=worst.upper).verify(MANY, NAMES)
    wide = Certificate.of_parts(
        [replace(part, moved=(1.0, 1.0)) for part in whole.parts], [p.label for p in whole.parts]
    )
    assert wide.verify(MANY, NAMES)
    for side in ("lower", "upper"):
        raised = replace(wide, **{side: 0.5 * (wide.lower + wide.upper)})
        assert not raised.verify(MANY, NAMES)
    assert not replace(whole, parts=(best, *whole.parts[1:])).verify(MANY, NAMES) or (
        best is whole.parts[0]
    )
    for k, part in enumerate(whole.parts):
        forged = replace(part, lower=part.lower + 0.1)
        parts = [*whole.parts[:k], forged, *whole.parts[k + 1 :]]
        found = Certificate.of_parts(parts, [p.label for p in parts]).discrepancies(MANY, NAMES)
        assert found
        assert all(words.startswith(part.label) for words in found)


def test_one_part_that_does_not_hold_is_enough():
    model = cotas.LinearSVM().fit(MANY, NAMES)
    model.coef_[1] *= 1.1
    whole = model.certificate_
    assert not whole.holds
    assert "versicolor against the rest" in whole.objection
    # A class is chosen among all, so that no part speaks of the model any more.
    assert not any(part.holds for part in whole.parts)


# ---- the one door ------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_nothing_holds_without_two_finite_bounds(side, bad):
    bounds = {"lower": 0.0, "upper": 1.0, side: bad}
    words = {"statement": "s", "reference": "r", "witness": None, "sketch": None}
    found = conclude("duality", **bounds, **words)
    assert not found.holds
    assert found.relative_gap == np.inf or found.gap == 0.0 == found.relative_gap
    assert conclude("duality", 0.0, 1.0, **words).holds
    assert not conclude("duality", 2.0, 1.0, **words).holds


def test_no_field_of_a_certificate_is_a_tolerance():
    certificate = fitted(cotas.LinearSVM(), X, Y)
    assert "rounding" not in {field.name for field in fields(certificate)}
    assert not {"rounding", "charge"} & set(certificate.to_dict())
    assert "charge" not in repr(certificate)
    assert replace(certificate, charge=1.0) == certificate


def test_the_relative_gap_has_no_scale():
    words = {"statement": "s", "reference": "r", "witness": None, "sketch": None}
    for scale in (1e-12, 1.0, 1e12):
        found = conclude("duality", 0.9 * scale, scale, **words)
        assert found.relative_gap == pytest.approx(0.1)
    assert conclude("gradient", 0.0, 0.0, **words).relative_gap == 0.0
    near_zero = conclude("gradient", 0.0, 1e-15, scale=1.0, **words)
    assert near_zero.relative_gap == pytest.approx(1e-6)
    assert no_certificate("nothing").relative_gap == np.inf


def test_rows_held_out_are_verified_in_any_form():
    certificate = HeldOut(np.ones(20)).check(None, np.ones(20))
    assert certificate.verify(np.zeros((20, 1)), np.ones((20, 1)))


def test_a_fingerprint_grants_itself_no_room():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40.0) % 3
    certificate = cotas.LeastSquares().fit(X, y).certificate_
    assert certificate.verify(X, y)
    wide = replace(certificate.sketch, entries=123.0, scale=np.inf, label_scale=np.inf)
    assert not replace(certificate, sketch=wide).verify(X, y)


def test_other_data_are_refused_in_one_layout(monkeypatch):
    certificate = cotas.Lasso(lam=0.05).fit(X, TARGET).certificate_
    looked, check = [], type(certificate.witness).check
    counted = lambda self, rows, y: looked.append(type(rows)) or check(self, rows, y)  # noqa: E731
    monkeypatch.setattr(type(certificate.witness), "check", counted)
    for rows, y in ((X[::-1], TARGET), (X, TARGET[::-1]), (X[1:], TARGET[1:])):
        assert len(certificate.discrepancies(rows, y)) == 1
    assert len(looked) == 3
    # What is false of the same data might be true of another layout, where sums are others.
    assert not replace(certificate, upper=0.5 * certificate.upper).verify(X, TARGET)
    assert len(looked) == 5


@pytest.mark.parametrize("seed", range(6))
def test_classes_far_from_zero_are_verified_as_they_were_proved(seed):
    """One class after another gives the bits of all at once."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(50, 3)) + 1e8, rng.integers(0, 4, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (cotas.LinearSVM(fit_intercept=False), cotas.Perceptron(max_iter=10)):
            found = model.fit(X, y).certificate_
            assert not found.holds or found.verify(X, y)


def has_a_bias(model):
    """Boosting with a weak learner has none."""
    given = model.get_params()
    return "fit_intercept" in given and given.get("weak_learner") is None


@pytest.mark.parametrize("model", [m for m in REGRESSORS if has_a_bias(m)])
def test_long_tables_far_from_zero_are_verified_as_they_were_proved(model):
    """Where many rows are proved from products, and where there is nothing but rounding to prove.

    Loose fits too, whose bounds the rows could draw together.
    """
    rng, n = np.random.default_rng(0), 2000
    X = rng.normal(size=(n, 3))
    y = X.sum(axis=1) + rng.normal(size=n)
    problems = [(X, np.full(n, 0.1)), (X[:, :1] + 1e6, 1e10 + y), (X + 1e9, y), (X, 1e9 + y)]
    problems.append((1.7e9 + rng.random((n, 2)), 1e10 + X[:, 0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (rows, targets), bias in itertools.product(problems, (True, False)):
            for tol in {1e-2, model.get_params().get("tol", 1e-2)}:
                one = clone(model).set_params(fit_intercept=bias)
                if "tol" in model.get_params():
                    one.set_params(tol=tol)
                found = one.fit(rows, targets).certificate_
                assert not found.holds or found.verify(rows, targets), (one, bias)


@pytest.mark.parametrize("size", [1e12, 1e13, 1e15])
def test_who_claims_cannot_make_room_for_a_false_bound(size):
    """Coefficients that cancel are charged for more rounding, as much as one likes."""
    certificate = cotas.AdaBoost(n_estimators=1).fit(X, Y).certificate_
    [combination] = certificate.witness.combinations
    thrice = {
        one.name: np.concatenate([getattr(combination.learners, one.name)] * 3)
        for one in fields(combination.learners)
        if one.name in ("feature", "threshold", "missing_left", "group", "value")
    }
    learners = replace(combination.learners, **thrice)
    again = replace(combination, learners=learners, coefficients=np.array([size, -size, 1.0]))
    fresh = replace(certificate.witness, combinations=(again,)).check(X, Y)
    assert fresh.charge > 0.01
    for side in ("lower", "upper"):
        claimed = fresh._but(**{side: getattr(fresh, side) - 3.9 * fresh.charge})
        assert not claimed.verify(X, Y)
