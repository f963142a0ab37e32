"""Each option of each command changes what comes out, or is refused: none is ignored in silence."""

import html
import re
import sqlite3

import numpy as np
import polars as pl
import pytest
import typer

from cotas.cli import data as cli_data
from cotas.cli.app import COMMANDS, app
from cotas.files.cells import MISSING
from cotas.tables import read_table
from terminal import cotas, customers

# What all commands share is tried elsewhere; these measure, compile or open a window.
SHARED = {"json_", "quiet", "debug", "lang"}
ELSEWHERE = {"bench", "warmup", "lab", "reproduce", "info", "clean"}
PARAMETERS = {
    name: {p.name: p.opts[0] for p in typer.main.get_command(app).get_command(None, name).params}
    for name in COMMANDS
}
OPTIONS = [
    (command, name)
    for command, known in PARAMETERS.items()
    for name, option in known.items()
    if command not in ELSEWHERE and name not in SHARED and option.startswith("-")
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Tables, and models of them."""
    folder = tmp_path_factory.mktemp("options")
    frame = customers(60).with_columns(
        when=pl.int_range(60) % 7 * 86_400, who=pl.int_range(60) // 3, rank=pl.int_range(60) % 4
    )
    frame = frame.with_columns(pl.col("town").replace("Vigo", "-nothing"))
    frame = frame.with_columns(pl.Series("number", np.random.default_rng(0).permutation(60)))
    frame = frame.with_columns(age=pl.when(pl.int_range(60) > 1).then(pl.col("age")))
    frame.write_csv(folder / "t.csv")
    pl.concat([frame, frame.head(4)]).write_csv(folder / "twins.csv")
    frame.drop("bought").write_csv(folder / "n.csv")
    frame.drop("number").write_parquet(folder / "t.parquet")
    (folder / "semi.csv").write_text("a|b;y\n" + "1|2;no\n3|1;yes\n" * 20)
    np.savez(folder / "m.npz", X=np.random.default_rng(0).normal(size=(40, 3)), y=np.arange(40) % 2)
    assert cotas("fit", folder / "t.csv", *T, "-o", folder / "m.cotas").code == 0
    assert cotas("fit", folder / "semi.csv", "-o", folder / "semi.cotas").code == 0
    return folder


T = ("-t", "bought", "--drop", "number")
TEXT = {
    "separator": ("semi", ("--separator", "|")),
    "header": ("semi", ("--no-header",)),
    "encoding": ("semi", ("--encoding", "utf-16")),
    "missing": ("t", ("--missing", "3")),
    "not_missing": ("t", ("--not-missing", "")),
    "max_columns": ("t", ("--max-columns", "1")),
    "max_memory": ("t", ("--max-memory", "1e-9")),
}
COLUMNS = {
    "drop": (("t.csv", "-t", "bought"), ("--drop", "age")),
    "keep": (("t.csv", "-t", "bought"), ("--keep", "number")),
    "category": (("t.csv", *T), ("--category", "rank")),
    "unix_seconds": (("t.csv", *T), ("--unix-seconds", "when")),
    "rows_without_target": (("n.csv", "-t", "age"), ("--rows-without-target", "error")),
    "strict_columns": (("t.csv", "-t", "bought"), ("--strict-columns",)),
    "target": (("t.csv", *T), ("-t", "member")),
    "task": (("t.csv", "-t", "rank"), ("--task", "regression")),
    "group": (("t.csv", *T), ("--group", "who")),
    "equal_rows": (("twins.csv", *T), ("--equal-rows", "independent")),
    "hold_out": (("t.csv", *T), ("--hold-out", "0.4")),
    "seed": (("t.csv", *T), ("--seed", "3")),
    "param": (("t.csv", *T), ("-p", "loss=squared_hinge")),
    "model": (("t.csv", *T), ("-m", "logistic")),
}
# What is special to a command: the words before, and the option.
CALLS = {
    ("fit", "lam"): (("t.csv", *T), ("--lam", "0.5")),
    ("fit", "tol"): (("t.csv", *T), ("--tol", "0.3")),
    ("fit", "select"): (("t.csv", *T), ("--select", "lam")),
    ("fit", "out"): (("t.csv", *T), ("-o", "{new}.cotas")),
    ("fit", "report"): (("t.csv", *T), ("--report", "{new}.html")),
    ("fit", "confidence"): (("t.csv", *T), ("--confidence", "0.5")),
    ("fit", "probabilities"): (("t.csv", *T), ("--probabilities",)),
    ("fit", "max_time"): (("t.csv", *T), ("--max-time", "-1")),
    ("fit", "time"): (("t.csv", *T, "-m", "auto", "--trials", "1"), ("--time", "-1")),
    ("fit", "single"): (("builtin:diabetes", "-m", "auto", "--trials", "8"), ("--single",)),
    ("fit", "trials"): (("t.csv", *T, "-m", "auto", "--time", "0.001"), ("--trials", "0")),
    ("fit", "memory"): (("t.csv", *T), ("--memory", "1")),
    ("fit", "strict"): (("t.csv", *T, "-m", "perceptron"), ("--strict",)),
    ("predict", "out"): (("m.cotas", "t.csv"), ("-o", "{new}.csv")),
    ("predict", "only"): (("m.cotas", "t.csv"), ("--only",)),
    ("predict", "rows"): (("m.cotas", "t.csv"), ("--rows", "0")),
    ("predict", "probabilities"): (("m.cotas", "t.csv"), ("--probabilities",)),
    ("predict", "safe_csv"): (("m.cotas", "t.csv"), ("--no-safe-csv",)),
    ("predict", "trust_pickle"): None,  # it permits, and changes nothing where there is no pickle
    ("certify", "target"): (("m.cotas", "t.csv"), ("-t", "member")),
    ("certify", "tol"): (("m.cotas", "t.csv"), ("--tol", "1e-300")),
    ("certify", "max_time"): (("m.cotas", "t.csv"), ("--max-time", "9")),
    ("certify", "trust_pickle"): None,
    ("explain", "top"): (("m.cotas",), ("--top", "1")),
    ("compare", "models"): (("t.csv", *T, "--models", "svm"), ("--models", "perceptron")),
    ("compare", "max_time"): (("t.csv", *T, "--models", "svm"), ("--max-time", "-1")),
    ("compare", "picture"): (("t.csv", *T, "--models", "svm"), ("--picture", "{new}.png")),
    ("path", "lams"): (("t.csv", *T), ("--lams", "0.5")),
    ("path", "number"): (("t.csv", *T), ("--number", "2")),
    ("path", "tol"): (("t.csv", *T, "--number", "2"), ("--tol", "0.3")),
    ("path", "picture"): (("t.csv", *T, "--number", "2"), ("--picture", "{new}.png")),
    ("curve", "lams"): (("t.csv", *T), ("--lams", "0.5,1,2")),
    ("curve", "folds"): (("t.csv", *T), ("--folds", "2")),
    ("curve", "picture"): (("t.csv", *T), ("--picture", "{new}.png")),
    ("separable", "widest"): (("builtin:iris", "--class", "setosa"), ("--widest",)),
    ("separable", "of"): (("t.csv", "-t", "town", "--drop", "number"), ("--class", "Lugo")),
    ("separable", "task"): None,
    ("export", "onnx"): (("m.cotas",), ("--onnx", "{new}.onnx")),
    ("export", "single"): (("m.cotas", "--onnx", "{new}"), ("--single",)),
}


SEEN = {}


def call_of(command, name):
    """The words of a call without the option, and the option."""
    if (command, name) in CALLS:
        return CALLS[command, name]
    few = {
        "compare": ("--models", "svm"),
        "path": ("--number", "2"),
        "curve": ("--lams", "0.1,1,10"),
    }.get(command, ())
    if name in COLUMNS:
        before, option = COLUMNS[name]
        return (*before, *few), option
    what, option = TEXT[name]
    if command in ("predict", "certify"):
        return ("m.cotas" if what == "t" else f"{what}.cotas", f"{what}.csv"), option
    return (f"{what}.csv", *(T if what == "t" else ()), *few), option


def outcome(place, command, words):
    """All that a call says and writes, without the times and what was typed."""
    there = [place / w if (place / w).is_file() else w.format(new=place / "new") for w in words]
    said = cotas(command, *there, *([] if command == "predict" else ["--json"]))
    text = re.sub(r'"(command|seconds|finished)": ("[^"]*"|[\d.e-]+)', "", said.out)
    made = sorted((file.name, file.stat().st_size) for file in place.glob("new*"))
    for file in place.glob("new*"):
        file.unlink()
    return said.code, text, said.err, made


@pytest.mark.parametrize(("command", "name"), OPTIONS)
def test_an_option_is_obeyed_or_refused(place, command, name):
    call = call_of(command, name)
    if call is None:
        return
    before, option = call
    if (command, before) not in SEEN:
        SEEN[command, before] = outcome(place, command, before)
    assert SEEN[command, before] != outcome(place, command, (*before, *option))


# Calls in which an option could change nothing.
IDLE = [
    ("fit", "t.csv", *T, "--time", "9"),
    ("fit", "t.csv", *T, "--single"),
    ("fit", "t.csv", *T, "--trials", "9"),
    ("fit", "t.csv", *T, "--lam", "1", "--select", "lam"),
    ("fit", "t.csv", *T, "--lam", "1", "-p", "lam=2"),
    ("fit", "t.csv", *T, "-p", "C=1", "--select", "C"),
    ("fit", "t.parquet", *T[:2], "--separator", ";"),
    ("fit", "t.parquet", *T[:2], "--no-header"),
    ("fit", "t.parquet", *T[:2], "--encoding", "latin-1"),
    ("fit", "builtin:iris", "--encoding", "latin-1"),
    ("fit", "builtin:iris", "--missing", "x"),
    ("fit", "m.npz", "--keep", "x0"),
    ("fit", "m.npz", "--category", "x0"),
    ("fit", "m.npz", "--unix-seconds", "x0"),
    ("fit", "m.npz", "--missing", "x"),
    ("fit", "m.npz", "--group", "x0"),
    ("fit", "-", *T, "--memory", "9GB"),
    ("fit", "t.csv", *T, "--not-missing", "x", "--missing", "x"),
    ("path", "t.csv", *T, "--lams", "1", "--number", "2"),
    ("curve", "t.csv", *T, "-p", "lam=1"),
    ("predict", "m.cotas", "t.csv", "-o", "new.parquet", "--no-safe-csv"),
    ("predict", "m.cotas", "t.parquet", "--separator", ";"),
    ("explain", "m.cotas", "--json", "--top", "3"),
    ("reproduce", "pegasos", "--all"),
    ("reproduce", "--list", "--all"),
    ("reproduce", "--list", "--format", "svg"),
]


@pytest.mark.parametrize("words", IDLE, ids=" ".join)
@pytest.mark.parametrize("lang", ["en", "es"])
def test_what_could_change_nothing_is_wrong_use(place, words, lang):
    there = [place / word if (place / word).is_file() else word for word in words]
    said = cotas(*there, "--lang", lang)
    assert said.code == 2, said
    named = [word.replace("--no-", "--") for word in words if word.startswith("--")]
    assert any(word in said.err for word in [*named, "lam"]), said.err


def test_the_path_of_numbers_says_what_the_rows_held_out_say(place):
    words = ("path", place / "n.csv", "-t", "income", "--number", "3", "--json")
    errors = cotas(*words).document["validation_errors"]
    assert len(errors) == 3
    assert cotas(*words, "--hold-out", "0").document["validation_errors"] is None


@pytest.mark.parametrize("ending", ["csv", "parquet", "json", "db"])
def test_a_number_may_mean_missing(tmp_path, ending):
    """-999 in a column of numbers, in whatever it is stored."""
    path = tmp_path / f"t.{ending}"
    frame = pl.DataFrame({"a": [1, -999, 3], "b": [1.5, 2.5, -999.0], "c": ["x", "-999", "y"]})
    if ending == "db":
        with sqlite3.connect(path) as base:
            base.execute("create table t (a, b, c)")
            base.executemany("insert into t values (?, ?, ?)", frame.rows())
    else:
        {"csv": frame.write_csv, "parquet": frame.write_parquet, "json": frame.write_json}[ending](
            path
        )
    table = read_table(path, missing=["-999"] if ending != "csv" else ["-999", "-999.0"])
    assert [table.features[name].null_count() for name in "abc"] == [1, 1, 1]


@pytest.mark.parametrize("word", MISSING[1::3])
def test_a_class_may_be_called_as_missing_values_are(tmp_path, word):
    """In training, predicting and proving again, and in a feature too."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    path, model = tmp_path / "t.csv", tmp_path / "m.cotas"
    frame = pl.DataFrame(
        {"x": x, "z": rng.choice([word, "u"], 60), "y": np.where(x > 0, word, "no")}
    )
    frame.write_csv(path)
    said = cotas("fit", path, "-o", model, "--json", "--not-missing", word)
    assert [one["label"] for one in said.document["quality"]["classes"]] == sorted(["no", word])
    assert said.document["table"]["columns"][1]["missing"] == 0
    predicted = cotas("predict", model, path, "--json").document
    assert {row["prediction"] for row in predicted["predictions"]} == {"no", word}
    assert predicted["test_error"] < 0.2
    assert cotas("certify", model, path).code == 0
    lost = cotas("fit", path)
    assert "--not-missing" in lost.err or lost.code == 3


@pytest.mark.parametrize(
    "words",
    [
        ["$5", "$10"],
        ["1,000", "2,000"],
        ["50%", "75 %"],
        ["(1)", "2", "none of them"],
    ],
)
def test_classes_are_spelled_as_they_were(tmp_path, words):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=90)})
    place = pl.col("x").rank("ordinal") * len(words) // 91
    path, model, page = tmp_path / "t.csv", tmp_path / "m.cotas", tmp_path / "t.html"
    frame.with_columns(y=place.cast(int).replace_strict(list(range(len(words))), words)).write_csv(
        path
    )
    said = cotas("fit", path, "-o", model, "--json", "--report", page)
    assert [one["label"] for one in said.document["quality"]["classes"]] == sorted(words)
    assert all(html.escape(word) in page.read_text() for word in words)
    predicted = cotas("predict", model, path, "--json").document
    assert {row["prediction"] for row in predicted["predictions"]} <= set(words)
    assert predicted["test_error"] < 0.4
    assert cotas("certify", model, path).code == 0


def test_one_number_written_in_two_ways_is_one_class(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "1,$5\n2,$5.00\n3,$7\n4,$5\n" * 12)
    said = cotas("fit", path, "--json").document
    assert [one["label"] for one in said["quality"]["classes"]] == ["$5", "$7"]


def test_words_are_kept_in_tables_that_are_read_from_pages(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    path, model = tmp_path / "t.csv", tmp_path / "m.cotas"
    classes = np.where(x > 0, "None", "no")
    pl.DataFrame({"x": x, "z": rng.choice(["NA", "u"], 400), "y": classes}).write_csv(path)
    monkeypatch.setattr(cli_data, "COPIES", 10**6)
    kept = ("--not-missing", "None", "--not-missing", "NA")
    said = cotas("fit", path, "--memory", "2GB", "-o", model, "--json", *kept).document
    assert "pages" in said
    assert [one["label"] for one in said["quality"]["classes"]] == ["None", "no"]
    assert cotas("certify", model, path).code == 0
    assert cotas("predict", model, path, "--json").document["test_error"] < 0.1
