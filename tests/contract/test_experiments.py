"""Every figure runs, comes out the same from the same seed, and mistakes are answered in words."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cotas
from cotas.experiments import FIGURES, MemorisingClassifier, UnknownFigureError, find, reproduce
from cotas.experiments.__main__ import main
from cotas.experiments.findings import report
from cotas.experiments.findings.finding import AGREES, DIFFERS, IN_PART, NO_CLAIM

VERDICTS = (AGREES, IN_PART, DIFFERS, NO_CLAIM)

# Smaller than the documents have them, where that makes a difference to the time.
SIZES = {
    "001-1.4": {"n": 200, "n_estimators": 10},
    "001-1.5": {"n": 200, "n_estimators": 10},
    "001-1.6": {"n": 200, "n_estimators": 10},
    "001-1.8": {"n": 200, "n_estimators": 10, "n_new": 500},
    "001-1.9": {"n": 100, "n_estimators": 5},
    "001-1.10": {"n": 100, "n_estimators": 5},
    "001-2.11": {"runs": (20, 30, 40)},
    "004-loss": {"n": 40, "n_values": 5},
    "004-fitting": {"n": 40, "n_values": 5},
}
# These show what is the same for every seed: a formula, or the table of houses.
FIXED = {"001-1.1", "003-houses", "003-step", "003-normalization"}


def numbers(result):
    """All the numbers in a result, in one row."""
    if dataclasses.is_dataclass(result):
        parts = [getattr(result, field.name) for field in dataclasses.fields(result)]
    elif isinstance(result, dict):
        parts = list(result.values())
    elif isinstance(result, tuple):
        parts = list(result)
    elif isinstance(result, np.ndarray | float | int):
        return np.ravel(np.asarray(result, dtype=float))
    else:
        return np.zeros(0)  # a name or a fitted model
    return np.concatenate([np.zeros(0), *map(numbers, parts)])


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_saved_and_follows_from_its_seed(name, tmp_path):
    figure, sizes = FIGURES[name], SIZES.get(name, {})
    first, again = figure.compute(3, **sizes), figure.compute(3, **sizes)
    np.testing.assert_array_equal(numbers(first), numbers(again))
    assert len(numbers(first)) > 0
    other = numbers(figure.compute(4, **sizes))
    same = len(other) == len(numbers(first)) and (other == numbers(first)).all()
    assert same == (name in FIXED)
    target = tmp_path / "figure.png"
    with cotas.lang("es"):
        figure.draw(first).savefig(target, dpi=60)
    assert target.read_bytes().startswith(b"\x89PNG")
    assert target.stat().st_size > 4_000


def test_results_are_frozen():
    result = find("3.3").compute(0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.distance = 1.0


def test_descriptions_are_in_two_languages():
    for figure in FIGURES.values():
        assert figure.description("en")
        assert figure.description("es") != figure.description("en") or "LS-Boost" in figure.name
    with pytest.raises(ValueError, match="lang must be"):
        find("3.1").description("fr")


def test_titles_follow_the_language():
    english, spanish = (find("3.1")(lang=lang)._suptitle.get_text() for lang in ("en", "es"))
    assert english == "Document 000, Figure 3.1. A linear classifier without bias"
    assert spanish == "Documento 000, figura 3.1. Clasificador lineal sin sesgo"


@pytest.mark.parametrize(
    ("wrong", "advice"), [("001-1.55", "001-1.5"), ("2.12", "001-2.1"), ("lambda-10", "lambda-100")]
)
def test_an_unknown_name_is_answered_with_suggestions(wrong, advice):
    with pytest.raises(UnknownFigureError, match="Did you mean") as caught:
        find(wrong)
    assert advice in str(caught.value)
    assert "--list" in str(caught.value)


def test_a_name_like_no_other_is_told_where_to_look():
    with pytest.raises(UnknownFigureError, match="--list"):
        find("zzzzzz")


def test_a_file_in_the_place_of_the_folder(tmp_path):
    file = tmp_path / "taken"
    file.write_text("")
    with pytest.raises(OSError, match=r"cannot be made .* choose another"):
        reproduce("3.1", file)


def test_the_right_to_write_is_asked_for_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="not writable: choose another"):
        reproduce("3.1", tmp_path)
    assert not list(tmp_path.iterdir())


def test_command_line(tmp_path, capsys):
    assert main(["3.1", "000-3.3", "--out", str(tmp_path), "--seed", "5", "--lang", "es"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000-3.1.png", "000-3.3.png"]
    assert main(["--list", "--lang", "es"]) == 0
    assert "001-2.11" in capsys.readouterr().out
    assert main(["3.99", "--out", str(tmp_path)]) == 2
    assert "There is no figure '3.99'" in capsys.readouterr().err
    assert main(["3.1", "--out", str(tmp_path / "000-3.1.png")]) == 2
    assert "choose another with --out" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([])
    assert "--all, --list or --report" in capsys.readouterr().err


def test_ctrl_c_keeps_what_was_saved(tmp_path, capsys, monkeypatch):
    done = []

    def interrupted(name, *args, **options):
        if done:
            raise KeyboardInterrupt
        done.append(name)
        return name

    monkeypatch.setattr("cotas.experiments.__main__.reproduce", interrupted)
    assert main(["3.1", "3.2", "--out", str(tmp_path)]) == 130
    printed = capsys.readouterr()
    assert printed.out.split() == done == ["000-3.1"]
    assert "interrupted" in printed.err


@pytest.mark.parametrize("seed", ["-1", "1.5", "x"])
def test_a_seed_that_is_none(seed, capsys):
    with pytest.raises(SystemExit):
        main(["3.1", f"--seed={seed}"])
    assert "a seed is a whole number from 0 on" in capsys.readouterr().err


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "cotas.experiments", "--list"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(FIGURES)


def test_the_memorizer_is_an_estimator_of_scikit_learn():
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(MemorisingClassifier())


def test_the_memorizer_names_what_is_wrong():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 2]
    with pytest.raises(ValueError, match="y must hold two labels; it has 3 classes"):
        MemorisingClassifier().fit(X, y)
    with pytest.raises(ValueError, match="eps"):
        MemorisingClassifier(eps=0.0).fit(X, [0, 1, 0])


def test_the_report_speaks_of_every_figure():
    lines = report(seeds=(7,)).splitlines()
    told = {name for line in lines[2:] for name in line.split("|")[1].strip().split(", ")}
    assert told == set(FIGURES)
    assert {line.split("|")[4].strip() for line in lines[2:]} <= set(VERDICTS)


def test_the_page_has_the_rows_of_the_report():
    page = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text("utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| 00")]
    assert {name for row in rows for name in row[0][2:].split(", ")} == set(FIGURES)
    assert {row[-1].removesuffix(" |") for row in rows} <= set(VERDICTS)
