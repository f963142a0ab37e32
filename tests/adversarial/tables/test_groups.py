"""Rows that belong together are one draw in everything that is said with an interval."""

import numpy as np
import pytest

from cotas.preparation.quality import Intervals, quality_of_classes, quality_of_numbers
from terminal import cotas, customers

CLASSES = np.array([0, 1])


def measured(truth, said, scores, copies=1):
    """All that is measured of classes and of numbers, each row there so many times, as a group."""
    rows = np.repeat(np.arange(len(truth)), copies)
    chances = np.column_stack([1 - scores, scores])[rows]
    pair, groups = (truth[rows], said[rows]), rows if copies > 1 else None
    classes = quality_of_classes(*pair, scores[rows], CLASSES, truth, 0.95, chances, groups)
    numbers = quality_of_numbers(
        *(each.astype(float) for each in (truth[rows], scores[rows], truth)), groups=groups
    )
    told = {f"class {c.label} {k}": getattr(c, k) for c in classes.classes for k in ("recall",)}
    return classes.measures | numbers.measures | told, (classes, numbers)


def test_copies_of_the_rows_make_no_interval_narrower():
    """Counted as single rows they would make each interval a third of what it is."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 120)
    scores = np.clip(0.3 * truth + 0.7 * rng.random(120), 0, 1)
    said = (scores > 0.5).astype(int)
    # Rows are left out in the order of the scores where there are no groups.
    order = np.argsort(scores)
    once, judged = measured(truth[order], said[order], scores[order])
    often, again = measured(truth[order], said[order], scores[order], copies=9)
    for name, one in once.items():
        assert often[name].value == pytest.approx(one.value)
        width = often[name].high - often[name].low
        assert width == pytest.approx(one.high - one.low, rel=0.1), name
    assert [q.groups for q in again] == [120, 120]
    assert [q.verdict for q in again] == [q.verdict for q in judged]


@pytest.mark.parametrize("alike", [0.0, 0.6, 1.0])
def test_intervals_of_groups_hold_what_they_promise(alike):
    """Whether the rows of a group err together or not, nineteen in twenty have the truth."""
    rng = np.random.default_rng(1)
    groups, missed, repeats = np.repeat(np.arange(40), 8), 0, 200
    for _ in range(repeats):
        together = rng.random(40)[groups]
        chance = np.where(rng.random(40)[groups] < alike, together, rng.random(320))
        found = Intervals(0.95, groups).share(chance < 0.3)
        missed += not found.low <= 0.3 <= found.high
    assert missed <= 0.08 * repeats


def test_the_verdict_counts_groups():
    """Thirty rows of one patient prove no more than one does."""
    gain = np.repeat([1, -1, 1, 1, -1], [30, 10, 10, 10, 10])
    assert Intervals(0.95).verdict(gain) == "better"
    assert Intervals(0.95, np.repeat(np.arange(5), [30, 10, 10, 10, 10])).verdict(gain) == "unclear"


@pytest.mark.parametrize("sizes", [[5], [1, 9], [4, 4], [1] * 10])
def test_few_groups_give_wide_intervals_or_none(sizes):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for marks in (np.zeros(len(groups), bool), np.ones(len(groups), bool), groups == 0):
        found, plain = Intervals(0.95, groups).share(marks), Intervals(0.95).share(marks)
        if len(sizes) == 1:
            assert found.low is None
        else:
            assert found.low <= plain.low <= plain.value <= plain.high <= found.high


@pytest.mark.parametrize("target", ["bought", "age"])
@pytest.mark.parametrize("lang", ["en", "es"])
def test_what_is_said_of_groups_is_so(tmp_path, target, lang):
    frame = customers(60)
    frame = (
        frame.select(frame.columns)
        .with_row_index("person")
        .sample(240, with_replacement=True, seed=0)
    )
    path, page = tmp_path / "t.csv", tmp_path / "t.html"
    frame.write_csv(path)
    words = ("fit", path, "-t", target, "--group", "person", "--lang", lang)
    said = cotas(*words, "--report", page)
    document = cotas(*words, "--json").document
    quality = document["quality"]
    assert 3 <= quality["groups"] < quality["rows"] == document["hold_out"]["rows"]
    counted = f"{quality['groups']} {'groups' if lang == 'en' else 'grupos'}"
    assert counted in said.out
    assert counted in page.read_text()


@pytest.mark.parametrize("marks", [[True, False], [True, True], [True]])
def test_a_single_group_tells_its_share_and_no_interval(marks):
    marks = np.array(marks)
    found = Intervals(0.95, np.zeros(5, dtype=int)).share(marks, slice(None, len(marks)))
    assert found.value == marks.mean()
    assert (found.low is None) == (len(marks) > 1)


@pytest.mark.parametrize(("groups", "verdict"), [(2, "unclear"), (4, "unclear"), (5, "better")])
def test_a_few_groups_that_agree_are_no_proof_of_a_gain(groups, verdict):
    codes = np.repeat(np.arange(groups), 3)
    assert Intervals(0.95, codes).verdict(np.ones(3 * groups, dtype=int)) == verdict


def test_a_report_of_groups_is_drawn(tmp_path):
    """Parts of the calibration that are a single group have no interval to draw."""
    rng = np.random.default_rng(0)
    g = np.repeat(np.arange(30), 20)
    age = rng.normal(50, 15, 30)[g]
    ill = np.where(age + rng.normal(0, 9, 600) > 50, "yes", "no")
    lines = [f"p{who},{years:.3f},{word}" for who, years, word in zip(g, age, ill, strict=True)]
    table = tmp_path / "visits.csv"
    table.write_text("\n".join(["patient,age,ill", *lines]))
    given = ("--target", "ill", "--group", "patient", "--model", "logistic")
    done = cotas("fit", table, *given, "--report", tmp_path / "r.html")
    assert done.code == 0, done.err
    assert (tmp_path / "r.html").stat().st_size > 1000
