"""A report says what the model is, in two languages, and can be handed to anyone."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import cotas
from cotas.certificates.certificate import no_certificate
from cotas.certificates.presentation import apart, at_most
from cotas.report.certificates import standing
from cotas.report.drawings import drawn
from cotas.report.page import render
from cotas.report.record import ColumnLine, Content, Effects, HeldOutFigures, Picture
from cotas.words import LANGUAGES

HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return cotas.LinearSVM(lam=0.1).fit(X, X[:, 0] + 0.3 * rng.normal(size=80) > 0)


@pytest.fixture
def content(model):
    return Content(
        source="houses.csv",
        rows=80,
        width=20,
        columns=[ColumnLine(f"column {k}", "number", k, "0 … 1") for k in range(20)],
        target="sold",
        task="classification",
        classes={"yes": 40, "no": 40},
        warnings=["The column 'area' is constant."],
        model="LinearSVM",
        parameters={"lam": "0.1"},
        preparation=["3 numbers standardized"],
        certificates=[("", model.certificate_)],
        held_out=HeldOutFigures(
            *(20, {"error": "0.05"}, ("always “yes”", "0.5"), 0.2161),
            tried=4,
            classes=[["yes", "10", "9", "1"]],
            headings=["class", "rows", "as yes", "as no"],
        ),
        effects=[Effects("", ["area", "rooms"], [2.0, -1.0], [0.02, -1.0])],
        pictures=[Picture("Margins", "What to see.", drawn(lambda ax: ax.plot([0, 1]), "one"))],
        command="cotas fit houses.csv --target sold",
        seed=7,
        versions={"cotas": "0.1.0"},
    )


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
def test_every_tag_closes_and_nothing_is_loaded(content, lang):
    with cotas.lang(lang):
        outline = Outline(render(content))
    assert outline.open == []
    assert "script" not in outline.tags
    assert all(link.startswith("#") for link in outline.loads)


def test_nothing_from_the_data_becomes_markup(content):
    hostile = replace(
        content,
        source=HOSTILE,
        target=HOSTILE,
        columns=[ColumnLine(HOSTILE, HOSTILE, 0, HOSTILE)],
        classes={HOSTILE: 3},
        warnings=[HOSTILE],
        parameters={HOSTILE: HOSTILE},
        preparation=[HOSTILE],
        effects=[Effects(HOSTILE, [HOSTILE], [1.0])],
        compared=[[HOSTILE], [HOSTILE]],
        held_out=HeldOutFigures(
            *(3, {HOSTILE: HOSTILE}, (HOSTILE, HOSTILE)),
            classes=[[HOSTILE, HOSTILE]],
            headings=[HOSTILE, HOSTILE],
        ),
        alarms=[HOSTILE],
        short=[HOSTILE],
        command=HOSTILE,
        versions={HOSTILE: HOSTILE},
    )
    page = render(hostile)
    assert "<script" not in page
    assert "".join(Outline(page).words).count(HOSTILE) >= 22


def test_the_page_shows_the_numbers_of_the_model(content, model):
    shown = " ".join(Outline(render(content)).words)
    certificate = model.certificate_
    ends = apart(certificate.lower, certificate.upper)
    for value in (*ends, at_most(certificate.gap), "0.05", "0.2161", "0.5"):
        assert value in shown
    for word in ("houses.csv", "sold", "cotas fit houses.csv", "column 19", "4 models"):
        assert word in shown


def test_the_longest_bar_is_the_largest_coefficient(content):
    widths = [float(width) for width in re.findall(r"width:([\d.]+)%", render(content))]
    assert widths == [50.0, 25.0]


def test_each_standing_is_told_apart(model):
    proof = model.certificate_
    assert standing(proof) == "holds"
    assert standing(replace(proof, vacuous=True)) == "vacuous"
    assert standing(replace(proof, holds=False)) == "fails"
    assert standing(no_certificate("nothing")) == "none"


def test_what_fails_is_not_called_proved(content, model):
    failed = replace(model.certificate_, holds=False, objection="It was changed.")
    page = " ".join(Outline(render(replace(content, certificates=[("", failed)]))).words)
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
