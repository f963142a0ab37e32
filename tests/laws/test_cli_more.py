"""The commands around fitting: comparing, paths, curves, separability, export, the library."""

import contextlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import onnxruntime
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import cotas as library
from cotas.cli.models import NAMES, task_of
from cotas.preparation.prepared_model import PreparedModel
from terminal import cotas, customers

BREAST = "builtin:breast-cancer"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def shop(tmp_path):
    customers().write_csv(tmp_path / "shop.csv")
    return tmp_path / "shop.csv"


def test_compare_judges_all_by_the_same_rows(shop, tmp_path):
    call = ("compare", shop, "-t", "bought", "--models", "svm,perceptron,svm")
    said = cotas(*call, "--picture", tmp_path / "c.png", "--json")
    assert said.code == 0, said.err
    document = said.document
    models = document["models"]
    assert {model["name"] for model in models} == {"svm", "perceptron"}
    assert [model["error"] for model in models] == sorted(model["error"] for model in models)
    for model in models:
        alone = cotas("fit", shop, "-t", "bought", "-m", model["name"], "--json").document
        assert alone["hold_out"]["error"] == model["error"]
        assert alone["quality"]["baseline"]["value"] == document["baseline"]["error"]
        assert alone["quality"]["answer"] == document["baseline"]["answer"]
        wrong = round(model["error"] * document["held_out"])
        expected = library.hold_out_bound(wrong, document["held_out"], tried=2)
        assert model["bound"] == expected.upper > alone["bound"]["upper"]
    assert (tmp_path / "c.png").stat().st_size > 1000
    said, alone = cotas(*call), cotas("fit", shop, "-t", "bought", "-m", "svm")
    table = said.out.splitlines()
    assert table[0].split()[:2] == ["model", "seconds"]
    assert "the baseline" in table[3]
    assert len(table) == 4
    assert [line for line in said.err.splitlines() if "left out" in line] == [
        line for line in alone.err.splitlines() if "left out" in line
    ]


def test_path_of_machines_and_of_the_lasso(tmp_path):
    said = cotas("path", BREAST, "--lams", "1,0.1", "--json", "--picture", tmp_path / "p.png")
    assert said.code == 0, said.err
    assert said.document["lams"] == [1.0, 0.1]
    assert max(said.document["relative_gaps"]) <= 1e-6
    assert said.document["no_lam_beats"] <= min(said.document["validation_errors"])
    said = cotas("path", "builtin:diabetes", "--number", "4", "--hold-out", "0", "--json")
    X, y = load_diabetes(return_X_y=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = library.lasso_path(Z, y, n_lams=4)
    assert said.document["lams"] == pytest.approx(expected.lams)
    np.testing.assert_allclose(said.document["coefficients"], expected.coefs, atol=1e-3)
    assert cotas("path", "builtin:diabetes", "--picture", tmp_path / "l.png").code == 0
    assert (tmp_path / "l.png").stat().st_size > 1000


def test_curve_is_the_choice_of_the_library(tmp_path):
    call = ("curve", BREAST, "--lams", "1,0.1", "--picture", tmp_path / "c.png", "--json")
    said = cotas(*call)
    assert said.code == 0, said.err
    assert said.document["over"] == "lam"
    assert sorted(said.document["values"]) == [0.1, 1.0]
    n = said.document["n_training"]
    assert said.document["c"] == pytest.approx([1 / (v * n) for v in said.document["values"]])
    assert (tmp_path / "c.png").stat().st_size > 1000


@pytest.mark.parametrize(("points", "answer"), [([0, 1, 3, 4], True), ([0, 3, 1, 4], False)])
def test_separable(tmp_path, points, answer):
    frame = pl.DataFrame({"x": points, "side": ["a", "a", "b", "b"]})
    frame.write_csv(tmp_path / "t.csv")
    said = cotas("separable", tmp_path / "t.csv", "-t", "side", "--json")
    assert said.code == 0, said.err
    assert said.document["separable"] is answer
    assert said.document["certificate"]["holds"]


@pytest.mark.parametrize("model", ["svm", "logitboost"])
def test_export_predicts_the_same(tmp_path, model):
    saved = tmp_path / "m.cotas"
    assert cotas("fit", BREAST, "-m", model, "-o", saved, "-q").code == 0
    said = cotas("export", saved, "--onnx", tmp_path / "m.onnx", "--json")
    assert said.code == 0, said.err
    X, _ = load_breast_cancer(return_X_y=True)
    loaded = PreparedModel.load(saved)
    frame = pl.DataFrame(X, schema=loaded.preparation_.feature_names_in_.tolist())
    assert said.document["prepared"] is (model == "logitboost")
    rows = loaded.preparation_.transform(frame) if said.document["prepared"] else X
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    labels = session.run(["label"], {"X": rows})[0]
    assert np.mean(labels.ravel() == loaded.predict(frame)) > 0.995


def test_export_says_which_columns_must_be_prepared(shop, tmp_path):
    saved = tmp_path / "m.cotas"
    assert cotas("fit", shop, "-t", "bought", "-o", saved, "-q").code == 0
    said = cotas("export", saved, "--onnx", tmp_path / "m.onnx")
    assert said.code == 0, said.err
    assert "prepared columns: age" in said.out
    assert "town=Lugo" in said.out


def test_reproduce_a_figure(tmp_path):
    said = cotas("reproduce", "3.3", "--out", tmp_path, "--json")
    assert said.code == 0, said.err
    assert Path(said.document["saved"][0]).is_file()
    listed = cotas("reproduce", "--list", "--json").document["figures"]
    assert "000-3.3" in listed
    assert cotas("reproduce", "--list").out.count("\n") >= len(listed)
    assert cotas("reproduce", "Figura 3.3", "--out", tmp_path, "--format", "svg").code == 0
    assert (tmp_path / "000-3.3.svg").is_file()


def test_info_names_everything():
    said = cotas("info", "--json").document
    assert said["versions"]["cotas"] == library.__version__
    assert said["extras"]["cli"]
    assert "svm" in said["classifiers"]
    assert "lasso" in cotas("info").out


def test_info_knows_every_package_that_the_project_may_use():
    from cotas.cli.info import EXTRAS

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    named = {
        extra: {re.split(r"[<>=\[ ]", line)[0] for line in lines} - {"cotas"}
        for extra, lines in extras.items()
        if extra not in ("test", "lint", "docs", "dev")
    }
    assert {extra: set(packages) for extra, packages in EXTRAS.items()} == named
    said = cotas("info", "--json").document
    needed = {re.split(r"[<>=]", line)[0] for line in project["dependencies"]}
    assert needed <= set(said["versions"])
    assert all(said["versions"][name] for name in needed)
    assert set(said["packages"]) >= set().union(*named.values())


def test_info_says_the_same_in_both_languages():
    """Only the labels differ, and all of them do but names."""
    lines = {lang: cotas("info", "--lang", lang).out.splitlines() for lang in ("en", "es")}
    facts = {lang: [re.split(r"  +", line, maxsplit=1) for line in lines[lang]] for lang in lines}
    assert len(facts["en"]) == len(facts["es"]) > 10
    for (label, words), (etiqueta, palabras) in zip(facts["en"], facts["es"], strict=True):
        assert label == "GPU" or label != etiqueta
        assert (
            label in ("language", "GPU", "environment", "encodings", "not installed")
            or words == palabras
        )


def test_info_shows_no_keys_of_other_programs(monkeypatch):
    """A name that only begins like a setting is none, however it goes on."""
    from cotas.cli.info import SETTINGS

    begins = {name[:length] for name in SETTINGS for length in range(3, len(name) + 1)}
    for begin in begins:
        monkeypatch.setenv(f"{begin}SMITH_API_KEY", "a secret")
    for name in (*SETTINGS, "NUMBA_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    said = cotas("info", "--json")
    assert "a secret" not in said.out
    assert said.document["environment"].keys() >= {*SETTINGS, "NUMBA_NUM_THREADS"}
    assert "a secret" not in cotas("info").out


def test_info_tells_that_no_folder_can_be_written(monkeypatch):
    monkeypatch.setattr("cotas.cli.info.kept_in", lambda: None)
    assert cotas("info", "--json").document["compiled loops"] is None
    assert "every process compiles" in cotas("info").out


def test_bench_runs_the_source_tree_or_says_that_it_is_not_there(monkeypatch, tmp_path):
    calls = []

    def record(call, **options):
        calls.append((call[1:], options["cwd"]))
        return subprocess.CompletedProcess(call, 0, stdout="figures")

    monkeypatch.setattr("cotas.cli.info.subprocess.run", record)
    said = cotas("bench", "startup", "--json")
    assert said.code == 0, said.err
    assert calls[0][0] == ["-m", "bench", "startup"]
    assert said.document["output"] == "figures"
    monkeypatch.setattr("cotas.cli.info.cotas.__file__", str(tmp_path / "a" / "b" / "c.py"))
    assert cotas("bench").code == 2


def test_warmup_compiles_every_model(monkeypatch):
    """In other processes; here one after another."""
    from cotas.cli import info

    class Pool(contextlib.nullcontext):
        map = staticmethod(map)

    seen = []
    monkeypatch.setattr(info, "ProcessPoolExecutor", lambda *_: Pool(Pool))
    monkeypatch.setattr(
        info, "_fit_quietly", lambda name, X, y: seen.append((name, type(X), X.dtype, X.shape))
    )
    said = cotas("warmup", "--json")
    assert said.code == 0
    large = sum(name.endswith("Boost") for name in info.NAMES.values())
    assert len(seen) == 3 * len(said.document["seconds"]) + 3 * large == len(set(seen))
    assert set(said.document["seconds"]) == set(info.NAMES)


def test_the_report_is_one_file(shop, tmp_path):
    call = ("fit", shop, "-t", "bought", "--report", tmp_path / "r.html", "--lang", "es")
    said = cotas(*call, "-q")
    assert said.code == 0, said.err
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "bought" in page
    assert "shop.csv" in page


BAD = {
    "compare other task": (("compare", BREAST, "--models", "ridge"), 2, "not for"),
    "compare unknown": (("compare", BREAST, "--models", "forest"), 2, "there is no model"),
    "compare auto": (("compare", BREAST, "--models", "svm,auto"), 2, "is for cotas fit"),
    "auto and select": (("fit", BREAST, "-m", "auto", "--select", "lam"), 2, "--select"),
    "compare few": (("compare", "builtin:houses"), 2, "at least 30"),
    "path lams": (("path", BREAST, "--lams", "1,x"), 2, "--lams takes numbers"),
    "path negative": (("path", BREAST, "--lams", "-1"), 2, "--lams takes numbers"),
    "curve without lam": (("curve", BREAST, "-m", "perceptron"), 2, "has no λ"),
    "curve other task": (("curve", BREAST, "-m", "ridge"), 3, "regression needs numbers"),
    "separable three": (("separable", "builtin:iris"), 2, "--class takes one of setosa"),
    "separable nobody": (("separable", "builtin:iris", "--class", "rose"), 2, "no class 'rose'"),
    "figure": (("reproduce", "9.9"), 2, "no figure '9.9'"),
    "no figure": (("reproduce",), 2, "name a figure"),
    "two figures": (("reproduce", "algoritmo-5"), 2, "000-algoritmo-5 (pegasos)"),
    "format": (("reproduce", "3.3", "--format", "gif"), 2, "must be one of png, svg, pdf"),
    "export nothing": (("export", "none.cotas", "--onnx", "m.onnx"), 4, "there is no such file"),
    "picture nowhere": (("curve", BREAST, "--picture", "/no/such/c.png"), 2, "no folder"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_calls(name):
    words, code, says = BAD[name]
    said = cotas(*words)
    assert said.code == code, said
    assert says in said.err, said
    assert "Traceback" not in said.err


def test_notes_and_proofs_are_in_spanish_too(tmp_path):
    path = tmp_path / "tabla.csv"
    path.write_text("x,y\n" + "".join(f"{k},{'sí' if k > 9 else 'no'}\n" for k in range(20)))
    said = cotas("fit", path, "-t", "y", "--model", "adaboost", "--lang", "es")
    assert said.code == 0, said.err
    assert "Nota: Con 20 filas se entrena con todas" in said.err
    assert "El error de entrenamiento" in said.out
    assert "valores por defecto" in said.out
    assert "The " not in said.out + said.err
    vague = cotas("fit", path, "-t", "y", "--model", "pegasos", "--lang", "es", "-p", "max_iter=1")
    assert "el certificado «dualidad» se cumple, pero aquí no dice nada" in vague.out


@pytest.mark.parametrize("model", ["svm", "kernel-svm"])
def test_each_proof_stands_under_the_name_of_its_own_problem(tmp_path, model):
    """Four classes: six pairs for the kernel machine, which are not the four classes."""
    rng = np.random.default_rng(0)
    kinds = np.repeat(["ash", "birch", "cedar", "oak"], 20)
    centre = np.repeat([0.0, 3.0, 6.0, 9.0], 20)
    table = pl.DataFrame({"a": centre + rng.normal(size=80), "b": rng.normal(size=80), "k": kinds})
    table.write_csv(tmp_path / "trees.csv")
    where = tmp_path / "trees.cotas"
    call = ("fit", tmp_path / "trees.csv", "-t", "k", "--model", model, "--hold-out", "0")
    said = cotas(*call, "--out", where)
    assert said.code == 0, said.err
    whole = PreparedModel.load(where).certificate_
    assert len(whole.parts) == (4 if model == "svm" else 6)
    for part in whole.parts:
        assert f"{part.label}: " in said.out
    again = cotas("certify", where, tmp_path / "trees.csv", "--json").document
    assert again["proved"]
    assert [part["label"] for part in again["certificate"]["parts"]] == [
        part.label for part in whole.parts
    ]


def test_every_command_speaks_both_languages():
    from cotas.cli.app import COMMANDS

    for name in COMMANDS:
        assert "--lang" in cotas(name, "--help").out


def test_an_unknown_language_is_wrong_use_in_every_command():
    assert cotas("separable", BREAST, "--lang", "fr").code == 2
    assert cotas("separable", BREAST, "--lang", "es", "-q").out.startswith("separables: sí")


def test_the_language_is_told_before_the_command_after_it_or_by_the_environment(monkeypatch):
    call = ("separable", BREAST)
    spanish, english = cotas(*call, "--lang", "es"), cotas(*call)
    assert spanish != english
    assert cotas("--lang", "es", *call) == spanish
    monkeypatch.setenv("COTAS_LANG", "es")
    assert cotas(*call) == spanish
    # What is said on the spot counts more.
    assert cotas("--lang", "en", *call) == cotas(*call, "--lang", "en") == english
    assert cotas("--lang", "en", *call, "--lang", "es") == spanish
    monkeypatch.setenv("COTAS_LANG", "fr")
    said = cotas(*call)
    assert (said.code, "COTAS_LANG" in said.err) == (2, True)


@pytest.mark.parametrize(("value", "language"), [("es", "es"), ("en", "en"), ("fr", "en")])
def test_python_speaks_the_language_of_the_environment(value, language):
    code = "from cotas.words import current; print(current())"
    environment = {**os.environ, "COTAS_LANG": value}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == language


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_time_limit_is_the_same_as_an_option_and_as_a_parameter(name):
    data = BREAST if task_of(name) == "classification" else "builtin:diabetes"
    call = ("fit", data, "-m", name, "--hold-out", "0", "--json")
    option, parameter = (
        cotas(*call, *limit) for limit in (("--max-time", "1e-9"), ("-p", "max_time=1e-9"))
    )
    assert parameter.code == option.code
    assert parameter.document["warnings"] == option.document["warnings"]


def test_values_that_text_is_never_read_as_are_told_before_a_csv_is_predicted(tmp_path):
    words = ["north", "NA", " south", ""] * 20
    side = pl.Series(words, dtype=pl.Categorical)  # words are taken as they are then
    frame = pl.DataFrame({"side": side, "x": np.arange(80.0)})
    model = PreparedModel(library.LinearSVM(lam=0.01))
    model.fit(frame, [word in ("NA", "") for word in words]).save(tmp_path / "m.cotas")
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    said = cotas("predict", tmp_path / "m.cotas", tmp_path / "t.csv", "--only")
    assert said.code == 0, said.err
    assert "'side': the model knows '', ' south', 'NA' as values" in said.err
    said = cotas("predict", tmp_path / "m.cotas", tmp_path / "t.parquet", "--only", "--json")
    found = [row["prediction"] for row in said.document["predictions"]]
    assert "as values" not in said.err
    assert found == model.predict(frame).tolist()
