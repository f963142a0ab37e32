"""The lab as a visitor has it: in a real browser, with a real mouse."""

import time
from itertools import islice
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

import cotas
from browser import NEEDED, chromium, drag, mouse, requests, resize
from cotas.certificates.presentation import bounds_in_digits
from cotas.experiments.samples import two_groups
from visits import until, visit

pytest.importorskip("panel")
from cotas import lab
from cotas.lab import foreign
from cotas.words import lang as speaking
from cotas.words import say

pytestmark = NEEDED
# What answers soon, where the usual state of a room takes seconds.
SOON = {"penalty": "part of=lasso", "done": "written=Ridge(alpha=1.0)&table=diabetes"}

# Moves a point as the tool does, and tells after how many milliseconds the boundary followed.
MOVE = """
const [row, done] = arguments, source = model("points");
const line = model("line").properties.data.change;
const began = performance.now(), x = Array.from(source.data.x);
const seen = () => { line.disconnect(seen); done(performance.now() - began); };
line.connect(seen);
x[row] += 0.1;
source.setv({data: {...source.data, x}}, {check_eq: false});
"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="module")
def address():
    foreign.SECONDS_OF_REFITS, before = 0.2, foreign.SECONDS_OF_REFITS
    found = []
    server = lab.serve(browser=False, threaded=True, port=None, tell=found.append)
    yield found[0]
    server.stop()
    foreign.SECONDS_OF_REFITS = before


def quiet(browser, address):
    """No complaint in the console, and nothing asked of another machine."""
    said = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert said == []
    asked = requests(browser)
    assert asked
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


@pytest.mark.parametrize("room", lab.ROOMS)
def test_each_room_opens_in_both_languages_on_a_desk_and_a_telephone(browser, address, room):
    for spoken, size in (("en", (1280, 900)), ("es", (390, 844))):
        visit(browser, address, room, f"lang={spoken}&{SOON.get(room, '')}", size)
        page = browser.execute_script("return said()")
        with speaking(spoken):
            assert say(getattr(lab, lab.ROOMS[room]).title) in page
            assert say("Show the code") in page
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= size[0]
        quiet(browser, address)


def test_the_entrance_leads_to_every_room(browser, address):
    resize(browser, 1280, 900)
    browser.get(f"{address}?lang=es&theme=light")
    links = browser.execute_script(
        "return [...document.querySelectorAll('.rooms a')].map(a => a.pathname)"
    )
    assert links == [f"/{room}" for room in lab.ROOMS]
    quiet(browser, address)


def test_a_point_that_is_moved_changes_what_a_direct_call_says(browser, address):
    visit(browser, address, "boundary", "data=groups&model=LinearSVM&lam=1")
    before = browser.execute_script("return said()")
    row = 0
    x, y = browser.execute_script(
        "const d = model('points').data; return [d.x[arguments[0]], d.y[arguments[0]]]", row
    )
    start = browser.execute_script("return place(arguments[0], arguments[1])", x, y)
    drag(browser, start, (start[0] - 120, start[1] + 60))
    link = until(lambda: _moved_link(browser))
    until(lambda: browser.execute_script("return said()") != before)
    time.sleep(0.5)  # for the last state of the drag
    link = _moved_link(browser)

    room = lab.Boundary(link=link)
    X, labels = room.points.X, room.points.y
    assert not np.allclose(X[row], (x, y))
    model = cotas.LinearSVM(lam=1.0).fit(X, labels)
    proof = browser.execute_script("return said()")
    assert all(digits in proof for digits in bounds_in_digits(model.certificate_))
    rings = browser.execute_script("const d = model('rings').data; return [[...d.x], [...d.y]]")
    assert np.allclose(np.transpose(rings), X[model.support_])
    lines = browser.execute_script(
        "const d = model('line').data; return [[...d.xs].map(a => [...a]), "
        "[...d.ys].map(a => [...a])]"
    )
    for xs, ys in zip(*lines, strict=True):
        scores = model.decision_function(np.transpose([xs, ys]))
        assert np.abs(scores).max() < 1e-9 * np.abs(model.decision_function(X)).max()
    quiet(browser, address)


def test_how_long_it_takes_to_move_one_of_200_points(browser, address, record_property):
    visit(browser, address, "boundary", "data=clouds&model=LinearSVM&lam=0.1")
    browser.set_script_timeout(120)
    took = [browser.execute_async_script(MOVE, row) for row in range(10)]
    record_property("milliseconds to move one of 200 points", sorted(took)[5])
    quiet(browser, address)


def _moved_link(browser):
    link = dict(parse_qsl(urlsplit(browser.current_url).query))
    link.pop("lang", None), link.pop("theme", None)
    return link if "points" in link else None


def test_a_step_shows_the_numbers_of_the_trace(browser, address):
    visit(browser, address, "steps", "procedure=perceptron&data=groups&at=1")
    run = list(islice(cotas.trace(cotas.Perceptron(max_iter=20), *two_groups(0, n=40)), 4))
    for step in run[1:]:
        press(browser, "Step")
        until(lambda n=step.number: f"Step {n} of" in browser.execute_script("return said()"))
        page = browser.execute_script("return said()")
        assert f"{step.margin:.6g}" in page
        marked = browser.execute_script("return deep('.now').map(e => e.textContent.trim())")
        lines = [" ".join(text.split()) for text in marked]  # indented as on the page
        assert lines == [" ".join(f"{line.number}  {line.text()}".split()) for line in step.lines]
    quiet(browser, address)


def press(browser, label):
    """Click a button by what stands on it."""
    x, y = browser.execute_script(
        "const b = deep('button').find(b => b.textContent.includes(arguments[0]));"
        "b.scrollIntoView({block: 'center'}); const r = b.getBoundingClientRect();"
        "return [r.left + r.width / 2, r.top + r.height / 2]",
        label,
    )
    mouse(browser, "Pressed", x, y)
    mouse(browser, "Released", x, y, buttons=0)


def test_a_file_with_a_script_for_a_label_is_shown_as_text(browser, address, tmp_path):
    visit(browser, address, "boundary", "data=own&model=LinearSVM")
    file, evil = tmp_path / "mine.csv", "<script>window.evil = 1</script>"
    rows = "".join(f"{k},{k % 3},{evil if k % 2 else '<b>good</b>'}\n" for k in range(20))
    file.write_text(f"<img src=x onerror='window.evil=1'>,second,class\n{rows}")
    browser.execute_script("return deep('input[type=file]')[0]").send_keys(str(file))
    until(lambda: evil in browser.execute_script("return said()"))
    assert browser.execute_script("return window.evil === undefined")
    assert browser.execute_script("return deep('.legend b').length") == 0
    quiet(browser, address)


def test_two_visitors_do_not_see_each_other(browser, address):
    visit(browser, address, "boundary", "data=groups&model=LinearSVM")
    here = browser.execute_script("return [...model('points').data.x]")
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    visit(browser, address, "boundary", "data=groups&model=LinearSVM")
    start = browser.execute_script("const d = model('points').data; return place(d.x[1], d.y[1])")
    drag(browser, start, (start[0] + 40, start[1] + 40))
    until(lambda: _moved_link(browser))
    browser.close()
    browser.switch_to.window(first)
    assert browser.execute_script("return [...model('points').data.x]") == here
