"""`cotas fit` trains on any table at the first call, and says in one line each what it did."""

import json
import sqlite3
import zipfile

import numpy as np
import polars as pl
import pytest

import cotas as library
from cotas.selection.splits import read_rows, split
from cotas.tables import PreparedModel
from terminal import cotas, customers

TARGET = ("-t", "bought")


def fitted(path, *words):
    said = cotas("fit", path, *words, "--json")
    assert said.code == 0, said.err
    return said.document


def remarks(document, kind):
    return [remark["column"] for remark in document["remarks"] if remark["kind"] == kind]


def used(document):
    """The columns that the model was trained on."""
    useless = {r["column"] for r in document["remarks"] if r["kind"] in ("identifier", "text")}
    return {c["name"] for c in document["table"]["columns"]} - useless


@pytest.fixture
def passengers(tmp_path):
    """Names, tickets, row numbers and free text around a few columns that mean something."""
    n = 160
    frame = customers(n).sort("bought")
    return write(
        tmp_path / "ship.csv",
        frame.with_columns(
            passenger_id=pl.int_range(1, n + 1),
            name=pl.Series([f"Mr {k} Smith" for k in range(n)]),
            ticket=pl.Series([f"A/5 {k}" if k % 4 else str(k) for k in range(n)]),
            opinion=pl.Series([f"the food was {k} times good" for k in range(n)]),
        ),
    )


def write(path, frame):
    frame.write_csv(path)
    return path


def test_identifiers_names_and_free_text_are_left_out_with_a_line_each(passengers):
    said = cotas("fit", passengers, *TARGET)
    assert said.code == 0, said.err
    for name in ("passenger_id", "name", "ticket", "opinion"):
        (line,) = [line for line in said.err.splitlines() if f"'{name}'" in line]
        assert "is left out" in line
        assert f"--keep '{name}'" in line


def test_a_row_number_never_gives_the_answer_away(passengers, tmp_path):
    """The rows are sorted by the answer, so their numbers tell it."""
    with_number = fitted(passengers, *TARGET)["hold_out"]["error"]
    bare = pl.read_csv(passengers).drop("passenger_id", "name", "ticket", "opinion")
    without = fitted(write(tmp_path / "bare.csv", bare), *TARGET)["hold_out"]["error"]
    kept = fitted(passengers, *TARGET, "--keep", "passenger_id", "--model", "logitboost")
    assert with_number == without
    assert kept["hold_out"]["error"] < without


def test_keep_drop_and_strict(passengers):
    document = fitted(passengers, *TARGET, "--drop", "name,ticket", "--keep", "passenger_id")
    assert remarks(document, "text") == ["opinion"]
    assert remarks(document, "identifier") == []
    assert not {"name", "ticket"} & {c["name"] for c in document["table"]["columns"]}
    said = cotas("fit", passengers, *TARGET, "--strict-columns")
    assert said.code == 3
    assert all(f"'{name}'" in said.err for name in ("passenger_id", "name", "ticket", "opinion"))
    for words in (("--drop", "name,none"), ("--keep", "none"), ("--category", "none")):
        said = cotas("fit", passengers, *TARGET, *words)
        assert said.code == 3
        assert "no column 'none'" in said.err


def test_a_name_with_a_comma_is_one_name(tmp_path):
    path = write(tmp_path / "t.csv", customers().rename({"town": "town, city"}))
    document = fitted(path, *TARGET, "--drop", "town, city")
    assert {c["name"] for c in document["table"]["columns"]} == {"age", "income", "member"}


DATES = {
    "iso": ["2012-01-31", "2012-12-01", "2013-06-15"],
    "slashes": ["2012/01/31", "2012/12/01", "2013/06/15"],
    "day first": ["31/01/2012", "01/12/2012", "15/06/2013"],
    "month first": ["01/31/2012", "12/01/2012", "06/15/2013"],
    "dots": ["31.1.2012", "1.12.2012", "15.6.2013"],
    "two digits": ["31/01/12", "01/12/12", "15/06/13"],
    "names": ["Jan 31, 2012", "Dec 1, 2012", "Jun 15, 2013"],
    "nombres": ["31 de enero de 2012", "1 de diciembre de 2012", "15 de junio de 2013"],
    "with a time": ["2012-01-31T00:00:00Z", "2012-12-01T00:00:00Z", "2013-06-15T00:00:00Z"],
    "with noon": ["31/01/2012 12:00 am", "01/12/2012 12:00 am", "15/06/2013 12:00 am"],
}


@pytest.mark.parametrize("form", DATES)
def test_dates_in_all_forms_are_the_same_dates(tmp_path, form):
    moments = {}
    for name in ("iso", form):
        frame = customers(120).with_columns(day=pl.Series(DATES[name] * 40))
        path = write(tmp_path / "t.csv", frame)
        fitted(path, *TARGET, "--out", tmp_path / f"{name}.cotas")
        model = PreparedModel.load(tmp_path / f"{name}.cotas")
        moments[name] = model.prepare(pl.read_csv(path, infer_schema=False))
        names = model.preparation_.get_feature_names_out().tolist()
    assert (moments["iso"] == moments[form]).all()
    for part in ("year", "day of year", "days since 1970", "month=06", "weekday=Tue"):
        assert f"day: {part}" in names
    assert "day: hour" not in names  # it never changes


def test_times_and_unix_seconds(tmp_path):
    clock = [f"{k % 24:02d}:{k % 60:02d}" for k in range(120)]
    seconds = 1_700_000_000 + 86_400 * np.arange(120) % 7_654_321
    frame = customers(120).with_columns(clock=pl.Series(clock), at=pl.Series(seconds))
    path = write(tmp_path / "t.csv", frame)
    fitted(path, *TARGET, "--unix-seconds", "at", "--out", tmp_path / "m.cotas")
    names = PreparedModel.load(tmp_path / "m.cotas").preparation_.get_feature_names_out()
    assert "clock: hour of day" in names
    assert "at: year" in names
    assert cotas("predict", tmp_path / "m.cotas", path).code == 0
    assert cotas("certify", tmp_path / "m.cotas", path).code == 0


def test_the_order_of_day_and_month_is_told_by_the_column_or_said(tmp_path):
    open_ = customers(60).with_columns(day=pl.Series(["02/05/2023", "03/04/2023"] * 30))
    said = cotas("fit", write(tmp_path / "t.csv", open_), *TARGET)
    assert "nothing tells the day from the month" in said.err
    told = customers(60).with_columns(day=pl.Series(["02/05/2023", "03/14/2023"] * 30))
    said = cotas("fit", write(tmp_path / "t.csv", told), *TARGET)
    assert said.code == 0
    assert "nothing tells" not in said.err


def test_a_missing_date_is_marked_once(tmp_path):
    days = [None if k % 7 == 0 else f"2020-{k % 12 + 1:02d}-01" for k in range(120)]
    frame = customers(120).with_columns(day=pl.Series(days))
    fitted(write(tmp_path / "t.csv", frame), *TARGET, "--out", tmp_path / "m.cotas")
    names = PreparedModel.load(tmp_path / "m.cotas").preparation_.get_feature_names_out()
    assert [n for n in names if n.startswith("day") and "missing" in n] == [
        "day: days since 1970 is missing"
    ]


def test_rows_without_a_target_are_left_out_and_counted(tmp_path):
    frame = customers(100).with_columns(
        bought=pl.when(pl.int_range(100) % 10 == 3).then(None).otherwise(pl.col("bought"))
    )
    path = write(tmp_path / "t.csv", frame)
    document = fitted(path, *TARGET, "--out", tmp_path / "m.cotas")
    assert document["table"]["n_rows"] == 90
    assert "missing in 10 of 100 rows" in cotas("fit", path, *TARGET).err
    assert cotas("certify", tmp_path / "m.cotas", path).code == 0
    strict = cotas("fit", path, *TARGET, "--rows-without-target", "error")
    assert strict.code == 3
    assert "first in row 4" in strict.err
    assert cotas("fit", path, *TARGET, "--rows-without-target", "maybe").code == 2


def test_without_a_target_the_last_column_is_predicted_and_that_is_said(tmp_path):
    path = write(tmp_path / "t.csv", customers())
    said = cotas("fit", path)
    assert said.code == 0
    assert "'bought' is predicted" in said.err
    named = customers().select("bought", *customers().columns[:-1]).rename({"bought": "Target"})
    assert "'Target' is predicted" in cotas("fit", write(path, named)).err


def test_a_spreadsheet_of_flats_in_spanish(tmp_path):
    rng = np.random.default_rng(0)
    metres = rng.normal(90, 25, 120)
    prices = metres * 2500 + rng.normal(0, 9000, 120)

    def spanish(value):
        return f"{value:,.2f}".replace(",", "t").replace(".", ",").replace("t", ".")

    lines = ["ciudad;metros;precio;alta"]
    for k, (m, p) in enumerate(zip(metres, prices, strict=True)):
        lines.append(
            f"{'Logroño' if k % 2 else 'Cádiz'};{spanish(m)};{spanish(p)} €;{k % 28 + 1}/3/2023"
        )
    path = tmp_path / "pisos.csv"
    path.write_bytes("\r\n".join(lines).encode("cp1252"))
    document = fitted(path, "-t", "precio", "--out", tmp_path / "m.cotas")
    assert document["task"] == "regression"
    assert document["quality"]["measures"]["R²"]["value"] > 0.9
    said = cotas("predict", tmp_path / "m.cotas", path, "--json")
    rows = said.document["predictions"]
    predicted = np.array([row["prediction"] for row in rows])
    assert np.corrcoef(predicted, prices)[0, 1] > 0.95
    assert cotas("certify", tmp_path / "m.cotas", path).code == 0


def test_the_same_table_in_every_container_gives_the_same_model(tmp_path):
    frame = customers(120)
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, frame.to_dicts())))
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("t.csv", frame.write_csv())
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("create table sales (age, income, town, member, bought)")
        connection.executemany("insert into sales values (?, ?, ?, ?, ?)", frame.rows())
    connection.close()
    for part in (0, 1):
        write(tmp_path / f"part-{part}.csv", frame[60 * part : 60 * part + 60])
    write(tmp_path / "t.csv", frame)
    frame.write_parquet(tmp_path / "t.parquet")
    names = ["t.csv", "rows.jsonl", "t.zip", "shop.db::sales", "part-*.csv", "t.parquet"]
    gaps = {name: fitted(tmp_path / name, *TARGET)["hold_out"]["error"] for name in names}
    assert len(set(gaps.values())) == 1, gaps


@pytest.mark.parametrize("bad", [1, 30])
def test_predict_casts_no_word_to_nan_in_silence(tmp_path, bad):
    path, model = write(tmp_path / "t.csv", customers()), tmp_path / "m.cotas"
    fitted(path, *TARGET, "--out", model)
    words = pl.when(pl.int_range(160) < bad).then(pl.lit("oops")).otherwise(pl.col("age").cast(str))
    write(path, customers().with_columns(age=words))
    said = cotas("predict", model, path, "--only")
    if bad == 1:
        assert said.code == 0
        assert "row 1: 'oops'" in said.err
        assert "taken as missing" in said.err
    else:
        assert said.code == 3
        assert "'age' holds 'oops', where the model expects numbers" in said.err


def test_a_foreign_model_gets_no_nan_for_a_word(tmp_path):
    from sklearn.linear_model import Ridge
    from skops import io

    frame = pl.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0) % 7})
    io.dump(Ridge().fit(frame.to_numpy(), frame["a"].to_numpy()), tmp_path / "m.skops")
    words = frame.with_columns(b=pl.lit("word"))
    said = cotas("predict", tmp_path / "m.skops", write(tmp_path / "t.csv", words))
    assert said.code == 3
    assert "'b' holds 'word'" in said.err


def test_rows_of_a_group_are_on_one_side(tmp_path):
    frame = customers(200).with_columns(patient=pl.Series([f"p{k // 5}" for k in range(200)]))
    path = write(tmp_path / "t.csv", frame)
    document = fitted(path, *TARGET, "--group", "patient", "--out", tmp_path / "m.cotas")
    rows = PreparedModel.load(tmp_path / "m.cotas").recipe_.rows
    patients = frame["patient"].to_numpy()
    held = np.setdiff1d(np.arange(200), rows)
    assert len(held) > 0
    assert not set(patients[rows]) & set(patients[held])
    assert remarks(document, "group") == ["patient"]
    assert cotas("fit", path, *TARGET, "--group", "none").code == 2
    # Also where no rows are held out: folds are made by them.
    whole = ("--hold-out", "0", "--group")
    assert remarks(fitted(path, *TARGET, *whole, "patient"), "group") == ["patient"]
    assert cotas("fit", path, *TARGET, *whole, "none").code == 2


def test_copies_are_on_one_side(tmp_path):
    frame = pl.concat([customers(150), customers(150)[:30]])
    document = fitted(write(tmp_path / "t.csv", frame), *TARGET, "--out", tmp_path / "m.cotas")
    rows = PreparedModel.load(tmp_path / "m.cotas").recipe_.rows
    marks = frame.drop("bought").hash_rows().to_numpy()
    held = np.setdiff1d(np.arange(180), rows)
    assert not set(marks[rows]) & set(marks[held])
    assert [r["kind"] for r in document["remarks"]].count("duplicates") == 1


def test_each_class_gives_its_share():
    document = cotas("fit", "builtin:iris", "--json").document
    assert sorted(one["rows"] for one in document["quality"]["classes"]) == [10, 10, 10]


def test_a_count_is_used_where_there_is_nothing_else(tmp_path):
    frame = pl.DataFrame({"x": np.arange(60), "y": 3.0 * np.arange(60) + 1})
    assert fitted(write(tmp_path / "t.csv", frame))["quality"]["verdict"] == "better"
    said = cotas("fit", write(tmp_path / "t.csv", frame.rename({"x": "row_id"})))
    assert said.code == 3
    assert "No column is left" in said.err


def test_a_class_of_one_row_can_be_trained_and_chosen_with(tmp_path):
    frame = customers(120).with_columns(
        bought=pl.when(pl.int_range(120) == 7).then(pl.lit("perhaps")).otherwise("bought")
    )
    path = write(tmp_path / "t.csv", frame)
    assert cotas("fit", path, *TARGET).code == 0
    assert cotas("fit", path, *TARGET, "--select", "lam").code in (0, 2)


def in_groups(tmp_path, people=40, each=3):
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=people), each) + 0.1 * rng.normal(size=people * each)
    answer = np.where(x + rng.normal(size=len(x)) > 0, "yes", "no")
    person = [f"p{k // each}" for k in range(len(x))]
    frame = pl.DataFrame({"x": x, "person": person, "bought": answer})
    return write(tmp_path / "people.csv", frame)


def test_groups_are_held_out_in_their_share_and_prove_nothing_of_rows(tmp_path):
    said = fitted(in_groups(tmp_path), *TARGET, "--group", "person")
    assert said["hold_out"]["rows"] == 24  # a fifth of the groups, three rows each
    assert said["bound"] is None
    shown = cotas("compare", in_groups(tmp_path), *TARGET, "--group", "person", "--models", "svm")
    assert "nothing is proved of future rows" in shown.err
    assert "at most" not in shown.out


def test_groups_of_one_row_each_are_rows(tmp_path):
    said = fitted(in_groups(tmp_path, people=120, each=1), *TARGET, "--group", "person")
    assert said["bound"]["figures"]["rows"] == said["hold_out"]["rows"] == 24


def test_copies_prove_nothing_of_rows_to_come(tmp_path):
    frame = customers(90)
    path = write(tmp_path / "t.csv", pl.concat([frame, frame[:20], frame[:10]]))
    assert fitted(path, *TARGET)["bound"] is None


def test_rows_that_occur_often_are_no_copies(tmp_path):
    """Of a customer who spends nothing there are many, and the rows set aside must have some."""
    rng = np.random.default_rng(0)
    x = np.where(np.arange(400) % 2, 0.0, rng.normal(size=400) + 2)
    wrong = (x == 0) & (rng.random(400) < 0.5)
    frame = pl.DataFrame({"x": x, "bought": np.where((x > 2) ^ wrong, "yes", "no")})
    said = fitted(write(tmp_path / "t.csv", frame), *TARGET)
    assert said["bound"]["upper"] > said["hold_out"]["error"] > 0.1


@pytest.mark.parametrize(
    "words", [("curve",), ("curve", "--folds", "3"), ("fit", "--select", "lam")]
)
def test_choosing_keeps_groups_on_one_side(tmp_path, monkeypatch, words):
    seen = []
    choose = library.choose

    def spy(model, X, y, *rest, groups=None, **more):
        seen.append(groups)
        return choose(model, X, y, *rest, groups=groups, **more)

    monkeypatch.setattr(library, "choose", spy)
    command, *more = words
    said = cotas(command, in_groups(tmp_path), *TARGET, "--group", "person", *more, "--json")
    assert said.code == 0, said.err
    assert seen[0] is not None


@pytest.mark.parametrize("folds", [None, 4])
@pytest.mark.parametrize("model", [library.LinearSVM(), library.Ridge()])
def test_no_group_is_on_both_sides_of_a_choice(folds, model):
    groups = np.arange(60) // 3
    y = np.arange(60) % 2 if hasattr(model, "decision_function") else np.arange(60.0)
    rows = read_rows(np.arange(60.0)[:, None], y, None, hasattr(model, "decision_function"), groups)
    for part in split(model, rows, None, folds, True, 0):
        train, test = (set((X[:, 0] // 3).astype(int)) for X in (part.X, part.X_val))
        assert not train & test


def test_a_model_of_classes_asks_about_a_target_of_quantities(tmp_path):
    frame = customers(60).with_columns(price=pl.int_range(1000, 7000, 100))
    said = cotas("fit", write(tmp_path / "t.csv", frame), "-t", "price", "--model", "svm")
    assert said.code == 3
    assert "60 different numbers" in said.err
    assert "--model svr" in said.err


@pytest.mark.parametrize("words", [("--lam", "-1"), ("-p", "solver=magic"), ("--select", "n_jobs")])
def test_wrong_parameters_are_wrong_use_and_faults_are_not(tmp_path, monkeypatch, words):
    path = write(tmp_path / "t.csv", customers(60))
    assert cotas("fit", path, *TARGET, *words).code == 2

    def broken(*_, **__):
        raise ValueError("lam is not to blame")

    monkeypatch.setattr(PreparedModel, "fit_prepared", broken)
    assert cotas("fit", path, *TARGET, "--lam", "0.1").code == 70


def test_copies_of_rows_give_no_false_bound(tmp_path):
    """Noise that stands in the table many times is not learned: most rows have a twin here."""
    random = np.random.default_rng(0)
    X = np.repeat(random.normal(size=(60, 80)), 6, axis=0)
    y = np.repeat(random.choice(["a", "b"], 60), 6)
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(80)]).with_columns(y=pl.Series(y))
    document = fitted(
        write(tmp_path / "noise.csv", frame.sample(fraction=1.0, shuffle=True, seed=0)), "-t", "y"
    )
    assert document["bound"] is None
    assert document["hold_out"]["error"] > 0.2  # no copy was trained on


def test_a_copied_row_makes_no_feature_of_an_identifier(tmp_path):
    frame = customers(160).with_columns(customer_id=pl.int_range(1, 161))
    twice = pl.concat([frame, frame[:1], frame[5:7]])
    document = fitted(write(tmp_path / "shop.csv", twice), *TARGET)
    assert remarks(document, "identifier") == ["customer_id"]


@pytest.mark.parametrize("model", ["svm", "auto"])
def test_a_table_without_a_column_to_learn_from(tmp_path, model):
    lines = [f"{k:x} is a text of its own {k * 7919:o},{'ab'[k % 2]}" for k in range(60)]
    table = tmp_path / "texts.csv"
    table.write_text("\n".join(["words,kind", *lines]))
    done = cotas("fit", table, "--target", "kind", "--model", model)
    assert done.code == 3
    assert "No column is left" in done.err
