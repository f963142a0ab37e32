"""What the commands print agrees with the library, and with one another."""

import inspect
import json
import os
import re
import subprocess
import sys
from importlib import import_module

import joblib
import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_breast_cancer
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

import cotas as library
from cotas.cli import MEANINGS
from cotas.cli.app import COMMANDS
from cotas.cli.command import as_command
from cotas.preparation.prepared_model import PreparedModel
from cotas.words import again, say, spanish
from terminal import cotas, customers


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, and a model that was trained on it."""
    there = tmp_path_factory.mktemp("shop")
    customers().write_csv(there / "shop.csv")
    said = cotas(
        *("fit", there / "shop.csv", "--target", "bought", "--lam", "0.02"),
        *("--out", there / "shop.cotas", "--json"),
    )
    assert said.code == 0, said.err
    (there / "fit.json").write_text(said.out)
    return there


def test_fit_says_what_the_model_says(folder):
    said = json.loads((folder / "fit.json").read_text())
    model = PreparedModel.load(folder / "shop.cotas")
    assert said["certificate"]["gap"] == model.certificate_.gap
    assert said["certificate"]["holds"]
    assert said["table"]["target"] == "bought"
    assert said["training"]["rows"] == 128
    assert said["hold_out"]["rows"] == 32
    rows = np.setdiff1d(np.arange(160), model.recipe_.rows)
    table = customers()[rows]
    error = np.mean(model.predict(table) != table["bought"].to_numpy())
    assert said["hold_out"]["error"] == error
    bound = library.hold_out_bound(round(error * 32), 32)
    assert said["bound"]["upper"] == bound.upper == model.recipe_.hold_out.upper


def test_the_same_seed_gives_the_same_model_and_another_one_another_split(folder):
    call = ("fit", folder / "shop.csv", "-t", "bought", "--lam", "0.02", "--json")
    first = cotas(*call).document
    assert first["certificate"] == json.loads((folder / "fit.json").read_text())["certificate"]
    other = cotas(*call, "--seed", "1").document
    assert other["certificate"] != first["certificate"]


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.parquet", "p.arrow"])
@pytest.mark.parametrize("rows", [7, 1000])
def test_predictions_in_order_and_beside_the_columns(folder, name, rows):
    out = folder / name
    model = folder / "shop.cotas"
    said = cotas("predict", model, folder / "shop.csv", "--out", out, "--rows", rows, "--json")
    assert said.code == 0, said.err
    table = library.tables.read_table(out).features
    loaded = PreparedModel.load(model)
    assert table.columns == [*customers().columns, "prediction", "score", "certified"]
    assert table["prediction"].to_list() == loaded.predict(customers()).tolist()
    assert np.allclose(table["score"].to_numpy(), loaded.decision_function(customers()))
    certified = loaded.certified_predict(customers())[1]
    assert said.document["certified"] == certified.sum()
    assert table["age"].cast(pl.Float64).to_list() == customers()["age"].to_list()
    wrong = np.mean(loaded.predict(customers()) != customers()["bought"].to_numpy())
    assert said.document["test_error"] == wrong


def test_predictions_from_standard_input_to_standard_output(folder):
    table = customers()[:5].drop("bought").select("town", "age", "member", "income")
    said = cotas("predict", folder / "shop.cotas", "-", stdin=table.write_csv().encode())
    assert said.code == 0, said.err
    assert "another order" in said.err
    lines = said.out.splitlines()
    assert lines[0] == "town,age,member,income,prediction,score,certified"
    model = PreparedModel.load(folder / "shop.cotas")
    assert [line.split(",")[4] for line in lines[1:]] == model.predict(table).tolist()


def test_a_column_called_prediction_stays(folder):
    table = customers()[:5].with_columns(prediction=pl.lit("mine"))
    said = cotas("predict", folder / "shop.cotas", "-", stdin=table.write_csv().encode())
    header = said.out.splitlines()[0].split(",")
    assert header.count("prediction") == 1
    assert "model_prediction" in header
    assert ",mine," in said.out


def test_certify_proves_from_the_data_again(folder):
    said = cotas("certify", folder / "shop.cotas", folder / "shop.csv", "--json")
    assert said.code == 0, said.err
    assert said.document["proved"]
    stored = PreparedModel.load(folder / "shop.cotas").certificate_
    assert said.document["certificate"]["lower"] == pytest.approx(stored.lower, rel=1e-12)
    strict = cotas("certify", folder / "shop.cotas", folder / "shop.csv", "--tol", "1e-12")
    assert strict.code == 1
    assert "above 1e-10%" in strict.err


def test_certify_fails_on_other_data(folder, tmp_path):
    table = customers()
    swapped = table["bought"].to_list()
    first_yes, first_no = swapped.index("yes"), swapped.index("no")
    swapped[first_yes], swapped[first_no] = "no", "yes"
    changes = {
        "labels.csv": table.with_columns(bought=pl.Series(swapped)),
        "value.csv": table.with_columns(age=pl.col("age") + 0.1),
        "order.csv": table[::-1],
        "short.csv": table[:100],
    }
    for name, changed in changes.items():
        changed.write_csv(tmp_path / name)
        said = cotas("certify", folder / "shop.cotas", tmp_path / name, "--json")
        assert said.code == 1, name
        assert said.document.get("proved", False) is False


def test_certify_fails_on_a_changed_model(folder, tmp_path):
    model = PreparedModel.load(folder / "shop.cotas")
    model.estimator_.coef_ = model.estimator_.coef_ * 1.01
    model.save(tmp_path / "changed.cotas")
    said = cotas("certify", tmp_path / "changed.cotas", folder / "shop.csv")
    assert said.code == 1
    assert "NOT PROVED" in said.err


def test_explain_gives_coefficients_in_original_units(folder):
    said = cotas("explain", folder / "shop.cotas", "--json")
    assert said.code == 0, said.err
    weights = said.document["coefficients"][0]["coefficients"]
    model = PreparedModel.load(folder / "shop.cotas")
    original, bias = model.in_original_units()[0]
    assert weights == pytest.approx({**original, "(constant)": bias})
    words = cotas("explain", folder / "shop.cotas", "--top", "2")
    assert "more (--top 0 shows all)" in words.out
    assert "Certificate: hold-out" in words.out


def test_libsvm_and_npz_from_fit_to_proof(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.random(90, 12, density=0.4, random_state=0, format="csr")
    y = np.where(X @ rng.normal(size=12) > 0, 1, -1)
    dump_svmlight_file(X, y, str(tmp_path / "a.svm"), zero_based=False)
    sparse_file, dense_file = tmp_path / "a.svm", tmp_path / "a.npz"
    np.savez(dense_file, X=X.toarray(), y=y)
    for data in (sparse_file, dense_file):
        model = tmp_path / "m.cotas"
        said = cotas("fit", data, "--out", model)
        assert said.code == 0, said.err
        assert cotas("certify", model, data).code == 0
        said = cotas("predict", model, data, "--json")
        assert said.code == 0, said.err
        assert len(said.document["predictions"]) == 90
        assert said.document["test_error"] < 0.3


def test_auto_tries_families_by_turns_and_judges_by_training_rows_alone():
    words = ("fit", "builtin:diabetes", "--model", "auto", "--trials", "6", "--json")
    said = cotas(*words).document
    names = [rival["name"] for rival in said["rivals"]]
    families = {name.split(" ")[0] for name in names}
    assert families == {"ridge", "elastic-net", "ls-boost", "kernel-ridge"}
    # What was cut short, since its loops were compiled meanwhile, comes last.
    ranks = [(bool(rival["note"]), rival["error"]) for rival in said["rivals"]]
    assert ranks == sorted(ranks)
    assert names[0].startswith(said["model_name"] + " (")


@pytest.mark.parametrize("words", [("--model", "auto", "--trials", "2"), ("--select", "lam")])
def test_how_a_model_was_chosen_is_kept_with_it_and_said_in_either_language(folder, words):
    """With the columns that it does without, and why."""
    model = folder / "chosen.cotas"
    said = cotas("fit", folder / "shop.csv", "-t", "bought", *words, "-o", model)
    assert said.code == 0, said.err
    english, spanish_ = (cotas("explain", model, "--lang", k).out for k in ("en", "es"))
    chosen = library.load(model).recipe_.chosen
    assert f"chosen: {chosen}\n" in english
    with library.lang("es"):
        assert again(chosen) != str(chosen)
        assert f"elegido: {again(chosen)}\n" in spanish_
    for text in ("(constant)", "never changes", "like an identifier", "names or free text"):
        assert text not in spanish_
        assert (text in english) == (spanish()[text] in spanish_)


def test_select_chooses_lam_on_the_training_rows(folder):
    said = cotas("fit", folder / "shop.csv", "-t", "bought", "--select", "lam", "--json").document
    assert said["choice"]["over"] == "lam"
    assert said["choice"]["n_training"] + said["choice"]["n_validation"] == 128
    assert said["bound"]["figures"]["models to choose from"] == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--model", "kernel-svm", "--param", "gamma=0.1"),
        ("--model", "perceptron", "--param", "max_iter=5"),
        ("--model", "adaboost", "--param", "n_estimators=4"),
        ("--model", "pegasos", "--max-time", "5"),
        ("--hold-out", "0"),
        ("--drop", "town", "--drop", "member"),
    ],
)
def test_models_and_their_parameters(folder, tmp_path, words):
    model = tmp_path / "m.cotas"
    said = cotas("fit", folder / "shop.csv", "-t", "bought", *words, "-o", model)
    assert said.code == 0, said.err
    assert cotas("certify", model, folder / "shop.csv").code == 0
    assert cotas("explain", model).code == 0


def test_regression_in_spanish(tmp_path):
    said = cotas("fit", "builtin:houses", "--lang", "es", "-o", tmp_path / "m.cotas")
    assert said.code == 0
    assert "objetivo price" in said.out
    assert "error de entrenamiento" in said.out
    assert "Con 11 filas" in said.err
    assert cotas("predict", tmp_path / "m.cotas", "builtin:houses").code == 0


def test_quiet_and_strict(folder):
    said = cotas("fit", folder / "shop.csv", "-t", "bought", "-q")
    assert (said.code, said.out, said.err) == (0, "", "")
    call = ("fit", folder / "shop.csv", "-t", "bought", "--tol", "1e-300")
    assert cotas(*call, "--param", "max_iter=2").code == 0
    said = cotas(*call, "--param", "max_iter=2", "--strict")
    assert said.code == 1
    assert "above 1e-298%" in said.err


@pytest.mark.filterwarnings("ignore")
def test_models_of_scikit_learn(tmp_path):
    from skops import io

    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    model = LinearSVC(C=0.1, random_state=0).fit(X, y)
    io.dump(model, tmp_path / "m.skops")
    joblib.dump(model, tmp_path / "m.joblib")
    said = cotas("certify", tmp_path / "m.skops", tmp_path / "data.npz", "--json")
    assert said.code == 0, said.err
    expected = library.certify(model, X, y)
    assert said.document["certificate"]["upper"] == pytest.approx(expected.upper)
    assert cotas("certify", tmp_path / "m.joblib", tmp_path / "data.npz").code == 4
    trusted = cotas("certify", tmp_path / "m.joblib", tmp_path / "data.npz", "--trust-pickle")
    assert trusted.code == 0, trusted.err
    said = cotas("predict", tmp_path / "m.skops", tmp_path / "data.npz", "--json")
    predictions = [row["prediction"] for row in said.document["predictions"]]
    assert predictions == model.predict(X).tolist()
    frame = library.tables.read_table(_houses(tmp_path)).features
    named = Ridge(alpha=0.5).fit(frame.drop("price").to_numpy(), frame["price"].to_numpy())
    io.dump(named, tmp_path / "r.skops")
    said = cotas("certify", tmp_path / "r.skops", tmp_path / "h.csv", "--target", "price")
    assert said.code == 0, said.err


def _houses(folder):
    X, y = library.datasets.houses()
    frame = pl.DataFrame(X, schema=["area", "floors", "rooms"])
    frame.with_columns(price=pl.Series(y)).write_csv(folder / "h.csv")
    return folder / "h.csv"


def test_every_command_has_help_with_an_example():
    from cotas.cli.app import COMMANDS

    listed = cotas("--help").out
    for name, (_, words) in COMMANDS.items():
        said = cotas(name, "--help")
        assert words in " ".join(said.out.split())
        assert said.code == 0
        assert "Example: cotas" in " ".join(said.out.split())
        assert "--json" in said.out
        assert name in listed
    for code in MEANINGS:
        assert f" {code} " in " ".join(listed.split())
    assert cotas("--version").out.strip() == f"cotas {library.__version__}"


def test_an_interrupt_and_an_unforeseen_error_have_codes_of_their_own(monkeypatch, folder):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("cotas.cli.fit.open_table", stop)
    said = cotas("fit", "any.csv")
    assert (said.code, said.err) == (130, "cotas fit: interrupted.\n")

    def break_down(*_, **__):
        raise AssertionError("the moon")

    monkeypatch.setattr("cotas.cli.fit.open_table", break_down)
    said = cotas("fit", "any.csv", "--json")
    assert said.code == 70
    assert "--debug" in said.err
    assert "Traceback" not in said.err
    assert said.document["exit_code"] == 70
    assert "Traceback" in cotas("fit", "any.csv", "--debug").err


def test_a_table_is_read_before_what_trains_is_loaded(tmp_path):
    """Who mistypes the name of a file does not wait for scikit-learn first."""
    code = (
        "import sys; from cotas.cli.app import app;"
        f"app(['fit', {str(tmp_path / 'none.csv')!r}], standalone_mode=False);"
        "print(sorted({'sklearn', 'scipy', 'numba', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert "there is no such file" in done.stderr
    assert done.stdout.strip() == "[]"


def help_of(name):
    """All that the help of a command says: each text in Spanish, by its English."""
    module, _, function = COMMANDS[name][0].partition(":")
    command = as_command(name, getattr(import_module(f"cotas.cli.{module}"), function))
    parts = [command.help, *(getattr(each, "help", None) for each in command.params)]
    with library.lang("es"):
        return {
            part: say(inspect.cleandoc(part)) if type(part) is str else again(part)
            for part in parts
            if part
        }


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_said_in_both_languages(name):
    """Every paragraph of it, wherever the language is told, and English again afterwards."""
    texts = help_of(name)
    assert {inspect.cleandoc(text) for text in texts if type(text) is str} <= set(spanish())
    english = " ".join(cotas(name, "--help").out.split())
    for call in (["--lang", "es", name, "--help"], [name, "--help", "--lang=es"]):
        said = cotas(*call)
        assert said.code == 0
        assert said.out.startswith(f"Uso: cotas {name} [OPCIONES]")
        # Words are broken at hyphens, and blank lines are those of the text.
        words = re.sub(r"[\s-]+", "", said.out)
        for text in texts.values():
            assert re.sub(r"[\s-]+", "", text) in words, text
    assert " ".join(cotas(name, "--help").out.split()) == english


def test_the_list_of_commands_is_said_in_both_languages(monkeypatch):
    told = [*MEANINGS.values(), *(words for _, words in COMMANDS.values())]
    for lang, catalogue in (("en", dict(zip(told, told, strict=True))), ("es", spanish())):
        monkeypatch.setenv("COTAS_LANG", lang)
        words = re.sub(r"[\s-]+", "", cotas("--help").out)
        for text in told:
            assert re.sub(r"[\s-]+", "", catalogue[text]) in words


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from cotas.cli.app import app; app(['--help'], standalone_mode=False);"
        "print(sorted({'numpy', 'sklearn', 'numba', 'polars'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_as_a_process_of_its_own(tmp_path):
    call = [sys.executable, "-m", "cotas", "fit", "builtin:houses", "--json"]
    environment = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run(call, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["command"].startswith("cotas fit builtin:houses")


def test_what_to_install_is_said_when_it_is_missing(monkeypatch, capsys):
    import cotas.cli

    monkeypatch.setattr("cotas.cli.find_spec", lambda name: None)
    with pytest.raises(SystemExit) as caught:
        cotas.cli.main()
    assert caught.value.code == 5
    assert "pip install 'cotas[cli]'" in capsys.readouterr().err
