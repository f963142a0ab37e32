"""Whatever form of X and y a fit takes, verify, certify, score and predict take too."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import is_classifier

import cotas
from cotas.fitting.certified import Certified
from cotas.fitting.data import LEAST_WEIGHT, MOST_WEIGHT
from errors import refuses

ESTIMATORS = [
    kind
    for kind in (getattr(cotas, name) for name in cotas.__all__)
    if inspect.isclass(kind) and issubclass(kind, Certified)
]
NAMES = list("abc")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3)).round(3)
SCORES = (X[:, 0] + 0.3 * RNG.normal(size=24)).round(3)


def big_endian():
    rows = sparse.csr_matrix(X)
    rows.data = rows.data.astype(">f8")
    return rows


ROWS = {
    "list": X.tolist(),
    "big-endian": X.astype(">f8"),
    "big-endian CSR": big_endian(),
    "sparse array": sparse.csr_array(X),
    "nullable": pd.DataFrame(X, columns=NAMES).astype("Float64"),
    "columns of Arrow": pd.DataFrame(X, columns=NAMES).astype("double[pyarrow]"),
    "polars": pl.DataFrame(X, schema=NAMES),
    "Arrow": pa.table({name: X[:, j] for j, name in enumerate(NAMES)}),
}
TARGETS = {
    "column": lambda y: y[:, None],
    "list of lists": lambda y: y[:, None].tolist(),
    "frame": lambda y: pd.DataFrame({"y": y}),
    "odd index": lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
    "nullable": lambda y: pd.Series(y).convert_dtypes(),
    "polars frame": lambda y: pl.DataFrame({"y": y}),
    "chunks of Arrow": lambda y: pa.chunked_array([y[:5], y[5:]]),
    "big-endian": lambda y: y.astype(y.dtype.newbyteorder(">")),
}


def targets(kind):
    return (SCORES > 0).astype(np.int64) if is_classifier(kind()) else SCORES


def few_rounds(kind):
    """With the default parameters, but no more rounds than it takes to have a certificate."""
    known = kind().get_params()
    boosts = "n_estimators" in known and "max_iter" not in known
    wanted = {"n_estimators": 3} if boosts else {}
    return kind(**wanted, **({"random_state": 0} if "random_state" in known else {}))


def everything(kind, rows, y):
    model = few_rounds(kind).fit(rows, y)
    assert model.certificate_.verify(rows, y)
    again = cotas.certify(model, rows, y)
    assert again.holds, again.objection
    assert np.isfinite(model.score(rows, y))
    return model


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_form(kind):
    y = targets(kind)
    plain = everything(kind, X, y).predict(X)
    for rows in ROWS.values():
        found = everything(kind, rows, y).predict(rows)
        np.testing.assert_allclose(found, plain, rtol=1e-3, atol=1e-3)
    for form in TARGETS.values():
        np.testing.assert_array_equal(np.ravel(everything(kind, X, form(y)).predict(X)), plain)


WEIGHED = [kind for kind in ESTIMATORS if "sample_weight" in inspect.signature(kind.fit).parameters]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", WEIGHED, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("weight", [1e307, 2 * MOST_WEIGHT, LEAST_WEIGHT / 2, 5e-324])
def test_weights_whose_sums_overflow_or_vanish_are_refused(kind, weight):
    with refuses("sample_weight"):
        kind().fit(X, targets(kind), sample_weight=np.full(len(X), weight))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", WEIGHED, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("weight", [MOST_WEIGHT, LEAST_WEIGHT])
def test_within_these_limits_weights_are_proved(kind, weight):
    y = targets(kind)
    model = few_rounds(kind).fit(X, y, sample_weight=np.full(len(X), weight))
    assert model.certificate_.verify(X, y)


STOPPED_EARLY = [kind for kind in ESTIMATORS if "early_stopping" in kind().get_params()]


def stopped_by(kind, rows):
    model = few_rounds(kind).set_params(early_stopping=True, validation_fraction=rows)
    return model.set_params(weak_learner="stump") if kind is cotas.LSBoost else model


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", STOPPED_EARLY, ids=lambda kind: kind.__name__)
def test_the_rows_that_are_named_are_set_aside_and_no_others(kind):
    y, aside = targets(kind), np.arange(len(X)) % 3 == 0
    model = stopped_by(kind, aside).fit(X, y)
    np.testing.assert_array_equal(model.certificate_.witness.weights == 0, aside)
    assert model.certificate_.verify(X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", STOPPED_EARLY, ids=lambda kind: kind.__name__)
def test_rows_without_weight_are_not_set_aside(kind):
    """They are left out, so that they do not tell when to stop either."""
    y, aside = targets(kind), np.arange(len(X)) % 3 == 0
    weights = np.where(np.arange(len(X)) % 6 == 0, 0.0, 1.0)
    model = stopped_by(kind, aside).fit(X, y, sample_weight=weights)
    other = np.where(weights > 0, y, y[::-1])
    again = stopped_by(kind, aside).fit(X, other, sample_weight=weights)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with refuses("validation_fraction"):
        stopped_by(kind, aside).fit(X, y, sample_weight=aside.astype(float))
    if is_classifier(model):
        with refuses("validation_fraction"):
            stopped_by(kind, y == 1).fit(X, y)


@pytest.mark.parametrize("kind", STOPPED_EARLY, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "rows",
    [np.arange(5), np.ones(len(X), bool), np.zeros(len(X), bool), np.ones(3, bool), ["a"] * 24],
    ids=["numbers", "all", "none", "too few", "words"],
)
def test_rows_that_cannot_be_set_aside_are_refused(kind, rows):
    with refuses("validation_fraction"):
        stopped_by(kind, rows).fit(X, targets(kind))


PARTIAL = [
    kind
    for kind in ESTIMATORS
    if hasattr(kind, "partial_fit") and "early_stopping" in kind().get_params()
]


@pytest.mark.parametrize("kind", PARTIAL, ids=lambda kind: kind.__name__)
def test_one_pass_holds_no_rows_out(kind):
    model = kind(early_stopping=True)
    with refuses("early_stopping"):
        model.partial_fit(X, targets(kind), classes=[0, 1])


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "1"])
def test_the_time_to_look_for_a_proof_is_not_negative(seconds):
    model = cotas.LinearSVM().fit(X, SCORES > 0)
    with refuses("max_time"):
        cotas.certify(model, X, SCORES > 0, max_time=seconds)
