"""Tables as students hand them in: titles, totals, units, two encodings, spellings of true."""

import json
import re

import polars as pl
import pytest
from test_reading import workbook

import cotas as library
from cotas.certificates.presentation import BOUNDS
from cotas.files.csv_dialect import tell_untidy
from cotas.files.table import Table
from cotas.files.tables import batches, read_table
from cotas.plots.style import pyplot
from cotas.preparation.columns import roles_of
from cotas.preparation.inspection import inspect_table
from cotas.selection.blend import Blend
from terminal import cotas

NUMBERS = [f"{20 + k};{k % 7},5;{'alta' if k % 3 else 'baja'}" for k in range(40)]
NAMES = "edad;renta;clase"
TITLES = {
    "a line": ["Informe de clientes"],
    "a line and a blank one": ["Informe de clientes;;", ""],
    "names over several columns": ["Informe;;", "Cliente;;Resultado"],
    "a line and a sum of columns": ["Informe", "", "Cliente;;"],
}


def written(path, lines, encoding="utf-8"):
    path.write_bytes("\n".join([*lines, ""]).encode(encoding))
    return path


def remarks_of(table):
    return {remark.kind for remark in table.remarks}


@pytest.mark.parametrize("above", TITLES.values(), ids=TITLES)
def test_what_stands_above_the_names_is_left_out(tmp_path, above):
    plain = read_table(written(tmp_path / "plain.csv", [NAMES, *NUMBERS]))
    path = written(tmp_path / "t.csv", [*above, NAMES, *NUMBERS])
    table = read_table(path)
    assert table.features.equals(plain.features)
    assert f"line {len(above) + 1}:" in str(table.remarks[0])
    [part] = batches(path, 100)
    assert part.names == plain.names
    assert part.n_rows == plain.n_rows
    # Who says that the first line is names, or that none is, is believed.
    assert not tell_untidy(path.read_bytes(), header=True).titles
    assert not tell_untidy(path.read_bytes(), header=False).titles


def test_a_title_in_a_spreadsheet(tmp_path):
    pytest.importorskip("fastexcel")
    rows = [["edad", "ciudad"], *([20 + k, "Lima" if k % 2 else "Quito"] for k in range(9))]
    above = [["Informe", ""], ["", ""], ["Cliente", ""]]
    plain = read_table(workbook(tmp_path / "plain.xlsx", rows))
    table = read_table(workbook(tmp_path / "t.xlsx", [*above, *rows, ["Total", ""]]))
    assert table.features.equals(plain.features)
    assert [remark.kind for remark in table.remarks] == ["titles", "total"]


@pytest.mark.parametrize(
    "lines",
    [
        [";b;c", "r1;1;2", "r2;3;4"],  # the names of rows
        ["a;b;c", "kg;m;s", "1;2;3", "4;5;6"],  # units below the names
        ["a;b;", "x;1;", "y;2;"],
        ["1;;3", "4;5;6", "7;8;9"],
        ["a;;c", "NA;x;y", "1;u;v", "2;u;v"],
    ],
)
def test_what_is_no_title_stays(tmp_path, lines):
    table = read_table(written(tmp_path / "t.csv", lines))
    first = lines[0].split(";")
    names = [
        name if name and not name.isdigit() else f"column_{k}" for k, name in enumerate(first, 1)
    ]
    assert table.names == names


@pytest.mark.parametrize("word", ["TOTAL", "Total:", " totales ", "Suma", "Grand total"])
@pytest.mark.parametrize("column", ["words", "numbers"])
def test_a_last_row_that_sums_up_the_others_is_no_row(tmp_path, word, column):
    rows = [f"{k if column == 'numbers' else f'n{k % 5}'},{k},{3 * k}" for k in range(30)]
    plain = read_table(written(tmp_path / "plain.csv", ["a,b,c", *rows]))
    table = read_table(written(tmp_path / "t.csv", ["a,b,c", *rows, f"{word},,1305"]))
    assert table.features.equals(plain.features)
    assert remarks_of(table) == {"total"}
    assert "31" in str(table.remarks[0])
    parts = [*batches(tmp_path / "t.csv", 7)]
    assert sum(part.n_rows for part in parts) == 30
    assert [str(remark) for part in parts for remark in part.remarks] == [str(table.remarks[0])]


@pytest.mark.parametrize("last", ["total,4,5", "n2,,5", "Totalán,,5", ",total,5"])
def test_other_last_rows_are_rows(tmp_path, last):
    rows = [f"n{k % 3},{k},{k}" for k in range(10)]
    path = written(tmp_path / "t.csv", ["a,b,c", *rows, last])
    assert read_table(path).n_rows == 11 - (last == ",total,5")
    again = written(tmp_path / "t.csv", ["a,b,c", "total,,2", *rows, "total,,5"])
    assert read_table(again).n_rows == 12


@pytest.mark.parametrize("unit", ["kg", " kg", " m²", "°C", " km/h"])
def test_units_beside_numbers_are_said_to_be_no_numbers(tmp_path, unit):
    for different in (40, 4):
        cells = [f"{k % different}.5{unit},{k % 2}" for k in range(40)]
        table = read_table(written(tmp_path / "t.csv", ["w,y", *cells]), target="y")
        remark = roles_of(table.features)["w"].remark
        assert remark.kind == "unit"
        assert repr(unit.strip()) in str(remark)
    for other in ("A1", "3rd-4th", "x"):
        for others in (1, 3):  # one odd cell does not hide it
            mixed = [*cells, *(f"{other}{k * 'z'},1" for k in range(others))]
            table = read_table(written(tmp_path / "t.csv", ["w,y", *mixed]), target="y")
            remark = roles_of(table.features)["w"].remark
            assert (remark is not None and remark.kind == "unit") == (others == 1)


@pytest.mark.parametrize("value", [-999, -99.0, 9999])
def test_numbers_that_stand_for_missing_values_are_told(value):
    numbers = [float(k) for k in range(40)]
    frame = pl.DataFrame({"x": [*numbers, value, value], "z": [k % 5 for k in range(42)]})

    def told(column):
        table = Table(frame.with_columns(x=pl.Series(column)), None, "t.csv", "csv")
        return [str(remark) for remark in inspect_table(table) if remark.kind == "stand-in"]

    [words] = told([*numbers, value, value])
    assert f"missing=['{value:g}']" in words
    assert told([*numbers, value, 1.0]) == []  # once is no habit
    assert told([*numbers, value, value / 2]) == []
    assert told([k * value / 40 for k in range(41)] + [value]) == []  # where the others end


def test_letters_in_two_encodings_are_each_read_as_they_are_written(tmp_path):
    path = tmp_path / "t.csv"
    many = "town,x\n" + "Bogotá,1\n" * 30
    path.write_bytes(many.encode() + "Málaga,2\n".encode("cp1252"))
    table = read_table(path)
    assert set(table.features["town"]) == {"Bogotá", "Málaga"}
    assert remarks_of(table) == {"encoding"}
    [part] = batches(path, 100)
    assert set(part.features["town"]) == {"Bogotá", "Málaga"}
    path.write_bytes(many.encode("cp1252"))
    assert set(read_table(path).features["town"]) == {"Bogotá"}
    assert remarks_of(read_table(path)) == set()


@pytest.mark.parametrize("words", [("TRUE", "FALSE"), ("True", "False"), ("true", "false")])
def test_classes_are_spelled_as_in_the_file(tmp_path, words):
    lines = ["x,flag,ok", *(f"{k},{words[k % 2]},{words[k < 20]}" for k in range(40))]
    path, model = written(tmp_path / "t.csv", lines), tmp_path / "m.cotas"
    assert read_table(path).features["flag"].dtype == pl.Boolean
    assert cotas("fit", path, "-t", "ok", "-m", "perceptron", "-o", model).code == 0
    assert sorted(library.tables.PreparedModel.load(model).classes_) == sorted(words)
    said = cotas("predict", model, path, "--json", "--out", tmp_path / "p.csv").document
    told = pl.read_csv(tmp_path / "p.csv", infer_schema=False)
    assert set(told["prediction"]) <= set(words)
    wrong = (told["prediction"] != told["ok"]).mean()
    assert said["test_error"] == pytest.approx(wrong)
    assert cotas("certify", model, path).code == 0


def test_the_error_of_a_target_that_never_changes_is_one_of_numbers(tmp_path):
    path = written(tmp_path / "t.csv", ["x,y", *(f"{k},3.5" for k in range(40))])
    said = cotas("fit", path, "-m", "ridge")
    assert said.code == 0
    assert "root mean square" in said.out
    assert " of 32 rows" not in said.out


def test_a_separator_at_the_end_of_each_line_makes_no_target(tmp_path):
    lines = ["x,z,ok,", *(f"{k},{k % 5},{'no' if k < 20 else 'yes'}," for k in range(40))]
    path = written(tmp_path / "t.csv", lines)
    document = cotas("fit", path, "-m", "perceptron", "--json").document
    assert document["table"]["target"] == "ok"


def test_the_fields_of_an_object_stand_where_it_stood(tmp_path):
    rows = [{"a": k, "at": {"x": k, "y": {"z": -k}}, "b": k % 2} for k in range(3)]
    for text in (json.dumps(rows), "\n".join(map(json.dumps, rows))):
        path = tmp_path / "t.json"
        path.write_text(text)
        assert read_table(path).names == ["a", "at.x", "at.y.z", "b"]


def test_classes_with_dollars_stay_so_in_pictures(tmp_path):
    bands = ("$0-$5", "$5-$10", "$10-$20")
    lines = ["income,band", *(f"{k},{bands[k // 20]}" for k in range(60))]
    path, page = written(tmp_path / "t.csv", lines), tmp_path / "r.html"
    assert cotas("fit", path, "-m", "averaged-perceptron", "--report", page).code == 0
    drawings = page.read_text().split("<svg")[1:]
    assert all(any(band in drawing for drawing in drawings) for band in bands)
    plt = pyplot()
    plt.close("all")


def test_what_a_kernel_has_learned_in_features_of_its_own_is_explained(tmp_path):
    table = [[float(k % 7), float(k % 5)] for k in range(40)]
    machine = library.KernelSVM(approximate="fourier", n_components=4, random_state=0)
    machine.fit(table, [k % 2 for k in range(40)]).save(tmp_path / "m.cotas")
    assert cotas("explain", tmp_path / "m.cotas").code == 0


# ---- blends ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def blended(tmp_path_factory):
    there = tmp_path_factory.mktemp("blend")
    words = ("fit", "builtin:diabetes", "-m", "auto", "--trials", "8")
    whole = (*words, "-o", there / "m.cotas", "--report", there / "r.html")
    document = cotas(*whole, "--json").document
    assert document["model_name"] == "blend", [r["name"] for r in document["rivals"]]
    return there, document


def test_the_models_of_a_blend_are_called_as_in_the_leaderboard(blended):
    there, document = blended
    rivals = {rival["name"] for rival in document["rivals"]}
    names = [model["name"] for model in document["models"]]
    assert set(names) < rivals
    assert {part["member"] for part in document["certificate"]["parts"]} == set(names)
    assert sum(model["weight"] for model in document["models"]) == pytest.approx(1)
    fitted = library.tables.PreparedModel.load(there / "m.cotas").estimator_
    assert isinstance(fitted, Blend)
    for model, one in zip(document["models"], fitted.estimators_, strict=True):
        assert model["class"] == type(one).__name__
        given = one.get_params(deep=False)
        for name in ("lam", "learning_rate", "n_estimators"):
            assert model["parameters"].get(name) == given.get(name)


def test_a_blend_has_a_line_for_each_model_on_the_terminal(blended):
    there, document = blended
    model = there / "m.cotas"
    for said in (cotas("explain", model), cotas("certify", model, "builtin:diabetes")):
        assert said.code == 0
        for one in document["models"]:
            assert len(re.findall(rf"(?m)^  0\.\d+·{re.escape(one['name'])}: ", said.out)) == 1


def test_each_number_of_a_report_stands_under_what_it_is(blended):
    there, document = blended
    page = (there / "r.html").read_text()
    for part in document["certificate"]["parts"]:
        for heading in BOUNDS.get(part["kind"], ()):
            assert f'<th scope="col">{heading}</th>' in page
    assert "is optimistic" in page


def test_a_blend_is_exported(blended):
    pytest.importorskip("onnx")
    there, _ = blended
    assert cotas("export", there / "m.cotas", "--onnx", there / "m.onnx").code == 0


def test_what_onnx_cannot_hold_is_wrong_use(blended, monkeypatch):
    pytest.importorskip("onnx")
    there, _ = blended

    def refuse(*given, **options):
        raise ValueError("ONNX cannot hold it.")

    monkeypatch.setattr("cotas.export.onnx.to_onnx", refuse)
    said = cotas("export", there / "m.cotas", "--onnx", there / "n.onnx")
    assert said.code == 2
    assert "ONNX cannot hold it." in said.err
