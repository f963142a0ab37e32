"""Every figure runs, comes out the same from the same seed, and mistakes are answered in words."""

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text

import cotas
import reproduction_page
from cotas.experiments import (
    FIGURES,
    MemorisingClassifier,
    UnknownFigureError,
    find,
    find_all,
    reproduce,
)
from cotas.experiments.__main__ import main
from cotas.experiments.descent import EFFECTS
from cotas.experiments.figures import FORMATS
from cotas.experiments.names import ITEMS, KINDS, listing, other_names, slug
from cotas.experiments.samples import plus_minus
from cotas.experiments.sheet import SLIDE, SMALLEST
from cotas.words import LANGUAGES, say
from errors import refuses
from findings.figures import COMMAND, Finding, all_findings, filled, table
from findings.figures.finding import AGREES, DIFFERS, FLIPS, IN_PART, NO_CLAIM, votes

VERDICTS = (AGREES, IN_PART, DIFFERS, FLIPS, NO_CLAIM)
PAGE = Path(__file__).parents[2] / "docs" / "reproduction.md"

COMPARED = {"n": 100, "n_estimators": 5, "repeats": 2}
# Smaller than the documents have them, where that makes a difference to the time.
SIZES = {
    **dict.fromkeys(("001-1.4", "001-1.5", "001-1.6", "001-1.9", "001-1.10"), COMPARED),
    "001-1.8": {**COMPARED, "n_new": 500},
    "001-2.11": {"runs": (20, 30, 40)},
    "004-loss": {"n": 40, "n_values": 5, "splits": 2},
    "004-fitting": {"n": 40, "n_values": 5, "splits": 2},
    "000-perceptron": {"n": 50, "repeats": 2},
    "000-averaged": {"repeats": 2},
    "000-ridge": {"n_values": 2, "repeats": 1},
    "001-adaboost": {"n": 100, "n_estimators": 10},
    "001-anyboost": {"n": 100, "n_estimators": 10},
    "001-fs": {"iterations": 100},
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
    for lang in LANGUAGES:
        with cotas.lang(lang):
            picture = figure.picture(first)
        if lang == "en":
            picture.savefig(tmp_path / "figure.png", pil_kwargs={"compress_level": 1})
        else:  # all but the points
            picture.draw_without_rendering()
        check_slide(picture)


def check_slide(picture):
    """The shape of a slide, no letter too small, and no word outside."""
    assert tuple(picture.get_size_inches()) == SLIDE
    left, bottom, right, top = picture.bbox.extents
    # matplotlib keeps the labels of ticks beyond the limits, and does not draw them.
    ticks = {
        label
        for ax in picture.axes
        for axis in ax._axis_map.values()
        for label in axis.get_ticklabels(which="both")
    }
    for text in picture.findobj(Text):
        if not text.get_visible() or not text.get_text().strip():
            continue
        assert text.get_fontsize() >= SMALLEST, text
        x0, y0, x1, y1 = text.get_window_extent().extents
        if text not in ticks:
            assert left - 1 <= x0 <= x1 <= right + 1, text
            assert bottom - 1 <= y0 <= y1 <= top + 1, text
    for ax in picture.axes:
        for line in ax.lines:
            assert whole(ax, line), (ax.get_title(), line.get_label())


def whole(ax, line):
    """Whether no mark of a line is cut by the frame: it stands clear of it, or is not clipped."""
    if line.get_marker() in ("None", "", None, "|") or not line.get_clip_on():
        return True
    points = line.get_transform().transform(np.column_stack(line.get_data()).astype(float))
    points = points[np.isfinite(points).all(axis=1)]
    radius = line.get_markersize() * ax.figure.dpi / 72 / 2
    low, high = ax.bbox.min, ax.bbox.max
    inside = points[((points >= low - 0.5) & (points <= high + 0.5)).all(axis=1)]
    return bool(((inside >= low + radius) & (inside <= high - radius)).all())


@pytest.mark.parametrize("kind", FORMATS)
def test_the_same_figure_is_the_same_file(kind, tmp_path):
    files = [reproduce("3.3", tmp_path / side, format=kind) for side in ("a", "b")]
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert files[0].name == f"000-3.3.{kind}"
    assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind])


def test_equal_choices_are_a_pile_of_dots():
    figure = FIGURES["004-fitting"]
    picture = figure.picture(figure.compute(0, n=40, n_values=3, splits=4))
    (dots,) = (line for line in picture.axes[0].lines if line.get_marker() == "o")
    assert len(set(zip(*dots.get_data(), strict=True))) == 4  # two of four are equal


def test_what_is_said_of_a_rate_is_said_of_a_rate_in_spanish():
    with cotas.lang("es"):
        said = [say(effect) for effect in EFFECTS]
    assert said == ["muy pequeña", "adecuada", "grande: oscila", "excesiva: diverge"]


def test_a_png_has_the_points_of_a_projector(tmp_path):
    header = reproduce("3.3", tmp_path).read_bytes()[16:24]
    assert (int.from_bytes(header[:4]), int.from_bytes(header[4:])) == (1920, 1080)


def test_a_format_that_is_none(tmp_path):
    with refuses("format"):
        reproduce("3.3", tmp_path, format="gif")
    assert not list(tmp_path.iterdir())


def test_results_are_frozen():
    result = find("3.3").compute(0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.distance = 1.0


def test_descriptions_are_in_two_languages():
    for figure in FIGURES.values():
        assert figure.description("en")
        assert figure.description("es") != figure.description("en") or "LS-Boost" in figure.name
    with refuses("lang"):
        find("3.1").description("fr")


def test_title_and_source_follow_the_language():
    english, spanish = (find("3.1")(lang=lang) for lang in LANGUAGES)
    assert english._suptitle.get_text() == "A linear classifier without bias"
    assert spanish._suptitle.get_text() == "Clasificador lineal sin sesgo"
    with cotas.lang("es"):
        assert find("3.1").source().startswith("Figura 3.1 de J. G. Fuentes Cabrera")
    assert find("003-step").source().startswith("G. Moreno Chávez")


# ---- names ---------------------------------------------------------------------------------------


def test_items_name_figures_that_there_are_and_every_figure_is_in_its_document():
    for item in ITEMS:
        assert set(item.figures) <= set(FIGURES), item
        assert item.kind in (*KINDS, ""), item
    assert {one for item in ITEMS if item.kind == "document" for one in item.figures} == {*FIGURES}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_goes_by_its_name_and_number_in_both_languages(name):
    number = name.split("-", 1)[1]
    for word in (name, name.upper(), f"figure-{number}", f"Figura {number}", f"fig_{number}"):
        assert name in [figure.name for figure in find_all(word)], word
    assert find(name).name == name


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: "-".join((item.document, item.called)))
def test_an_item_goes_by_its_number_and_its_words_in_both_languages(item):
    for word in item.words:
        assert set(item.figures) <= {figure.name for figure in find_all(word)}, word
    for kind in KINDS.get(item.kind, ()):
        full = f"{item.document}-{kind}-{item.number}" if item.document else f"{kind}-{item.number}"
        assert tuple(figure.name for figure in find_all(full)) == item.figures


def test_a_number_that_stands_in_two_documents_is_answered_with_both():
    twice = [
        (word, number)
        for word in KINDS["algorithm"]
        for number in {item.number for item in ITEMS if item.kind == "algorithm"}
        if sum((item.kind, item.number) == ("algorithm", number) for item in ITEMS) > 1
    ]
    assert ("algoritmo", "5") in twice
    for word, number in twice:
        with pytest.raises(UnknownFigureError) as caught:
            find_all(f"{word}-{number}")
        for choice in re.findall(rf"00\d-{word}-{number}", str(caught.value)):
            assert find_all(choice)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_what_the_list_says_a_figure_is_found_by_finds_it_in_that_language(lang):
    ours = {slug(KINDS[kind][lang == "es"]) for kind in KINDS}
    others = {slug(KINDS[kind][lang != "es"]) for kind in KINDS}
    for name, figure in FIGURES.items():
        for other in other_names(figure, lang):
            assert other in listing(lang)
            assert not other.startswith(tuple(word + "-" for word in others - ours)), other
            things = [item for item in ITEMS if other in item.names]  # of two documents at most
            assert any(figure.name in item.figures for item in things)
        assert name in listing(lang)


@pytest.mark.parametrize("written", ["Fig. 3.3", "figura3.3", "FIGURA 3,3", " figure_3.3. "])
def test_a_number_is_read_however_it_is_written(written):
    assert find(written).name == "000-3.3"


@pytest.mark.parametrize("author", ["Fuentes Cabrera", "Rugeles Ospina", "Fuentes-Pineda",
                                    "Moreno Chávez", "Clasificación lineal"])  # fmt: skip
def test_a_document_goes_by_its_author(author):
    assert len({figure.document for figure in find_all(author)}) == 1
    assert len(find_all(author)) > 3


def test_no_two_suggestions_stand_for_the_same_figures():
    with pytest.raises(UnknownFigureError) as caught:
        find_all("pegassos")
    some = re.search(r"Did you mean (.*)\?", str(caught.value))[1].split(" or ")
    assert len({find_all(name) for name in some}) == len(some)


def test_a_name_of_several_figures_is_not_the_name_of_one():
    assert len(find_all("tesis")) == sum(name.startswith("001") for name in FIGURES)
    with pytest.raises(UnknownFigureError):
        find("tesis")


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ("001-1.55", "001-1.5"),
        ("lambda-10", "lambda-100"),
        ("pegasus", "pegasos"),
        ("teorema-3.2", "teorema-3.1"),
        ("algoritmo-10", "algoritmo-1"),
    ],
)
def test_an_unknown_name_is_answered_with_suggestions(wrong, advice):
    with pytest.raises(UnknownFigureError) as caught:
        find(wrong)
    assert advice in str(caught.value)
    assert "--list" in str(caught.value)


@pytest.mark.parametrize("name", ["zzzzzz", "", "  ", "…"])
def test_a_name_like_no_other_is_told_where_to_look(name):
    with pytest.raises(UnknownFigureError, match="--list"):
        find(name)


# ---- the command line ----------------------------------------------------------------------------


def test_a_file_in_the_place_of_the_folder(tmp_path):
    file = tmp_path / "taken"
    file.write_text("")
    with pytest.raises(OSError, match="taken"):
        reproduce("3.1", file)


def test_the_right_to_write_is_asked_for_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError):
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
    assert "--all or --list" in capsys.readouterr().err


def test_a_name_may_make_several_figures_each_once(tmp_path, capsys):
    words = ["Estocástico", "003-stochastic", "--out", str(tmp_path), "--format", "svg"]
    assert main(words) == 0
    printed = capsys.readouterr().out.split()
    assert [Path(one).stem for one in printed] == [f.name for f in find_all("stochastic")]
    assert {Path(one).suffix for one in printed} == {".svg"}


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
    with refuses("y"):
        MemorisingClassifier().fit(X, y)
    with refuses("eps"):
        MemorisingClassifier(eps=0.0).fit(X, [0, 1, 0])


@pytest.fixture(scope="module")
def findings():
    return all_findings(seeds=(7,))


def test_the_report_speaks_of_every_figure(findings):
    assert {name for one in findings for name in one.figures} == set(FIGURES)
    assert {one.verdict for one in findings} <= set(VERDICTS)
    for row, one in zip(table(findings).splitlines()[2:], findings, strict=True):
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        assert cells[0].split(", ") == list(one.figures)
        assert cells[3:] == [one.verdict, one.count]


def test_a_verdict_that_flips_with_the_seed_says_so():
    whole = Finding(("a",), "x", "y", votes([True] * 10))
    assert (whole.verdict, whole.count, whole.confirmed) == (AGREES, "10 of 10", True)
    mixed = Finding(("a",), "x", "y", (*votes([True] * 6 + [False] * 3), IN_PART))
    assert (mixed.verdict, mixed.confirmed) == (FLIPS, False)
    assert mixed.count == "agrees 6, in part 1, differs 3"
    assert Finding(("a",), "x", "y", votes([False])).count == "exact"
    assert Finding(("a",), "x", "y").verdict == NO_CLAIM


def test_a_mean_comes_with_its_standard_error():
    assert plus_minus([1.0, 2.0, 3.0, 4.0], 2) == "2.50 ± 0.65"
    assert plus_minus([-0.5], 1, "%") == "−50.0 ± 0.0%"


def test_the_page_has_the_rows_of_the_report():
    page = PAGE.read_text("utf-8")
    rows = [line.strip("|").split(" | ") for line in page.splitlines() if line.startswith("| 00")]
    assert {name for row in rows for name in row[0].strip().split(", ")} == set(FIGURES)
    assert {row[3].strip() for row in rows} <= set(VERDICTS)
    assert f"{COMMAND} --seed" in page
    assert "10 of 10" in page


def test_the_spanish_page_has_what_the_english_one_says():
    page, english = (path.read_text("utf-8") for path in (reproduction_page.SPANISH, PAGE))
    assert reproduction_page.filled(page, english) == page, "run: python tests/reproduction_page.py"
    assert set(VERDICTS) <= set(reproduction_page.VERDICTS)


def test_other_seeds_can_be_said_in_spanish(monkeypatch, findings):
    monkeypatch.setattr("findings.figures.all_findings", lambda seeds: findings)
    monkeypatch.setattr("findings.figures.times_report", lambda: "| algorithm |\n")
    english = filled(PAGE.read_text("utf-8"), (7,))
    told = reproduction_page.filled(reproduction_page.SPANISH.read_text("utf-8"), english)
    parts, number = reproduction_page.PARTS, reproduction_page.NUMBER
    numbers = [
        [number.findall(part[2]) for part in parts.findall(page)] for page in (english, told)
    ]
    assert numbers[0] == numbers[1]


def test_the_page_is_filled_between_its_marks(monkeypatch, findings):
    monkeypatch.setattr("findings.figures.all_findings", lambda seeds: findings)
    monkeypatch.setattr("findings.figures.times_report", lambda: "times")
    page = PAGE.read_text("utf-8")
    once = filled(page, (7,))
    assert filled(once, (7,)) == once  # nothing is left of what stood there
    assert table(findings) in once
    assert [line for line in once.splitlines() if line.startswith("## ")] == [
        line for line in page.splitlines() if line.startswith("## ")
    ]
    with pytest.raises(ValueError, match="parts"):
        filled("no marks", (7,))
    with pytest.raises(ValueError, match="times"):
        filled(page.replace("<!-- end times -->", ""), (7,))
