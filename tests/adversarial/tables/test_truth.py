"""What is said about how good a model is, is so: and loud where it is of no use."""

import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import metrics
from sklearn.datasets import dump_svmlight_file
from sklearn.dummy import DummyClassifier, DummyRegressor

from cotas.preparation.quality import quality_of_classes, quality_of_numbers
from cotas.tables import PreparedModel
from terminal import cotas, customers


def noise(n=400, seed=0, regression=False):
    """A table from which nothing can be learned, with a class that is rare."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"a": rng.normal(size=n), "b": rng.choice(list("uvw"), n)})
    y = rng.normal(5, 1, n) if regression else np.where(rng.random(n) < 0.2, "late", "on time")
    return frame.with_columns(y=pl.Series(y))


def held_out(tmp_path, frame, *words):
    """What fit says of a table, and what its model says of the rows that were held out."""
    path, model = tmp_path / "t.csv", tmp_path / "m.cotas"
    frame.write_csv(path)
    said = cotas("fit", path, "-o", model, "--json", *words)
    assert said.code == 0, said.err
    loaded = PreparedModel.load(model)
    rows = np.setdiff1d(np.arange(frame.height), loaded.recipe_.rows)
    return said.document, loaded, frame[rows], frame[loaded.recipe_.rows]


def test_the_measures_of_classes_are_those_of_scikit_learn(tmp_path):
    document, model, test, train = held_out(tmp_path, customers(400))
    truth, predicted = test["bought"].to_numpy(), model.predict(test)
    quality = document["quality"]
    found = {name: one["value"] for name, one in quality["measures"].items()}
    assert found["error"] == pytest.approx(metrics.zero_one_loss(truth, predicted))
    balanced = metrics.balanced_accuracy_score(truth, predicted)
    assert found["balanced accuracy"] == pytest.approx(balanced)
    scores, rare = model.decision_function(test), quality["positive"]
    signed = scores if rare == model.classes_[1] else -scores
    assert found["ROC AUC"] == pytest.approx(metrics.roc_auc_score(truth == rare, signed))
    precision = metrics.average_precision_score(truth == rare, signed)
    assert found["average precision"] == pytest.approx(precision)
    matrix = metrics.confusion_matrix(truth, predicted, labels=model.classes_)
    assert quality["confusion"] == matrix.tolist()
    told = metrics.precision_recall_fscore_support(truth, predicted, labels=model.classes_)
    for one, exact, recalled, count in zip(quality["classes"], *told[:2], told[3], strict=True):
        assert one["precision"]["value"] == pytest.approx(exact)
        assert one["recall"]["value"] == pytest.approx(recalled)
        assert one["rows"] == count
    dummy = DummyClassifier().fit(train, train["bought"])
    always = metrics.zero_one_loss(truth, dummy.predict(test))
    assert quality["baseline"]["value"] == pytest.approx(always)
    assert quality["verdict"] == "better"
    assert document["alarms"] == []


def test_the_measures_of_numbers_are_those_of_scikit_learn(tmp_path):
    frame = customers(300).with_columns(y=pl.col("age") * 3 + pl.col("income").fill_null(20))
    document, model, test, train = held_out(tmp_path, frame.drop("bought"))
    truth, predicted = test["y"].to_numpy(), model.predict(test)
    found = {name: one["value"] for name, one in document["quality"]["measures"].items()}
    assert found["RMSE"] == pytest.approx(metrics.root_mean_squared_error(truth, predicted))
    assert found["MAE"] == pytest.approx(metrics.mean_absolute_error(truth, predicted))
    assert found["R²"] == pytest.approx(metrics.r2_score(truth, predicted))
    always = DummyRegressor().fit(train, train["y"]).predict(test)
    expected = metrics.root_mean_squared_error(truth, always)
    assert document["quality"]["baseline"]["value"] == pytest.approx(expected)


def test_an_interval_is_around_its_value():
    for name in ("builtin:iris", "builtin:diabetes", "builtin:breast-cancer"):
        quality = cotas("fit", name, "--json").document["quality"]
        told = [one[key] for one in quality["classes"] for key in ("recall", "precision")]
        for one in [*quality["measures"].values(), quality["baseline"], *told]:
            assert one["low"] <= one["value"] <= one["high"]


def test_intervals_hold_what_they_promise():
    """Of a coin that errs in three of ten rows, nineteen intervals of twenty have the truth."""
    rng = np.random.default_rng(0)
    missed, repeats = {"error": 0, "balanced accuracy": 0}, 100
    for _ in range(repeats):
        truth = rng.integers(0, 2, 80)
        said = np.where(rng.random(80) < 0.3, 1 - truth, truth)
        measures = quality_of_classes(truth, said, None, np.array([0, 1]), truth).measures
        for name, right in (("error", 0.3), ("balanced accuracy", 0.7)):
            missed[name] += not measures[name].low <= right <= measures[name].high
    assert max(missed.values()) <= 0.1 * repeats, missed


@pytest.mark.parametrize("lang", ["en", "es"])
def test_a_model_that_always_says_the_same_is_not_a_success(tmp_path, lang):
    path, page = tmp_path / "t.csv", tmp_path / "t.html"
    noise().write_csv(path)
    said = cotas("fit", path, "--lang", lang, "--report", page)
    assert said.code == 0
    alarm = {"en": "WARNING", "es": "ATENCIÓN"}[lang]
    always = {"en": "always “on time”", "es": "siempre «on time»"}[lang]
    assert said.out.count(alarm) >= 1
    assert always in said.out
    html = page.read_text()
    assert html.index('class="alarm"') < html.index('class="certificate')
    assert always in html
    document = cotas("fit", path, "--json").document
    quality = document["quality"]
    assert quality["verdict"] in ("no better", "unclear")
    assert document["alarms"]
    if quality["constant"] is not None:
        assert "late" in quality["silent"]


def test_a_regression_of_nothing_is_no_success(tmp_path):
    noise(regression=True).write_csv(tmp_path / "t.csv")
    document = cotas("fit", tmp_path / "t.csv", "--json").document
    assert document["quality"]["verdict"] in ("no better", "unclear")
    assert "the mean" in document["alarms"][0]


def test_without_rows_held_out_the_training_rows_are_judged(tmp_path):
    noise().write_csv(tmp_path / "t.csv")
    document = cotas("fit", tmp_path / "t.csv", "--hold-out", "0", "--json").document
    assert document["hold_out"] is None
    assert document["quality"]["rows"] == 400


def test_a_class_that_is_never_answered_is_named():
    truth = np.array(["a"] * 30 + ["b"] * 20 + ["c"] * 3)
    said = np.array(["a"] * 30 + ["b"] * 23)
    quality = quality_of_classes(truth, said, None, np.array(["a", "b", "c"]), truth)
    assert quality.silent == ("c",)
    assert quality.constant is None
    assert quality.verdict == "better"
    assert quality.classes[2].precision is None


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(2, 4))
def test_measures_are_those_of_the_field(seed, n, count):
    """Scores and answers with many ties, and classes that do not occur: as scikit-learn has it."""
    rng = np.random.default_rng(seed)
    classes = np.array(["a", "b", "c", "d"])[:count]
    truth, said = classes[rng.integers(0, count, (2, n))]
    scores = rng.integers(0, 5, (n, count)) / 4.0
    p = (scores + 0.1) / (scores + 0.1).sum(axis=1, keepdims=True)
    trained = np.append(classes, truth)
    one = scores[:, 1] if count == 2 else scores
    measures = quality_of_classes(truth, said, one, classes, trained).measures
    told = quality_of_classes(truth, said, None, classes, trained, probabilities=p)
    assert np.array_equal(told.confusion, metrics.confusion_matrix(truth, said, labels=classes))
    brier = metrics.brier_score_loss(truth, p, labels=classes)
    assert told.measures["Brier score"].value == pytest.approx(brier)
    there = np.isin(classes, truth)
    assert ("ROC AUC" in measures) == (there.sum() > 1)
    if there.sum() > 1:
        own = truth[:, None] == classes[there]
        ranks = scores[:, there]
        if count == 2:
            rarer = int((trained == "b").sum() < (trained == "a").sum())
            own, ranks = truth == classes[rarer], one if rarer else -one
        expected = metrics.roc_auc_score(own, ranks), metrics.average_precision_score(own, ranks)
        found = measures["ROC AUC"].value, measures["average precision"].value
        assert found == pytest.approx(expected)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 40))
def test_any_numbers_have_a_quality(seed, n):
    rng = np.random.default_rng(seed)
    truth, said = rng.integers(0, 3, n) * 1.0, rng.integers(0, 2, n) * 1.0
    quality = quality_of_numbers(truth, said, truth)
    assert quality.measures["RMSE"].value >= quality.measures["MAE"].value - 1e-12
    assert (quality.constant is not None) == (np.ptp(said) == 0)
    rmse, mae = (quality.measures[name].value for name in ("RMSE", "MAE"))
    assert rmse == pytest.approx(metrics.root_mean_squared_error(truth, said))
    assert mae == pytest.approx(metrics.mean_absolute_error(truth, said))
    if np.ptp(truth) > 0:
        assert quality.measures["R²"].value == pytest.approx(metrics.r2_score(truth, said))


@pytest.mark.parametrize("name", ["builtin:iris", "builtin:digits"])
def test_the_terminal_shows_a_matrix_of_as_many_rows_as_classes(name):
    said = cotas("fit", name, "-m", "perceptron")
    quality = cotas("fit", name, "-m", "perceptron", "--json").document["quality"]
    lines = said.out.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("class "))
    table = lines[start + 1 : start + 1 + len(quality["classes"])]
    for line, one, row in zip(table, quality["classes"], quality["confusion"], strict=True):
        cells = re.split(r"\s{2,}", line.strip())
        assert cells[0] == one["label"]
        assert int(cells[1]) == one["rows"] == sum(row)
        if len(row) <= 8:
            assert [int(cell) for cell in cells[2 : 2 + len(row)]] == row


def test_predictions_of_rows_that_were_trained_on_say_so(tmp_path):
    _, _, test, _ = held_out(tmp_path, customers(200))
    said = cotas("predict", tmp_path / "m.cotas", tmp_path / "t.csv", "--only")
    assert "160 of these 200 rows were trained on" in said.err
    test.write_csv(tmp_path / "new.csv")
    said = cotas("predict", tmp_path / "m.cotas", tmp_path / "new.csv", "--only")
    assert "trained on" not in said.err


def test_coefficients_that_the_gap_does_not_tell_from_zero_are_not_shown(tmp_path):
    held_out(tmp_path, noise())
    said = cotas("explain", tmp_path / "m.cotas")
    assert "Not told from 0" in said.out
    every = cotas("explain", tmp_path / "m.cotas", "--json").document["coefficients"]
    shown = [name for name in every[0]["coefficients"] if f"\n{name} " in said.out]
    assert len(shown) < len(every[0]["coefficients"])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rows_trained_on_are_told_however_the_table_comes(tmp_path, ending):
    frame = customers(200)
    table, part = tmp_path / f"t.{ending}", tmp_path / f"part.{ending}"
    write = {"csv": pl.DataFrame.write_csv, "parquet": pl.DataFrame.write_parquet}[ending]
    write(frame, table)
    cotas("fit", table, "-t", "bought", "-m", "svm", "--out", tmp_path / "m.cotas")
    write(frame[PreparedModel.load(tmp_path / "m.cotas").recipe_.rows], part)
    for file in (table, part):
        for rows in (1, 7, 160, 100_000):
            call = ("predict", tmp_path / "m.cotas", file, "--only", "--rows", str(rows))
            document = cotas(*call, "--json").document
            assert (document["rows_trained_on"], document["rows_trained_on_told"]) == (160, True)
            assert f"160 of these {document['rows']} rows were trained on" in cotas(*call).err
    write(frame.with_columns(pl.col("age") + (pl.int_range(pl.len()) == 150)), table)
    for rows in (7, 100_000):
        call = ("predict", tmp_path / "m.cotas", table, "--rows", str(rows), "--json")
        assert cotas(*call).document["rows_trained_on"] is None


@pytest.mark.parametrize("rows", [7, 100_000])
def test_rows_without_a_target_do_not_hide_the_error_of_the_others(tmp_path, rows):
    gone = pl.int_range(pl.len()) % 9 == 3
    frame = customers(200).with_columns(bought=pl.when(~gone).then(pl.col("bought")))
    frame = frame.with_columns(bought=pl.when(pl.int_range(pl.len()) > 9).then(pl.col("bought")))
    frame.write_csv(tmp_path / "t.csv")
    cotas("fit", tmp_path / "t.csv", "-t", "bought", "-m", "svm", "--out", tmp_path / "m.cotas")
    model, known = PreparedModel.load(tmp_path / "m.cotas"), frame.drop_nulls("bought")
    call = ("predict", tmp_path / "m.cotas", tmp_path / "t.csv", "--only", "--rows", str(rows))
    document = cotas(*call, "--json").document
    wrong = np.mean(model.predict(known) != known["bought"].to_numpy())
    assert (document["test_rows"], document["test_error"]) == (known.height, pytest.approx(wrong))
    assert document["rows_trained_on"] == len(model.recipe_.rows)
    assert f"{known.height} of these 200 rows have the target" in cotas(*call).err
    assert f"{known.height} de estas 200 filas tienen" in cotas(*call, "--lang", "es").err


@pytest.mark.parametrize("odd", [{99}, {50, 101}, set(range(0, 300, 100))], ids=str)
def test_impossible_dates_are_named_by_their_rows_wherever_the_split_puts_them(tmp_path, odd):
    """Neither the row nor the verdict depends on which rows are held out."""
    days = ["31/02/2020" if k in odd else f"{13 + k % 14}/{1 + k % 12}/2020" for k in range(300)]
    lines = ["d,x,y", *(f"{day},{k % 17},{k * k % 23 / 7}" for k, day in enumerate(days))]
    table, model = tmp_path / "t.csv", tmp_path / "m.cotas"
    table.write_text("\n".join(lines))
    rows = "; ".join(f"row {k + 1}: '31/02/2020'" for k in sorted(odd))
    for seed in ("0", "1"):
        said = cotas("fit", table, "--out", model, "--seed", seed)
        assert said.code == 0, said.err
        note = f"cells that are no dates are taken as missing ({len(odd)} in all; {rows})"
        assert said.err.count(note) == said.err.count("31/02/2020") / len(odd) == 1
        assert cotas("certify", model, table).code == 0
    assert "que no son fechas" in cotas("fit", table, "--lang", "es").err


@pytest.mark.parametrize("rows", [7, 100_000])
def test_an_infinite_target_is_said_to_leave_the_error_unmeasured(tmp_path, rows):
    lines = ["x,y", *(f"{k % 11},{k % 11 + k % 3 / 7}" for k in range(40))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    cotas("fit", tmp_path / "t.csv", "--out", tmp_path / "m.cotas")
    (tmp_path / "t.csv").write_text("\n".join([*lines, "3,inf"]))
    call = ("predict", tmp_path / "m.cotas", tmp_path / "t.csv", "--only", "--rows", str(rows))
    document = cotas(*call, "--json").document
    assert (document["rows"], document["test_rows"], document["test_error"]) == (41, 0, None)
    assert "no error is measured" in cotas(*call).err
    assert "no se mide ningún error" in cotas(*call, "--lang", "es").err


def test_of_sparse_rows_in_batches_it_is_said_that_it_cannot_be_told(tmp_path):
    X = sparse.random(60, 5, density=0.4, random_state=0, format="csr")
    dump_svmlight_file(X, np.arange(60) % 2, str(tmp_path / "t.svm"), zero_based=False)
    cotas("fit", tmp_path / "t.svm", "-m", "perceptron", "--out", tmp_path / "m.cotas")
    trained = len(PreparedModel.load(tmp_path / "m.cotas").recipe_.rows)
    for rows, count in (("60", trained), ("7", None)):
        call = ("predict", tmp_path / "m.cotas", tmp_path / "t.svm", "--rows", rows)
        document = cotas(*call, "--json").document
        assert document["rows_trained_on"] == count
        assert document["rows_trained_on_told"] == (count is not None)
        assert ("cannot be told" in cotas(*call).err) == (count is None)


@pytest.mark.parametrize("lang", ["en", "es"])
def test_a_choice_that_was_cut_short_says_so(tmp_path, lang):
    """On the terminal, in the report and for programs: so many settings of so many."""
    path, page = tmp_path / "t.csv", tmp_path / "t.html"
    customers(80).write_csv(path)
    words = ("fit", path, "-m", "auto", "--time", "0.001", "--lang", lang)
    said = cotas(*words, "--report", page)
    told = {"en": r"\d+ of the first \d+ sett", "es": r"\d+ de las primeras \d+ conf"}[lang]
    [line] = re.findall(told, said.err)
    tried, count = map(int, re.findall(r"\d+", line))
    assert 1 <= tried < count
    assert line in page.read_text()
    document = cotas(*words, "--json").document
    assert any(line[-8:] in warning for warning in document["warnings"])
    whole = ("fit", path, "-m", "auto", "--trials", "2", "--json")
    assert cotas(*whole).document["warnings"] == []


def test_the_leaderboard_says_by_how_much_each_was_judged(tmp_path):
    """Errors are in order among those of as many folds and rows; more of them come first."""
    path, page = tmp_path / "t.csv", tmp_path / "t.html"
    customers(80).write_csv(path)
    words = ("fit", path, "-m", "auto", "--trials", "7", "--report", page)
    rivals = cotas(*words, "--json").document["rivals"]
    single = [rival for rival in rivals if not rival["name"].startswith("blend")]
    judged = [(-rival["rows"], -rival["folds"], rival["error"]) for rival in single]
    assert judged == sorted(judged)
    assert len({rival["folds"] for rival in rivals}) > 1
    said = cotas(*words).out
    for text in (said, page.read_text()):
        assert "folds" in text


@pytest.mark.parametrize(("ordered", "said"), [(True, True), (False, False)])
def test_rows_in_the_order_of_time_are_told_of(tmp_path, ordered, said):
    """Rows held out are of the same days as those trained on; rows to come are not."""
    random = np.random.default_rng(0)
    days = np.arange(60) if ordered else random.permutation(60)
    rows = [f"{np.datetime64('2024-01-01') + d},{random.normal():.3f},{d % 2}" for d in days]
    (tmp_path / "t.csv").write_text("day,x,y\n" + "\n".join(rows) + "\n")
    notes = cotas("fit", tmp_path / "t.csv").err
    assert ("in the order of 'day'" in notes) == said
    assert "in the order of" not in cotas("fit", tmp_path / "t.csv", "--hold-out", "0").err
