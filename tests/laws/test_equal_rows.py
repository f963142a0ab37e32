"""Rows that are equal: copies prove nothing of future rows, independent draws do."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import cotas
from cotas.cli.training import Settings, bound_on_future_rows, split
from cotas.files.table import Table
from cotas.preparation.held_out import copies
from errors import refuses
from terminal import cotas as run

SEEDS, CONFIDENCE = 200, 0.9


def drawn(rows, random):
    """Independent rows of frequent values, some of them equal by chance; a third of noise."""
    a, b = random.normal(size=rows).round(1), random.integers(0, 3, size=rows)
    likely = 1 / (1 + np.exp(-1.5 * a - (b == 1)))
    return pl.DataFrame({"a": a, "b": b}), np.where(random.random(rows) < likely, "yes", "no")


def in_csv(frame, y, path):
    frame.with_columns(y=pl.Series(y)).write_csv(path)
    return path


def test_the_bound_of_declared_draws_holds_as_often_as_it_says():
    """Over seeded tables; the true error is that on many more rows of the same kind."""
    fresh, truth = drawn(20_000, np.random.default_rng(10_000))
    failures = with_equal_rows = 0
    for seed in range(SEEDS):
        frame, y = drawn(100, np.random.default_rng(seed))
        given = {"seed": seed, "confidence": CONFIDENCE, "equal_rows": "independent"}
        settings = Settings(task="classification", hold_out=0.3, **given)
        rows, _ = split(Table(frame, None, "", "frame"), y, settings)
        with_equal_rows += copies(rows.table, y)[0] is not None
        model = cotas.tables.PreparedModel(cotas.LinearSVM(lam=0.1, tol=1e-2))
        model.fit(rows.take(rows.train)[0], y[rows.train])
        wrong = model.predict(rows.take(rows.test)[0]) != y[rows.test]
        bound = bound_on_future_rows(wrong, rows, settings)
        failures += bound.upper < np.mean(model.predict(fresh) != truth)
    assert with_equal_rows > SEEDS / 2
    assert failures <= binom.ppf(0.999, SEEDS, 1 - CONFIDENCE)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    frame, y = drawn(100, np.random.default_rng(0))
    return in_csv(frame, y, tmp_path_factory.mktemp("equal") / "t.csv")


def test_without_the_word_of_the_user_there_is_no_bound(table):
    said = run("fit", table, "--json")
    assert said.document["bound"] is None
    assert "--equal-rows 'independent'" in said.err
    assert run("compare", table, "--models", "svm", "--json").document["models"][0]["bound"] is None


def test_whoever_declares_them_independent_has_one_that_says_so(table):
    found = run("fit", table, "--equal-rows", "independent", "--json").document
    assert found["bound"]["upper"] < 1
    assert "declared" in str(found["bound"])
    call = ("compare", table, "--models", "svm", "--equal-rows", "independent", "--json")
    assert run(*call).document["models"][0]["bound"] < 1
    choice = run("curve", table, "--lams", "1,0.1", "--equal-rows", "independent", "--json")
    assert choice.document["hold_out"]["kind"] == "hold-out"
    assert run("curve", table, "--lams", "1,0.1", "--json").document["hold_out"]["kind"] == "none"


@pytest.mark.parametrize("more", [("maybe",), ("independent", "--group", "b")])
def test_what_makes_no_sense_is_refused(table, more):
    assert run("fit", table, "--equal-rows", *more).code == 2


def test_in_python():
    frame, y = drawn(100, np.random.default_rng(0))
    model = cotas.tables.PreparedModel(cotas.LinearSVM(lam=0.1)).fit(
        *drawn(100, np.random.default_rng(2))
    )
    withheld = model.hold_out_bound(frame, y)
    assert (withheld.kind, withheld.holds) == ("none", False)
    found = model.hold_out_bound(frame, y, equal_rows="independent")
    assert found.upper == cotas.hold_out_bound(model.predict(frame) != y).upper
    apart = frame.with_columns(a=pl.col("a") + np.arange(100) * 1e-9)
    assert model.hold_out_bound(apart, y).kind == "hold-out"
    with refuses("equal_rows"):
        model.hold_out_bound(frame, y, equal_rows="maybe")
