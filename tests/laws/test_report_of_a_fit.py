"""The report of a fit says what the fit said."""

import math
import os
import re

import pytest
from sklearn.datasets import load_iris
from test_report import Outline

import cotas as library
from cotas.certificates.presentation import OPTIMIZATION, apart
from cotas.cli.session import Session, Watcher
from terminal import cotas, customers


def told(page):
    return " ".join(Outline(page.read_text()).words)


def four_digits(value):
    return f"{value:.4g}"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    there = tmp_path_factory.mktemp("shop")
    customers().with_columns(shop_id=7).write_csv(there / "shop.csv")
    return there


@pytest.mark.parametrize("model", ["svm", "adaboost", "kernel-svm", "perceptron"])
def test_the_numbers_are_those_of_the_fit(shop, model):
    page = shop / f"{model}.html"
    said = cotas(
        *("fit", shop / "shop.csv", "--target", "bought", "--model", model),
        *("--report", page, "--json", "-q"),
    )
    assert said.code == 0, said.err
    document, words = said.document, told(page)
    assert four_digits(document["hold_out"]["error"]) in words
    bound = math.ceil(1e4 * document["bound"]["upper"]) / 1e4  # upwards, so that it stays one
    assert f"is at most {bound:.4g}" in words
    for certificate in document["certificate"].get("parts", [document["certificate"]]):
        upper = certificate["upper"]
        if certificate["kind"] in OPTIMIZATION:
            assert apart(certificate["lower"], upper)[1] in words
        else:
            assert four_digits(upper) in words
    for name in ("age", "income", "town", "yes", "no", "bought", "160"):
        assert name in words
    assert "Column 'shop_id' never changes" in words


def test_several_classes_each_have_their_certificate(tmp_path):
    page = tmp_path / "iris.html"
    assert cotas("fit", "builtin:iris", "--report", page).code == 0
    words = told(page)
    for name in ("setosa", "versicolor", "virginica"):
        assert f"{name} against the rest" in words


def test_spanish_all_through(shop):
    page = shop / "es.html"
    said = cotas(
        *("fit", shop / "shop.csv", "--target", "bought", "--select", "lam"),
        *("--report", page, "--lang", "es"),
    )
    assert said.code == 0, said.err
    # The folded numbers are those of the certificate itself, which speaks English.
    # The command is what was typed, in any language.
    unfolded = re.sub(
        r"<details>.*?</details>|<pre>.*?</pre>", "", page.read_text(), flags=re.DOTALL
    )
    words = " ".join(Outline(unfolded).words).lower()
    for english in ("training", "column ", "rows", "loss", "share", "missing in", "never changes"):
        assert english not in words, re.findall(f".{{0,60}}{english}.{{0,60}}", words)
    for spanish in ("certificado", "demostrado", "columna «shop_id»", "pérdida", "márgenes"):
        assert spanish in words, spanish


def test_a_report_that_cannot_be_written_leaves_the_old_one(shop, monkeypatch):
    page = shop / "old.html"
    page.write_text("the old report")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    said = cotas("fit", shop / "shop.csv", "--target", "bought", "--report", page)
    assert said.code != 0
    assert "No space left" in said.err
    assert page.read_text() == "the old report"
    assert [p.name for p in shop.iterdir() if p.name.endswith(".tmp")] == []


@pytest.mark.parametrize(("model", "asks"), [("svm", True), ("adaboost", False)])
def test_a_margin_of_one_is_asked_for_by_those_who_ask_for_it(shop, model, asks):
    page = shop / "margin.html"
    said = cotas("fit", shop / "shop.csv", "-t", "bought", "-m", model, "--report", page)
    assert said.code == 0, said.err
    assert ("the margin that the training asks for" in told(page)) == asks
    assert ("one standard deviation" in told(page)) == (model == "svm")


def test_the_coefficients_of_every_class_are_shown(tmp_path):
    """Also where one proof is about all classes together."""
    for model in ("svm", "logistic"):
        said = cotas("fit", "builtin:iris", "--model", model, "--report", tmp_path / "r.html")
        assert said.code == 0, said.err
        page = (tmp_path / "r.html").read_text("utf-8")
        assert page.count('<table class="bars">') == 3
        assert str(tmp_path) not in page


def test_the_picture_of_the_proof_is_of_the_worst_class():
    X, y = load_iris(return_X_y=True)
    watcher = Watcher(Session("fit"), "svm")
    model = library.LinearSVM(callbacks=watcher.callback).fit(X, y)
    assert watcher.trace[-1][1] == pytest.approx(model.certificate_.relative_gap)


def test_a_blend_that_was_typed_was_not_chosen(shop):
    page, blend = shop / "blend.html", "0.25*logistic(lam=0.01) + 0.75*svm(lam=0.01)"
    said = cotas("fit", shop / "shop.csv", "-t", "bought", "-m", blend, "--report", page)
    assert said.code == 0, said.err
    words = told(page)
    assert "by a blend of 2 models." in words
    assert "Of each of its models it is proved" in words
    assert "weight of logistic (lam=0.01)" in words
    assert "It was chosen" not in words
    assert "against the rest" not in words
