"""What was typed comes back: cells as they are written, models by the command that made them."""

import contextlib
import csv
import io
import json
import shlex

import numpy as np
import polars as pl
import pytest

from terminal import cotas

ODD = (
    'name;"amount";when;n;cls\r\n"A;a";"1.234,50 €";01/02/2020;NA;x\r\n'
    '=1+2;-3,5 €;"02/02/2020"; -;y\r\n\r\n"line\nbreak";007;3/3/20;5 %;x\r\n'
)
MORE = "".join(f"w{i};{i},5;0{i % 9 + 1}/03/2020;{i % 7} %;{'xyy'[i % 3]}\r\n" for i in range(40))


def cells(text, separator=";"):
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    (folder / "odd.csv").write_bytes((ODD + MORE).encode())
    assert cotas("fit", folder / "odd.csv", "--out", folder / "odd.cotas").code == 0
    return folder


@pytest.mark.parametrize("rows", [100_000, 7])
def test_the_lines_of_a_text_table_come_back_as_they_are_written(odd, rows):
    out = odd / f"out{rows}.csv"
    call = ("predict", odd / "odd.cotas", odd / "odd.csv", "--out", out, "--rows", rows)
    assert cotas(*call, "--no-safe-csv").code == 0
    given = (ODD + MORE).replace("\r\n\r\n", "\r\n").split("\r\n")
    for before, after in zip(given, out.read_bytes().decode().split("\r\n"), strict=True):
        assert after.startswith(before)
    added = [row[5:] for row in cells(out.read_bytes().decode())]
    assert added[0] == ["prediction", "score", "certified"]
    assert all("," in score for _, score, _ in added[1:])  # a decimal comma, as in the table


def test_only_cells_that_a_spreadsheet_would_run_get_an_apostrophe(odd):
    assert cotas("predict", odd / "odd.cotas", odd / "odd.csv", "--out", odd / "safe.csv").code == 0
    was, now = cells(ODD + MORE), cells((odd / "safe.csv").read_bytes().decode())
    changed = [
        (a, b) for x, y in zip(was, now, strict=True) for a, b in zip(x, y, strict=False) if a != b
    ]
    assert changed == [("=1+2", "'=1+2")]


def test_cells_come_back_in_columns_too(odd):
    out = odd / "out.parquet"
    assert cotas("predict", odd / "odd.cotas", odd / "odd.csv", "--out", out).code == 0
    frame = pl.read_parquet(out)
    assert frame["amount"].to_list()[:3] == ["1.234,50 €", "-3,5 €", "007"]
    assert frame["n"].to_list()[:3] == ["NA", " -", "5 %"]


def test_parts_of_a_table_keep_the_order_of_the_first(odd):
    lines = (ODD + MORE).split("\r\n")[6:20]
    (odd / "part-1.csv").write_text("name;amount;when;n;cls\n" + "\n".join(lines[:7]) + "\n")
    turned = [";".join(reversed(line.split(";"))) for line in lines[7:]]
    (odd / "part-2.csv").write_text("cls;n;when;amount;name\n" + "\n".join(turned) + "\n")
    said = cotas("predict", odd / "odd.cotas", odd / "part-*.csv", "--out", odd / "parts.csv")
    assert said.code == 0
    found = cells((odd / "parts.csv").read_text())
    assert [row[:5] for row in found[1:]] == [line.split(";") for line in lines]
    (odd / "part-3.csv").write_text("cls;n;when;amount;name;more\nx;1 %;3/3/20;1,5;w;1\n")
    said = cotas("predict", odd / "odd.cotas", odd / "part-*.csv", "--out", odd / "parts.csv")
    assert said.code == 3
    assert "part-3.csv" in said.err


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A table, and what --model auto says of it."""
    folder = tmp_path_factory.mktemp("auto")
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 3))
    y = np.where(X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * random.normal(size=150) > 0, "yes", "no")
    lines = [",".join([*(f"{v:.3f}" for v in row), label]) for row, label in zip(X, y, strict=True)]
    (folder / "t.csv").write_text("a,b,c,d\n" + "\n".join(lines) + "\n")
    call = ["fit", "t.csv", "--model", "auto", "--trials", "4", "--json", "--seed", "3"]
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["cotas", *call])  # which the command is told from
        return folder, cotas(*call).document


def test_every_row_of_the_leaderboard_has_the_command_that_trains_it(searched):
    folder, found = searched
    first = found["rivals"][0]
    assert all(rival["command"] for rival in found["rivals"])
    words = shlex.split(first["command"])[1:]
    assert not {"auto", "--trials", "--json"} & set(words)
    again = cotas(*[folder / "t.csv" if w == "t.csv" else w for w in words], "--json").document
    for key in ("training", "hold_out", "bound", "quality", "model_name"):
        assert again[key] == found[key], key
    assert again["certificate"]["upper"] == found["certificate"]["upper"]
    for rival in found["rivals"][1:]:
        model = shlex.split(rival["command"])
        assert rival["name"].startswith(f"{model[model.index('--model') + 1]} (")


def test_what_is_printed_can_be_typed_where_it_was_and_what_is_kept_names_no_folder(
    searched, monkeypatch
):
    folder, _ = searched
    table, model = str(folder / "t.csv"), str(folder / "m.cotas")
    call = ["fit", table, "--model", "auto", "--trials", "2", "--single", "--out", model]
    monkeypatch.setattr("sys.argv", ["cotas", *call])
    lines = [shlex.split(line) for line in cotas(*call).out.splitlines() if "cotas fit" in line]
    assert lines
    assert all(words[:3] == ["cotas", "fit", table] for words in lines)
    assert str(folder) not in json.dumps(cotas(*call, "--json").document["rivals"])
    assert str(folder) not in cotas("explain", model).out


def test_a_blend_is_trained_as_it_is_typed(searched):
    folder, _ = searched
    typed = "2*logistic(lam=0.01) + 1*logitboost(depth=2, n_estimators=7)"
    found = cotas("fit", folder / "t.csv", "--model", typed, "--json").document
    assert found["model_name"] == "blend"
    assert [model["weight"] for model in found["models"]] == pytest.approx([2 / 3, 1 / 3])
    names = [model["name"] for model in found["models"]]
    assert names == ["logistic (lam=0.01)", "logitboost (depth=2, n_estimators=7)"]


@pytest.mark.parametrize(
    ("typed", "why"),
    {
        "2*logistic": "weight*model(parameters)",
        "x*logistic(lam=1)": "weight*model(parameters)",
        "1*logistic(lam=1) + 1*ridge(lam=1)": "for classes or for numbers",
        "1*logistick(lam=1)": "there is no model",
        "1*logistic(lame=1)": "has no parameter",
    }.items(),
)
def test_a_blend_that_makes_no_sense_is_refused(searched, typed, why):
    said = cotas("fit", searched[0] / "t.csv", "--model", typed)
    assert said.code == 2
    assert why in said.err
