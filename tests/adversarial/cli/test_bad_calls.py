"""Bad files and bad calls: each ends with its code and a message that says what to do."""

import gzip
import zipfile

import numpy as np
import polars as pl
import pytest

from cotas.words import lang
from terminal import cotas, customers

WIDE = "x,y\n" + "\n".join(f"{k % 7},{k % 2}" for k in range(40)) + "\n"


def text(content):
    return lambda path: path.write_text(content)


def binary(content):
    return lambda path: path.write_bytes(content)


def frame(**changes):
    return lambda path: customers(60).with_columns(**changes).write_csv(path)


def pickled(path):
    np.savez(path.with_suffix(".npz"), X=np.array([[object()]], dtype=object), y=np.ones(1))
    path.with_suffix(".npz").rename(path)


def without_X(path):
    np.savez(path.with_suffix(".npz"), Z=np.ones((2, 2)))
    path.with_suffix(".npz").rename(path)


def two_in_one(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("one.csv", WIDE)
        archive.writestr("two.csv", WIDE)


SHOP = ("--target", "bought")

# name: (what writes the file, options of fit, exit code, a part of the message)
FILES = {
    "absent": (lambda path: None, SHOP, 3, "no such file"),
    "folder": (lambda path: path.mkdir(), SHOP, 3, "folder"),
    "empty": (text(""), SHOP, 3, "empty"),
    "blank lines": (text("\n\n\n"), SHOP, 3, "empty"),
    "header only": (text("x,y\n"), ("-t", "y"), 3, "no rows"),
    "one row": (text("x,y\n1,2\n"), ("-t", "y", "--task", "classification"), 3, "one value only"),
    "too many fields": (text("x,y\n1,2\n1,2,3\n"), ("-t", "y"), 3, "line 3: it has 3 fields"),
    "too few fields": (text("x,z,y\n1,5,2\n1,2\n"), ("-t", "y"), 3, "line 3: it has 2 fields"),
    "binary rubbish": (binary(b"\x00\x01\x02" * 100), SHOP, 3, "neither text nor a format"),
    "pickle": (binary(b"\x80\x05abc"), SHOP, 3, "pickle"),
    "hdf5": (binary(b"\x89HDF\r\n\x1a\n"), SHOP, 3, "HDF5"),
    "cut gzip": (binary(gzip.compress(WIDE.encode() * 50)[:-20]), ("-t", "y"), 3, "damaged"),
    "broken gzip": (binary(b"\x1f\x8b\x08\x00garbage!!"), SHOP, 3, "damaged"),
    "broken zstd": (binary(b"\x28\xb5\x2f\xfd\xff\xff\xff"), SHOP, 3, "damaged"),
    "broken parquet": (binary(b"PAR1 nonsense PAR1"), SHOP, 3, "damaged"),
    "broken arrow": (binary(b"ARROW1\0\0nonsense"), SHOP, 3, "damaged"),
    "broken zip": (binary(b"PK\x03\x04nonsense"), SHOP, 3, "damaged"),
    "npz of objects": (pickled, SHOP, 3, "pickled objects"),
    "zip without arrays": (without_X, SHOP, 3, "needs an array X"),
    "zip of two": (two_in_one, SHOP, 3, "it holds 2 files, not one"),
    "libsvm index": (text("1 0:1\n-1 a:2\n"), ("--lam", "1"), 3, "line 2: the index of 'a:2'"),
    "libsvm order": (text("1 2:1 1:3\n"), (), 3, "line 1: the index of '1:3' is not larger"),
    "libsvm value": (text("1 1:1\n-1 1:nan\n"), (), 3, "line 2: the value of '1:nan'"),
    "libsvm ranking": (text("1 qid:1 1:1\n"), (), 3, "ranking"),
    "libsvm target": (text("1 1:1\n-1 1:2\n"), ("-t", "price"), 3, "leave the target out"),
    "one column": (text("x\n1\n2\n"), (), 3, "one column only"),
    "no labels": (lambda path: text("1\n2\n")(path), ("--no-header",), 3, "one column only"),
    "unknown target": (text(WIDE), ("-t", "z"), 3, "no column 'z'; there are x, y"),
    "target number": (text(WIDE), ("-t", "9"), 2, "no column number 9"),
    "constant target": (text("x,y\n1,2\n3,2\n"), ("-t", "y"), 3, "one value only"),
    "missing target": (
        text("x,y\n1,a\n2,\n3,b\n"),
        ("-t", "y", "--rows-without-target", "error"),
        3,
        "missing in 1 of 3 rows, first in row 2",
    ),
    "no target at all": (text("x,y\n1,\n2,\n3,\n"), ("-t", "y"), 3, "missing in all 3 rows"),
    "names for classes": (
        frame(name=pl.Series([f"person {k}" for k in range(60)])),
        ("-t", "name"),
        3,
        "60 different words in 60 rows",
    ),
    "words for numbers": (
        frame(),
        (*SHOP, "--task", "regression"),
        3,
        "holds words; regression needs numbers",
    ),
    "words for a model of numbers": (
        frame(),
        (*SHOP, "--model", "lasso"),
        3,
        "holds words. Take a model for classes (--model svm, logistic or auto)",
    ),
    "free text": (
        frame(remark=pl.Series([f"words about {k}" for k in range(60)])),
        (*SHOP, "--strict-columns"),
        3,
        "'remark' is left out: 48 different texts",
    ),
    "infinite": (frame(age=pl.lit("inf").cast(pl.Float64)), SHOP, 3, "infinite number in row 1"),
    "nothing to learn": (text("x,y\n1,a\n1,b\n"), ("-t", "y"), 3, "No column is left"),
    "nothing left": (text(WIDE), ("-t", "y", "--drop", "z"), 3, "no column 'z'; there are"),
}


@pytest.mark.parametrize("name", FILES)
def test_bad_files(tmp_path, name):
    make, options, code, says = FILES[name]
    path = tmp_path / "data"
    make(path)
    for words in ((), ("--json",)):
        said = cotas("fit", path, *options, *words)
        assert said.code == code, said
        assert says in said.err, said
        assert "Traceback" not in said.err
        assert said.err.startswith("cotas fit: ") or "\ncotas fit: " in said.err
    assert said.document["exit_code"] == code


BREAST = "builtin:breast-cancer"
CALLS = {
    "no data": (("fit",), 2, "Missing argument"),
    "unknown option": (("fit", BREAST, "--speed"), 2, "No such option"),
    "unknown command": (("fitt", BREAST), 2, "No such command"),
    "unknown set": (("fit", "builtin:moon"), 2, "there is no data set"),
    "unknown model": (("fit", BREAST, "--model", "svmm"), 2, "Did you mean svm?"),
    "model of the other task": (
        ("fit", BREAST, "-m", "ridge", "--task", "classification"),
        2,
        "ridge is not for classification",
    ),
    "unknown task": (("fit", BREAST, "--task", "sorting"), 2, "--task is"),
    "unknown language": (("fit", BREAST, "--lang", "fr"), 2, "--lang is en or es"),
    "parameter": (("fit", BREAST, "-p", "colour=red"), 2, "no parameter 'colour'; it has"),
    "parameter without value": (("fit", BREAST, "-p", "tol"), 2, "name=value"),
    "parameter of the session": (("fit", BREAST, "-p", "callbacks=1"), 2, "cannot be set"),
    "lam for a perceptron": (
        ("fit", BREAST, "-m", "perceptron", "--lam", "1"),
        2,
        "perceptron has no parameter 'lam'",
    ),
    "negative lam": (("fit", BREAST, "--lam", "-1"), 2, "lam must be a finite number above zero"),
    "tol of zero": (("fit", BREAST, "--tol", "0"), 2, "tol must be a finite number above zero"),
    "lam in words": (("fit", BREAST, "--lam", "small"), 2, "Invalid value for '--lam'"),
    "hold out all": (("fit", BREAST, "--hold-out", "1"), 2, "--hold-out is a share"),
    "confidence": (("fit", BREAST, "--confidence", "1.5"), 2, "--confidence lies between"),
    "select what is not there": (
        ("fit", BREAST, "--select", "depth"),
        2,
        "svm has no parameter 'depth' to select; it has C,",
    ),
    "auto with parameters": (("fit", BREAST, "-m", "auto", "--lam", "1"), 2, "takes no --lam"),
    "auto without trials": (("fit", BREAST, "-m", "auto", "--trials", "0"), 2, "--trials is"),
    "auto without time": (("fit", BREAST, "-m", "auto", "--time", "nan"), 2, "--time is"),
    "auto with parameters, before the table": (
        ("fit", "none.csv", "-m", "auto", "--lam", "1"),
        2,
        "takes no --lam",
    ),
    "a blend with parameters, before the table": (
        ("fit", "none.csv", "-m", "1.0*svm(lam=1)", "--lam", "1"),
        2,
        "a blend takes no --lam",
    ),
    "hold out all, before the table": (
        ("compare", "none.csv", "--hold-out", "1"),
        2,
        "--hold-out is a share",
    ),
    "group of another table": (
        ("fit", BREAST, "--group", "mean radiu"),
        2,
        "there is no column 'mean radiu'; there are mean radius,",
    ),
    "width in words": (
        ("fit", BREAST, "-m", "kernel-svm", "-p", "gamma=wide"),
        2,
        "gamma must be a number, not 'wide'",
    ),
    "out is a folder": (("fit", BREAST, "--out", "/"), 2, "is a folder"),
    "out in no folder": (("fit", BREAST, "--out", "/no/such/m.cotas"), 2, "there is no folder"),
    "two kernels": (
        ("fit", BREAST, "-m", "kernel-svm", "-p", "kernel=cosine", "-p", "gamma=1"),
        2,
        "do not belong to the kernel",
    ),
    "predict without a model": (("predict", "none.cotas", BREAST), 4, "there is no such file"),
    "explain without a model": (("explain", "none.cotas"), 4, "there is no such file"),
    "certify without a model": (("certify", "none.cotas", BREAST), 4, "there is no such file"),
}


@pytest.mark.parametrize("name", CALLS)
def test_bad_calls(name):
    words, code, says = CALLS[name]
    said = cotas(*words)
    assert said.code == code, said
    assert says in " ".join(said.err.replace("│", " ").split()), said
    assert "Traceback" not in said.err


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "shop.cotas"
    customers().write_csv(path.with_suffix(".csv"))
    assert cotas("fit", path.with_suffix(".csv"), *SHOP, "-o", path).code == 0
    return path


TABLES = {
    "no age": (lambda t: t.drop("age"), "needs the columns 'age'"),
    "words in age": (lambda t: t.with_columns(age=pl.lit("old")), "'age' holds 'old'"),
    "infinite age": (lambda t: t.with_columns(age=pl.lit("inf")), "infinite number"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_that_do_not_fit_the_model(model, tmp_path, name):
    change, says = TABLES[name]
    change(customers(20)).write_csv(tmp_path / "t.csv")
    out = tmp_path / "out.csv"
    out.write_text("what was there before")
    said = cotas("predict", model, tmp_path / "t.csv", "--out", out)
    assert said.code == 3
    assert says in said.err
    assert out.read_text() == "what was there before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "t.csv"]


def damaged(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (lambda path: b"", ""),
        (lambda path: path.read_bytes()[:200], ""),
        (damaged, ""),
        (lambda path: b"PK\x03\x04 no skops", "no sound skops file"),
        (lambda path: b"\x80\x04N.", "--trust-pickle"),
    ],
    ids=["empty", "cut", "one byte", "zip", "pickle"],
)
@pytest.mark.parametrize("command", ["predict", "certify", "explain"])
def test_bad_model_files(model, tmp_path, content, says, command):
    bad = tmp_path / "bad.cotas"
    bad.write_bytes(content(model))
    data = () if command == "explain" else (model.with_suffix(".csv"),)
    said = cotas(command, bad, *data)
    assert said.code == 4, said
    assert says in said.err
    assert "Traceback" not in said.err


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A table, and a model that was trained on it."""
    there = tmp_path_factory.mktemp("shop")
    customers().write_csv(there / "shop.csv")
    said = cotas("fit", there / "shop.csv", *SHOP, "--out", there / "shop.cotas")
    assert said.code == 0, said.err
    return there


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "shop.csv", "--target", "bought", "--out", "shop.csv"),
        ("fit", "shop.csv", "--target", "bought", "--report", "shop.csv"),
        ("predict", "shop.cotas", "shop.csv", "--out", "shop.csv"),
        ("predict", "shop.cotas", "shop.csv", "--out", "shop.cotas"),
        ("export", "shop.cotas", "--onnx", "shop.cotas"),
    ],
)
def test_nothing_is_written_over_what_is_read(shop, words, monkeypatch):
    monkeypatch.chdir(shop)
    before = [(shop / name).read_bytes() for name in ("shop.csv", "shop.cotas")]
    said = cotas(*words)
    assert said.code == 2
    assert "would write over" in said.err
    assert [(shop / name).read_bytes() for name in ("shop.csv", "shop.cotas")] == before


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("fit", "--nope"), "--nope"),
        (("fit",), "DATA"),
        (("fit", "shop.csv", "--lam", "much"), "--lam"),
        (("fit", "shop.csv", "--seed", "-1"), "--seed"),
        (("nothing",), "nothing"),
    ],
)
def test_a_call_that_is_not_understood_is_answered_in_json_too(words, part):
    said = cotas(*words, "--json")
    assert said.code == 2
    assert said.document["exit_code"] == 2
    assert part in said.document["error"]


@pytest.mark.parametrize("value", ["lam=much", "lam=-1", "tol=0"])
def test_a_parameter_that_makes_no_sense_is_wrong_use(shop, value):
    said = cotas("fit", shop / "shop.csv", *SHOP, "--param", value)
    assert said.code == 2
    assert f"{value.partition('=')[0]} must be" in said.err


def test_a_table_is_no_model_and_the_message_names_it(shop):
    said = cotas("explain", shop / "shop.csv")
    assert said.code == 4
    assert "shop.csv is no model file" in said.err


def test_the_separator_is_one_character_and_a_tab_may_be_typed(tmp_path):
    path = tmp_path / "table.tsv"
    customers(40).write_csv(path, separator="\t")
    assert cotas("fit", path, *SHOP, "--separator", "\\t").code == 0
    said = cotas("fit", path, *SHOP, "--separator", ";;")
    assert said.code == 3
    assert "one character" in said.err


def test_quantities_are_no_classes(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n" + "".join(f"{k % 7},{k / 3}\n" for k in range(40)))
    for words in (("fit", path, "-t", "y", "--model", "svm"), ("separable", path, "-t", "y")):
        said = cotas(*words)
        assert said.code == 3
        assert "no classes" in said.err


def test_each_class_has_its_own_line_with_its_name():
    said = cotas("fit", "builtin:iris", "--lam", "0.1")
    proved = [line for line in said.out.splitlines() if line.startswith("proved")]
    names = [line.removeprefix("proved").strip().partition(":")[0] for line in proved]
    assert names == [f"{name} against the rest" for name in ("setosa", "versicolor", "virginica")]


@pytest.mark.parametrize("out", [(), ("--out", "p.csv"), ("--out", "p.parquet"), ("--json",)])
def test_a_table_without_rows_is_not_predicted(shop, out, monkeypatch):
    monkeypatch.chdir(shop)
    (shop / "none.csv").write_text("age,income,town,member\n")
    said = cotas("predict", "shop.cotas", "none.csv", *out)
    assert said.code == 3
    assert "none.csv: it holds no rows" in said.err
    assert not list(shop.glob("p.*"))


@pytest.mark.parametrize("name", ["p.xlsx", "p.csv.zst", "p.tsv"])
def test_predictions_are_what_the_name_of_their_file_says(shop, name):
    said = cotas("predict", shop / "shop.cotas", shop / "shop.csv", "--out", shop / name)
    assert said.code == 2
    assert ".parquet" in said.err
    assert not (shop / name).exists()


def test_a_folder_that_cannot_be_written_to_is_told_before_the_training(shop, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    said = cotas("fit", shop / "shop.csv", *SHOP, "--out", shop / "new.cotas")
    assert said.code == 2
    assert "read-only" in said.err


def test_the_model_and_its_report_are_two_files(shop):
    both = ("--out", shop / "same", "--report", shop / "same")
    said = cotas("fit", shop / "shop.csv", *SHOP, *both)
    assert said.code == 2
    assert not (shop / "same").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("fit",), "Falta el argumento 'DATOS'."),
        (("explain",), "Falta el argumento 'MODELO'."),
        (
            ("fit", BREAST, "-m", "kernel-svm", "-p", "kernel=round"),
            "kernel debe ser un núcleo de cotas.kernels, como RBF(0.5) o Custom(función), o uno de",
        ),
        (("fit", BREAST, "-m", "kernel-svm", "-p", "gamma=a"), "gamma debe ser un número, no 'a'"),
        (("fit", BREAST, "-m", "adaboost", "-p", "weak_learner=a"), "ni un estimador."),
    ],
)
def test_wrong_arguments_in_spanish(words, says):
    assert says in " ".join(cotas(*words, "--lang", "es").err.split())


def test_a_sentence_is_said_in_one_language():
    from cotas.cli.app import in_words

    unknown = "size must be a thing of its own, not 3."
    with lang("es"):
        assert in_words(unknown) == unknown
        assert in_words("size must be a number, not 3.") == "size debe ser un número, no 3."
