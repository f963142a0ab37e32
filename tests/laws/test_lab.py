"""What holds in every room of the lab, without a browser."""

import contextlib
import html
import io
import math
import re
import subprocess
import sys
import threading
import time
import types
from dataclasses import replace
from urllib.parse import parse_qsl

import numpy as np
import pytest

import cotas

pytest.importorskip("panel")
from sklearn.datasets import load_breast_cancer

from cotas import lab
from cotas.certificates.presentation import percent
from cotas.lab import apart, foreign, tables
from cotas.lab.done import ENDED
from cotas.lab.points import Points
from cotas.lab.proof import card
from cotas.lab.state import Menu, Refused, Slider, read_link, write_link
from cotas.lab.steps import numbers_of
from cotas.lab.worker import LabTask, Worker
from cotas.words import spanish

# What answers soon in each room.
SOON = {
    "penalty": {"part of": "lasso"},
    "done": {"written": "Ridge(alpha=1.0)", "table": "diabetes"},
}
MAGIC = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}


def rooms():
    return {name: getattr(lab, kind) for name, kind in lab.ROOMS.items()}


@pytest.fixture(scope="module")
def opened():
    """Each room, opened once."""
    return {name: room(lang="es", link=SOON.get(name)) for name, room in rooms().items()}


@pytest.mark.parametrize("name", lab.ROOMS)
def test_a_room_answers_and_its_code_computes_the_same(opened, name):
    room = opened[name]
    assert not room.message.visible, room.message.object
    there = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(room.code(), there)
    import matplotlib.pyplot as plt

    plt.close("all")
    if name == "steps":
        assert np.array_equal(there["step"].theta, room.answer.step.theta)
    else:
        model = {"boundary": "model", "boosting": "model", "descent": "model", "done": "model",
                 "penalty": "there"}[name]  # fmt: skip
        shown = {
            "boundary": lambda: room.answer.model.certificate_,
            "boosting": lambda: room.answer.model.certificate_,
            "descent": lambda: room.answer.model.certificate_,
            "penalty": lambda: room.answer.fitted.certificate_,
            "done": lambda: room.answer.judged.certificate,
        }[name]()
        found = there[model]
        certificate = (
            cotas.certify(found, there["X"], there["y"]) if name == "done" else found.certificate_
        )
        assert (certificate.lower, certificate.upper) == (shown.lower, shown.upper)
        assert printed.getvalue()


OTHERS = {"penalty": {"classes": "overlap"}, "done": {"written": "Ridge()"}}


def every_option():
    """A room for each option of each choice, and one for all the options that are given anyway."""
    for name, room in rooms().items():
        choices = [field for field in room.FIELDS if isinstance(field, Menu)]
        usual = {field.name: field.default for field in choices} | OTHERS.get(name, {})
        yield pytest.param(name, usual, id=name)
        for field in choices:
            for word in set(field.options) - {usual[field.name]}:
                changed = {**usual, field.name: word}
                yield pytest.param(name, changed, id=f"{name}-{field.name}-{word}")


@pytest.mark.parametrize(("name", "link"), sorted(every_option(), key=lambda given: given.id))
def test_every_option_has_an_answer_and_a_code_that_can_be_read(name, link, monkeypatch):
    monkeypatch.setattr(foreign, "SECONDS_OF_REFITS", 0.0)
    room = rooms()[name](link=link, lang="es")
    assert not room.message.visible, room.message.object
    compile(room.code(), name, "exec")


@pytest.mark.parametrize("name", lab.ROOMS)
def test_pictures_are_saved_in_each_format(opened, name):
    for form in MAGIC if name == "boundary" else ("svg",):
        assert opened[name].saved(form).read().startswith(MAGIC[form])


@pytest.mark.parametrize("name", lab.ROOMS)
def test_a_link_restores_the_state(name):
    fields, rng = rooms()[name].FIELDS, np.random.default_rng(0)
    for _ in range(20):
        values = {field.name: field.default for field in fields}
        for field in fields:
            if isinstance(field, Menu):
                values[field.name] = str(rng.choice([*field.options]))
            elif isinstance(field, Slider):
                values[field.name] = field.grid[rng.integers(len(field.grid))]
        again, problems = read_link(fields, dict(parse_qsl(write_link(fields, values))))
        assert again == values
        assert problems == []


def test_points_that_were_moved_are_restored_bit_by_bit():
    room = lab.Boundary(link={"data": "groups", "model": "LinearSVM"})
    room.move(3, 1 / 3, -2e-5)
    again = lab.Boundary(link=dict(parse_qsl(write_link(room.FIELDS, room.values))))
    assert np.array_equal(again.points.X, room.points.X)
    assert np.array_equal(again.points.y, room.points.y)
    assert again.answer.model.certificate_.upper == room.answer.model.certificate_.upper
    there = {}
    exec(room.code().replace("print", "str"), there)
    assert there["model"].certificate_.upper == room.answer.model.certificate_.upper
    assert room.answer.errors[1] == np.mean(
        there["model"].predict(room.points.X_new) != room.points.y_new
    )


@pytest.mark.parametrize("name", lab.ROOMS)
def test_every_name_of_a_room_and_of_its_settings_is_in_the_catalogue(name):
    room = rooms()[name]
    said = {room.short, room.title, room.lead, getattr(room, "CSV", "")}
    for field in room.FIELDS:
        said |= {getattr(field, "label", "")}
        if isinstance(field, Menu) and field.name != "model":  # its options are names of classes
            said |= set(field.options.values())
    assert {text for text in said if re.search(r"[a-z]{3}", text)} <= set(spanish())


def test_every_step_has_the_numbers_of_the_trace():
    run = list(cotas.trace(cotas.Perceptron(max_iter=20), *_groups()))
    for at in (1, 4):
        room = lab.Steps(link={"procedure": "perceptron", "data": "groups", "at": str(at)})
        assert np.array_equal(room.answer.step.theta, run[at - 1].theta)
        assert room.answer.step.line == run[at - 1].line
        assert f"{run[at - 1].margin:.6g}" in room.proof.object


def test_the_page_of_an_algorithm_shows_what_is_inside_its_loops():
    room = lab.Steps(link={"procedure": "perceptron", "at": "1"}, lang="es")
    algorithm, page = room.answer.run.trace.algorithm, room.page.object
    assert algorithm.author in page
    for line in algorithm.lines:
        assert f"{line.number:>3}  {'  ' * line.depth}{html.escape(line.spanish)}</span>" in page


def _groups():
    from cotas.experiments.samples import two_groups

    return two_groups(0, n=40)


def test_back_and_step_move_within_the_run():
    room = lab.Steps(link={"procedure": "perceptron", "at": "1"})
    room.go(-1)
    assert room.answer.step is None
    room.go(-1)
    assert room.values["at"] == 0
    room.go(10_000)
    assert type(room.answer.step).__name__ == "Return"
    assert room.answer.run.trace.model.certificate_.holds


@pytest.mark.parametrize("way", ["gradient", "stochastic", "mini-batch"])
def test_a_descent_that_runs_away_is_shown_and_its_code_runs(way):
    room = lab.Descent(link={"way": way, "pace": "2.3"})
    assert not room.message.visible, room.message.object
    assert room.answer.flight
    assert room.answer.objectives[-1] > room.answer.objectives[0]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(room.code(), {})
    assert printed.getvalue()
    assert room.saved("svg").read().startswith(MAGIC["svg"])


def test_the_newest_work_wins_and_what_it_overtook_is_forgotten():
    delivered, done = [], threading.Event()
    worker = Worker(lambda function: function(), threaded=True)
    begun = threading.Event()

    def slow(task):
        begun.set()
        while not task.watch(None):
            time.sleep(0.001)
        return "old"

    def finish(outcome):
        delivered.append(outcome)
        done.set()

    worker.submit(slow, finish)
    assert begun.wait(10)
    worker.submit(lambda task: "forgotten", finish)
    worker.submit(lambda task: "new", finish)
    assert done.wait(10)
    assert delivered == ["new"]


def test_a_fit_of_another_library_is_ended_by_a_newer_change():
    delivered, begun, done = [], threading.Event(), threading.Event()
    worker = Worker(lambda function: function(), threaded=True)
    endless = foreign.parse('SVC(kernel="linear", C=1000000)')

    def slow(task):
        begun.set()
        return apart.run(task, foreign.judge, endless, tables.builtin("breast-cancer"))

    def quick(task):
        return apart.run(task, foreign.judge, foreign.parse("Ridge()"), tables.builtin("diabetes"))

    def finish(outcome):
        delivered.append(outcome)
        done.set()

    worker.submit(slow, finish)
    assert begun.wait(10)
    worker.submit(quick, finish)
    assert done.wait(120)
    assert [judged.certificate.holds for judged in delivered] == [True]


def test_work_in_another_process_is_ended_in_time_and_its_errors_come_back(monkeypatch):
    with pytest.raises(apart.ProcessEnded):
        apart.run(LabTask(), time.sleep, 1e6, seconds=0.1)
    with pytest.raises(ZeroDivisionError):
        apart.run(LabTask(), divmod, 1, 0)
    assert apart.run(LabTask(), divmod, 7, 2) == (3, 1)
    only_here = types.ModuleType("only_here")
    exec("def answer(): pass", only_here.__dict__)
    monkeypatch.setitem(sys.modules, "only_here", only_here)
    with pytest.raises(ModuleNotFoundError, match="only_here"):  # found when it is unpickled
        apart.run(LabTask(), only_here.answer)
    raised = "import xmlrpc.client as c; raise c.ProtocolError('here', 404, 'lost', {})"
    with pytest.raises(RuntimeError, match="ProtocolError"):  # it pickles one way only
        apart.run(LabTask(), exec, raised)


def test_processes_that_were_ended_while_they_waited_are_not_asked():
    assert apart.run(LabTask(), divmod, 7, 2) == (3, 1)
    for process in apart._idle:
        process.kill()
        process.wait()
    assert apart.run(LabTask(), divmod, 7, 2) == (3, 1)


def test_a_process_that_the_system_ended_is_told_of(monkeypatch):
    with pytest.raises(apart.ProcessEnded):
        apart.run(LabTask(), exec, "import os; os._exit(9)")

    def ended(*given):
        raise apart.ProcessEnded

    monkeypatch.setattr(apart, "run", ended)
    room = lab.Done(link={"written": "Ridge()", "table": "diabetes"})
    assert ENDED in room.message.object


def test_python_ends_though_a_fit_of_another_library_does_not():
    program = """
import threading, time
from cotas.lab import apart
from cotas.lab.worker import Worker
begun = threading.Event()
def work(task):
    begun.set()
    return apart.run(task, time.sleep, 1e6)
Worker(print, threaded=True).submit(work, print)
begun.wait()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_what_was_ended_on_the_way_is_not_kept(opened):
    work, ended = opened["boosting"].kept("key", lambda _: object()), LabTask()
    ended.overtake()
    first, second = work(ended), work(LabTask())
    assert second is not first
    assert work(LabTask()) is second


def test_points_are_added_moved_and_removed_by_keyboard():
    room = lab.Boundary(link={"data": "groups", "model": "LinearSVM"})
    count = len(room.points.X)
    room.label.value = 1
    room.add(1.0, 2.0)
    assert room.points.X[-1].tolist() == [1.0, 2.0]
    assert room.points.y[-1] == room.points.classes[1]
    room.move(count, 3.0, 4.0)
    assert room.answer.points.X[-1].tolist() == [3.0, 4.0]
    room.remove(count)
    assert len(room.answer.points.X) == count
    room.add(np.nan, 2.0)
    assert room.message.visible
    assert len(room.points.X) == count


def test_an_error_in_the_work_is_handed_over():
    found = []
    worker = Worker(lambda function: function(), threaded=False)
    worker.submit(lambda task: 1 / 0, found.append)
    assert isinstance(found[0], ZeroDivisionError)


@pytest.mark.parametrize("offset", [0.0, 1e9, -1e15])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_points_keep_their_digits_wherever_they_lie(offset, scale):
    rng = np.random.default_rng(0)
    X = offset + scale * rng.normal(size=(20, 2))
    y = np.arange(20) % 2
    with contextlib.suppress(Refused):
        points = Points(X, y, X[:0], y[:0]).moved(X, y)
        spread = np.ptp(X, axis=0)
        assert (np.abs(points.X - X) <= 1e-4 * spread + 1e-15 * np.abs(X)).all()


@pytest.mark.parametrize("model", ["LinearSVM", "KernelSVM"])
def test_the_bars_of_several_classes_are_those_of_one_part(model):
    from cotas.lab.proof import _of_the_part, worst_part

    answer = lab.Boundary(lang="es", link={"data": "iris", "model": model}).answer
    worst = worst_part(answer.model.certificate_)
    told = _of_the_part(worst, answer.reports)
    assert 0 < len(told) < len(answer.reports)
    assert any((one.lower, one.upper) == (worst.lower, worst.upper) for one in told)


@pytest.mark.parametrize("lang", ["en", "es"])
def test_a_wide_gap_gets_no_tick(lang):
    near = cotas.LinearSVM().fit(*load_breast_cancer(return_X_y=True)).certificate_
    far = replace(near, lower=0.77 * near.upper)
    for proof, state in ((near, "holds"), (far, "open")):
        with cotas.lang(lang):
            shown = card(proof)
        assert f'<div class="card {state}">' in shown
        assert percent(proof.relative_gap) in shown


@pytest.mark.parametrize("written", ["SVC(C=1)", "Lasso(alpha=0.5)"])
def test_the_axis_is_called_what_is_varied_before_the_page_is_drawn(written, monkeypatch):
    monkeypatch.setattr(lab.Done, "show", lambda *_: None)
    room = lab.Done(link={"written": written})
    assert room.chart.figure.xaxis[0].axis_label == room.answer.over


def test_every_example_can_be_picked_also_the_first():
    room = lab.Done(link={"written": "Ridge(alpha=1.0, tol=1e-3)", "table": "diabetes"})
    assert room.example.value == ""
    for example in ("Lasso(alpha=0.5)", "Ridge(alpha=1.0)"):
        room.example.value = example
        assert room.answer.written == room.values["written"] == example
    room.written.value = "Lasso(alpha=0.25)"
    assert room.example.value == ""


def test_a_model_of_which_nothing_is_varied_has_a_picture_too(monkeypatch):
    monkeypatch.setattr(foreign, "SECONDS_OF_REFITS", 0.0)
    for written in ("Ridge(alpha=1.0)", "Perceptron()"):
        room = lab.Done(link={"written": written})
        assert room.answer.refits == []
        assert room.saved("svg").read().startswith(MAGIC["svg"])


def test_iterations_are_written_in_full(monkeypatch):
    monkeypatch.setattr(foreign, "SECONDS_OF_REFITS", 0.0)
    room = lab.Done(link={"written": 'SVC(kernel="linear", C=1)'})
    made = int(np.max(room.answer.judged.model.n_iter_))
    assert made > 10**6
    assert f"{made:,}" in room.proof.object


def test_the_letters_of_adaboost_are_those_of_the_page():
    X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [1, 1, -1, -1, 1, -1]
    first = next(iter(cotas.trace(cotas.AdaBoost(n_estimators=1), X, y)))
    shown = numbers_of(first)
    error, c = float(shown["errₘ"]), float(shown["cₘ"])
    assert math.isclose(c, math.log((1 - error) / error), rel_tol=1e-4)
