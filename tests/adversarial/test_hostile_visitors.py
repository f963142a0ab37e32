"""Visitors of the lab who bring what it cannot use: a message, never a traceback."""

import base64
import json
import zlib

import numpy as np
import pytest

pytest.importorskip("panel")
from cotas import lab
from cotas.lab import foreign, points, tables
from cotas.lab.state import Refused

EVIL = "<script>alert(1)</script>"


def packed(content):
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(content).encode())).decode()


TABLES = {
    "100,000 rows": b"a,b,c\n" + b"1.5,2.5,x\n" * 100_000,
    "many rows, few bytes": b"a,b,c\n" + b"1,2,x\n2,1,y\n" * 2_000,
    "one class": b"a,b,c\n1,2,x\n3,4,x\n5,6,x\n",
    "NaN": b"a,b,c\n1,2,x\nNaN,4,y\n5,6,x\n",
    "missing": b"a,b,c\n1,2,x\n,4,y\n5,6,x\n",
    "infinite": b"a,b,c\n1,2,x\n1e999,4,y\n5,6,x\n",
    "words only": b"a,b,c\nu,v,x\nw,z,y\n",
    "empty": b"\n",
    "one column": b"a\n1\n2\n",
    "ragged": b"a,b,c\n1,2\n3,4,5,6\n",
    "no text": bytes(range(256)) * 4,
    "a missing class": b"a,b,c\n1,2,x\n3,4,\n5,6,y\n",
    "twenty classes": b"a,b,c\n" + b"".join(b"%d,%d,k%d\n" % (k, k, k % 20) for k in range(200)),
}


@pytest.fixture(scope="module")
def room():
    return lab.Boundary(link={"data": "groups", "model": "LinearSVM"})


@pytest.mark.parametrize("table", TABLES)
def test_a_file_that_is_no_use_gets_a_message(room, table):
    before = room.answer
    room.load(TABLES[table])
    assert 'role="alert"' in room.message.object
    assert room.answer is before
    room.set("lam", 0.1 if room.values["lam"] != 0.1 else 1.0)  # and the room goes on as it was
    assert not room.message.visible


@pytest.mark.parametrize("table", ["100,000 rows", "NaN", "empty", "no text", "words only"])
@pytest.mark.parametrize("read", [tables.of_numbers, tables.from_csv])
def test_tables_of_numbers_are_refused_too(read, table):
    with pytest.raises(Refused):
        read(TABLES[table])


def test_labels_and_names_are_text_and_nothing_else():
    table = f"{EVIL},b,c\n" + "".join(
        f"{k},{k % 3},{EVIL if k % 2 else 'good'}\n" for k in range(12)
    )
    room = lab.Boundary(link={"model": "LinearSVM"})
    room.set("data", "own")
    room.load(table.encode())
    assert not room.message.visible
    assert sorted(map(str, room.points.classes)) == sorted([EVIL, "good"])
    shown = room.proof.object + room.legend.object + room._code.object
    assert EVIL not in shown
    assert "&lt;script&gt;" in room.legend.object


@pytest.mark.parametrize("name", lab.ROOMS)
def test_a_malformed_link_gets_a_message_and_the_defaults(name, monkeypatch):
    monkeypatch.setattr(foreign, "SECONDS_OF_REFITS", 0.0)
    kind = getattr(lab, lab.ROOMS[name])
    words = (EVIL, "", "nan", "1e999", "-1", "\x00", "9" * 5000, "[]", "true")
    first = kind.FIELDS[0]
    for word in words:
        if isinstance(first, foreign.ModelField) or word not in getattr(first, "options", ()):
            with pytest.raises(Refused):
                first.read(word)
    link = {field.name: EVIL for field in kind.FIELDS}
    room = kind(link={**link, "unknown": EVIL, EVIL: "1"})
    assert room.values == {field.name: field.default for field in kind.FIELDS}
    assert room.message.object.count('role="alert"') == len(kind.FIELDS) + 2
    assert EVIL not in room.message.object
    assert room.answer is not None


PLANE = [[0, 0], [1, 1], [2, 0], [3, 1]]
LINKS = {
    "no base64": "***",
    "no zlib": base64.urlsafe_b64encode(b"hello").decode(),
    "no JSON": base64.urlsafe_b64encode(zlib.compress(b"{")).decode(),
    "a bomb": base64.urlsafe_b64encode(zlib.compress(b"[" * 50_000_000, 9)).decode(),
    "one class": packed([PLANE, [1, 1, 1, 1], [], [], ["a", "b"]]),
    "NaN": packed([[[0, float("nan")], [1, 1]], [0, 1], [], [], ["a", "b"]]),
    "three coordinates": packed([[[0, 0, 0], [1, 1, 1]], [0, 1], [], [], ["a", "b"]]),
    "labels of two kinds": packed([PLANE, [0, "1", 0, "1"], [], [], ["a", "b"]]),
    "labels that are lists": packed([PLANE, [[0], [1], [0], [1]], [], [], ["a", "b"]]),
    "too few labels": packed([PLANE, [0, 1], [], [], ["a", "b"]]),
    "huge whole numbers": packed([PLANE, [0, 10**30, 0, 1], [], [], ["a", "b"]]),
    "no axes": packed([PLANE, [0, 1, 0, 1], [], []]),
    "too many": packed([PLANE * 300, [0, 1, 0, 1] * 300, [], [], ["a", "b"]]),
    "an object": packed({"X": 1}),
}


@pytest.mark.parametrize("link", LINKS)
def test_points_of_a_link_that_are_none_get_a_message(link):
    with pytest.raises(Refused):
        points.PointsField("points", None).read(LINKS[link])


def test_other_points_than_those_of_the_sample_are_taken_from_the_link():
    link = packed([PLANE, ["u", "v", "u", "v"], [], [], ["a", "b"]])
    room = lab.Boundary(link={"data": "moons", "model": "LinearSVM", "points": link})
    assert not room.message.visible
    assert room.points.X.tolist() == PLANE


@pytest.mark.parametrize(
    "written",
    [
        "__import__('os').system('true')",
        "SVC(__import__('os'))",
        "SVC(C=(lambda: 1)())",
        "SVC(C=",
        "SVC",
        "SVC().fit",
        "Pipeline(steps=[])",
        "SVC(**{'C': 1})",
        "LogisticRegression(max_iter=10000000000)",
        "LogisticRegression(n_jobs=-1)",
        "SVC(bogus=1)",
        "(" * 500,
        EVIL,
    ],
)
def test_only_models_can_be_written(written):
    with pytest.raises(Refused):
        foreign.parse(written)


def test_a_model_that_scikit_learn_refuses_gets_its_message(monkeypatch):
    monkeypatch.setattr(foreign, "SECONDS_OF_REFITS", 0.0)
    room = lab.Done(link={"written": "Ridge(alpha=-1)", "table": "diabetes"})
    assert "alpha" in room.message.object
    room = lab.Done(link={"written": "Ridge(alpha=1.0)", "table": "wine"})
    assert room.answer is not None
    room.write("SVC(C=1)")
    room.set("table", "diabetes")
    assert 'role="alert"' in room.message.object


def test_points_that_nothing_can_be_made_of():
    room = lab.Boundary(link={"data": "groups", "model": "LinearSVM"})
    n = len(room.points.X)
    for column in ([None] * n, ["x"] * n, [float("inf")] * n):
        room._moved("data", None, {**room.source.data, "x": column})
        assert 'role="alert"' in room.message.object
    room._moved("data", None, {key: [] for key in room.source.data})
    assert 'role="alert"' in room.message.object
    room.move(0, 1e300, -1e300)
    assert room.message.visible or np.isfinite(room.answer.model.certificate_.upper)
    for row in (-1, n, 10**9):
        room.move(row, 0.0, 0.0)
        room.remove(row)


def test_a_hard_margin_that_there_is_not_is_told_with_its_proof():
    room = lab.Boundary(link={"data": "moons", "model": "LinearSVM", "margin": "hard"})
    assert "Proved" in room.message.object
