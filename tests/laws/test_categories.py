"""Boosters take columns of categories as they are, whichever library made them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cotas
from errors import refuses

BOOSTERS = {
    "AdaBoost": cotas.AdaBoost,
    "RealAdaBoost": cotas.RealAdaBoost,
    "LogitBoost": cotas.LogitBoost,
    "GentleBoost": cotas.GentleBoost,
    "AnyBoost": cotas.AnyBoost,
    "ConvexAnyBoost": cotas.ConvexAnyBoost,
    "LSBoost": lambda **given: cotas.LSBoost(cotas.Tree(2), **given),
}
TOWNS = ("Vigo", "Sos", "Lugo", "Ávila")


def frames(n=120):
    """The same table of numbers and categories from three libraries, and its target."""
    rng = np.random.default_rng(0)
    towns = [None if k == 3 else str(w) for k, w in enumerate(rng.choice(TOWNS, n))]
    x = rng.normal(size=n)
    wanted = np.isin(np.array(towns, dtype=object), ["Vigo", "Lugo"]) ^ (rng.random(n) < 0.05)
    categorical = pl.Series(towns, dtype=pl.Categorical)
    return {
        "pandas": pd.DataFrame({"x": x, "town": pd.Categorical(towns)}),
        "another order": pd.DataFrame({"x": x, "town": pd.Categorical(towns, TOWNS)}),
        "polars": pl.DataFrame({"x": x, "town": categorical}),
        "enum": pl.DataFrame({"x": x, "town": pl.Series(towns, dtype=pl.Enum(TOWNS))}),
        "arrow": pa.table({"x": x, "town": pa.array(towns).dictionary_encode()}),
    }, np.where(wanted, 1.0, 0.0)


@pytest.mark.parametrize("name", BOOSTERS)
def test_the_library_and_the_order_of_the_categories_do_not_matter(name, tmp_path):
    tables, y = frames()
    models = {kind: BOOSTERS[name](n_estimators=4).fit(X, y) for kind, X in tables.items()}
    expected = models["pandas"].predict(tables["pandas"])
    for kind, model in models.items():
        assert model.certificate_.holds
        assert model.certificate_.verify(tables[kind], y)
        for X in tables.values():
            np.testing.assert_array_equal(model.predict(X), expected)
    models["pandas"].save(tmp_path / "m.cotas")
    again = cotas.load(tmp_path / "m.cotas")
    np.testing.assert_array_equal(again.predict(tables["polars"]), expected)
    assert again.certificate_.holds
    assert cotas.certify(again, tables["arrow"], y).holds


def test_a_group_of_categories_is_one_test():
    """One stump separates {Vigo, Lugo} from the rest, which no threshold on codes does."""
    tables, y = frames()
    model = cotas.AdaBoost(n_estimators=1).fit(tables["pandas"], y)
    assert model.score(tables["pandas"], y) > 0.9


def test_changed_names_of_categories_are_seen():
    tables, y = frames()
    model = cotas.AdaBoost(n_estimators=3).fit(tables["pandas"], y)
    model.categories_[1] = model.categories_[1][::-1]
    assert not model.certificate_.holds


def test_numbers_as_categories_stand_for_themselves():
    tables, y = frames()
    X = tables["pandas"].assign(town=pd.Categorical(np.arange(len(y)) % 3))
    for model in (cotas.AdaBoost(n_estimators=3), cotas.LinearSVM()):
        assert model.fit(X, y).certificate_.verify(X, y)


def test_new_and_missing_categories_are_predicted_and_wrong_columns_refused():
    tables, y = frames()
    model = cotas.AdaBoost(n_estimators=3).fit(tables["pandas"], y)
    assert len(model.predict(pd.DataFrame({"x": [0.0, 1.0], "town": ["Paris", None]}))) == 2
    numbers = cotas.AdaBoost(n_estimators=3).fit(tables["pandas"][["x"]], y)
    with refuses("X"):
        numbers.predict(tables["pandas"][["town"]].rename(columns={"town": "x"}))
    with refuses("X"):
        cotas.AdaBoost("linear").fit(tables["pandas"], y)
