"""Every classifier can tell probabilities, and whether they are any good is measured."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

import cotas as library
from cotas.cli.models import CLASSIFIERS
from cotas.files.problems import DataFileError
from cotas.preparation.calibration import calibrated
from cotas.preparation.quality import quality_of_classes
from cotas.tables import PreparedModel
from errors import refuses, says
from terminal import cotas, customers


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_tells_probabilities_if_asked(tmp_path, name):
    customers(60).write_csv(tmp_path / "shop.csv")
    model = tmp_path / "m.cotas"
    fast = ("-p", "n_estimators=3") if "boost" in name else ()
    words = ("fit", tmp_path / "shop.csv", "-t", "bought", "-m", name, *fast)
    said = cotas(*words, "--probabilities", "-o", model, "--json")
    assert said.code == 0, said.err
    quality = said.document["quality"]
    assert 0 <= quality["measures"]["Brier score"]["low"] <= 1
    assert sum(part["rows"] for part in quality["calibration"]) == quality["rows"]
    rows = cotas("predict", model, tmp_path / "shop.csv", "--probabilities", "--json").document
    given = np.array(
        [[v for k, v in row.items() if k.startswith("probab")] for row in rows["predictions"]]
    )
    np.testing.assert_allclose(given.sum(axis=1), 1)
    found = library.load(model).predict_proba(pd.read_csv(tmp_path / "shop.csv"))
    np.testing.assert_allclose(found, given)


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_they_are_those_of_scikit_learn(load):
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = library.LinearSVM(lam=0.01)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    theirs = CalibratedClassifierCV(model, cv=folds, ensemble=False).fit(X, y).predict_proba(X)
    mine = calibrated(model, X, y).probabilities(model.fit(X, y).decision_function(X))
    np.testing.assert_allclose(mine, theirs, rtol=1e-9)


def test_the_brier_score_and_the_area_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 200)
    y = np.array([rng.choice(3, p=row) for row in p])
    scores = np.log(p) + rng.normal(size=(200, 1))  # softmax does not see a number of the row
    found = quality_of_classes(y, p.argmax(axis=1), scores, np.arange(3), y, probabilities=p)
    assert found.measures["Brier score"].value == pytest.approx(brier_score_loss(y, p))
    auc = roc_auc_score(np.eye(3)[y], p)
    assert found.measures["ROC AUC"].value == pytest.approx(auc)
    inside = [one.found.low <= one.said <= one.found.high for one in found.calibration]
    assert np.mean(inside) > 0.7


def test_what_has_no_probabilities_says_how_to_get_them(tmp_path):
    customers(60).write_csv(tmp_path / "shop.csv")
    words = ("fit", tmp_path / "shop.csv", "-t", "bought", "-o", tmp_path / "m.cotas")
    assert cotas(*words).code == 0
    said = cotas("predict", tmp_path / "m.cotas", tmp_path / "shop.csv", "--probabilities")
    assert said.code == 2
    assert "cotas fit --probabilities" in said.err
    assert cotas("fit", "builtin:houses", "--probabilities").code == 2


def test_a_class_of_one_row_and_a_regressor_are_refused():
    X = {"x": np.arange(9.0)}
    y = np.array(["a"] * 4 + ["b"] * 4 + ["c"])
    with says(DataFileError, label="'c'"):
        PreparedModel(library.LinearSVM(), probabilities=True).fit(X, y)
    with refuses("probabilities"):
        PreparedModel(library.Ridge(), probabilities=True).fit(X, np.arange(9.0))


def test_groups_stay_whole_and_the_certificate_is_the_same():
    X, y = load_iris(return_X_y=True)
    table = {f"x{j}": column for j, column in enumerate(X.T)}
    plain = PreparedModel(library.LinearSVM()).fit(table, y)
    told = PreparedModel(library.LinearSVM(), probabilities=True)
    told.fit(table, y, groups=np.arange(150) // 3)
    assert not hasattr(plain, "predict_proba")
    assert told.certificate_.holds
    assert told.certificate_.upper == plain.certificate_.upper
    assert (told.predict(table) == plain.predict(table)).all()
