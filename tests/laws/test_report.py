"""A report says what the model is, in two languages, and can be handed to anyone."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

import cotas
from cotas.certificates.certificate import no_certificate
from cotas.certificates.presentation import apart, at_most
from cotas.cli.session import Session
from cotas.cli.training import Settings, train
from cotas.files.problems import Remark
from cotas.files.table import Table
from cotas.preparation.record import ColumnSummary, Rival
from cotas.report.certificates import standing
from cotas.report.drawings import drawn
from cotas.report.effects import Effects, effects_of, effects_section
from cotas.report.page import (
    _compared,
    _data,
    _held_out,
    _model,
    _reproduce,
    _summary,
    _warnings,
    render,
)
from cotas.words import LANGUAGES

HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture(scope="module")
def record():
    """Of a table with twenty columns that are used, and of one that never changes."""
    rng = np.random.default_rng(0)
    X, towns = rng.normal(size=(80, 18)), rng.choice(["Lugo", "Vigo"], 80)
    frame = pl.DataFrame(X, schema=[f"column {k}" for k in range(18)])
    frame = frame.with_columns(pl.Series("town", towns), pl.Series(HOSTILE, X[:, 0] ** 3), unit=1)
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=80) > 0, "yes", "no")
    table = Table(frame, y, "/there/houses.csv", "csv", "sold")
    given = {"task": "classification", "given": {"lam": 0.1}, "seed": 7}
    settings = Settings(**given, command="cotas fit x.csv")
    return train(Session("fit", quiet=True), table, y, settings)


class Outline(HTMLParser):
    """The tags with what they load, and the text a reader sees."""

    EMPTY = ("meta", "path", "use", "rect", "br", "circle")

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.loads, self.words = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loads += [value for name, value in attrs if name in ("src", "href", "xlink:href")]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_tag_closes_and_nothing_is_loaded(record, lang):
    with cotas.lang(lang):
        outline = Outline(render(record))
    assert outline.open == []
    assert "script" not in outline.tags
    assert all(link.startswith("#") for link in outline.loads)


def test_nothing_from_the_data_becomes_markup(record):
    column = ColumnSummary(HOSTILE, "category", 0, 3, most_frequent=HOSTILE)
    one = replace(record.quality.classes[0], label=HOSTILE)
    rival = Rival(HOSTILE, 1.0, 0.1, True, 0.1, 0.1, note=HOSTILE, command=HOSTILE)
    hostile = replace(
        record,
        table=replace(record.table, source=HOSTILE, target=HOSTILE, columns=(column,)),
        remarks=(Remark("constant", HOSTILE, HOSTILE),),
        command=HOSTILE,
        versions={HOSTILE: HOSTILE},
        model_name=HOSTILE,
        training=replace(record.training, truth=np.array([HOSTILE, "no"])),
        quality=replace(
            record.quality,
            constant=HOSTILE,
            answer=HOSTILE,
            classes=(one, *record.quality.classes[1:]),
        ),
        rivals=(rival, rival),
        warnings=(HOSTILE,),
    )
    for part in (_summary, _held_out, _warnings, _compared, _model, _data, _reproduce):
        page = "".join(part(hostile))
        assert "<script" not in page
        assert HOSTILE in "".join(Outline(page).words)
    [effects] = effects_of(record)
    page = effects_section([replace(effects, label=HOSTILE)])
    assert "<script" not in page
    assert "".join(Outline(page).words).count(HOSTILE) == 2


def test_the_page_shows_the_numbers_of_the_model(record):
    shown = " ".join(Outline(render(record)).words)
    certificate = record.certificate
    ends = apart(certificate.lower, certificate.upper)
    measured = f"{record.quality.measures['error'].value:.4g}"
    for value in (*ends, at_most(certificate.gap), measured, at_most(record.bound.upper, 4)):
        assert value in shown
    for word in (
        "houses.csv",
        "sold",
        "cotas fit x.csv",
        "column 17",
        "Vigo",
        "never changes",
    ):
        assert word in shown
    assert "/there/" not in shown


def test_the_bound_says_among_how_many_models_it_was_chosen(record):
    wrong = record.hold_out.predictions != record.hold_out.truth
    several = replace(record, bound=cotas.hold_out_bound(wrong, None, tried=4))
    assert "4 models were compared" in " ".join(Outline(render(several)).words)
    assert "models were compared" not in " ".join(Outline(render(record)).words)


def test_the_longest_bar_is_the_largest_coefficient():
    effects = [Effects("", ["area", "rooms"], [2.0, -1.0], [0.02, -1.0])]
    page = effects_section(effects)
    assert [float(width) for width in re.findall(r"width:([\d.]+)%", page)] == [50.0, 25.0]


def test_each_standing_is_told_apart(record):
    proof = record.certificate
    assert standing(proof) == "holds"
    assert standing(replace(proof, vacuous=True)) == "vacuous"
    assert standing(replace(proof, holds=False)) == "fails"
    assert standing(no_certificate("nothing")) == "none"


def test_what_fails_is_not_called_proved(record):
    failed = replace(record.certificate, holds=False, objection="It was changed.")
    page = " ".join(Outline(render(replace(record, certificate=failed))).words)
    assert "not proved" in page
    assert "It was changed." in page


def test_pictures_do_not_share_names():
    def draw(ax):
        ax.plot([0, 1], color="black")

    one, other = drawn(draw, "one"), drawn(draw, "other")
    names = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (one, other)]
    assert names[0]
    assert names[0].isdisjoint(names[1])
    for svg, own in zip((one, other), names, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", svg)) <= own
    assert drawn(draw, "one") == one
