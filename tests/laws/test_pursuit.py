"""How a solver is followed, whatever it solves."""

import time
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

import cotas
from cotas.certificates import Certificate
from cotas.fitting.pursuit import Pursuit, end_of_share
from cotas.refusals import ParameterTypeError
from cotas.running import Monitor
from cotas.solvers.iterate import Iterate
from cotas.stops import Reason, Stop
from errors import refuses

X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
SOME = cotas.LinearSVM(tol=0.1).fit(X, y).certificate_.singles[0]


@dataclass(frozen=True)
class Measured:
    certificate: Certificate
    of: Iterate


def check(iterate):
    """An iterate whose model is its relative gap."""
    lower = SOME.upper * (1 - iterate.model)
    return Measured(replace(SOME, lower=lower), iterate)


def halving(known=True):
    gap = 1.0
    while True:
        gap /= 2
        yield Iterate(gap, None, gap if known else None)


def pursuit(tol=1e-3, max_iter=100, max_time=None, **told):
    monitor = Monitor(SimpleNamespace(**{"callbacks": None, "progress": False, **told}))
    return Pursuit(tol, max_iter, max_time, monitor)


@pytest.mark.parametrize("known", [True, False])
def test_it_ends_with_the_first_iterate_that_is_proved(known):
    ended = pursuit().follow(halving(known), check)
    assert ended.reason.stop is Stop.PROVED
    assert ended.iterations == 10
    assert ended.proved.of.model == 2.0**-10


def test_a_solver_that_knows_its_gap_is_checked_when_it_looks_good_enough():
    checked = []
    pursuit().follow(halving(), lambda iterate: checked.append(iterate) or check(iterate))
    assert len(checked) == 1


def test_a_gap_that_is_only_believed_ends_nothing():
    liar = (Iterate(0.5, None, 1e-9) for _ in range(1000))
    ended = pursuit(max_iter=20).follow(liar, check)
    assert ended.reason.stop is Stop.ITERATIONS


def test_the_best_is_kept_and_not_the_last():
    ended = pursuit().follow((Iterate(gap) for gap in (0.5, 0.25, 0.75)), check)
    assert ended.reason.stop is Stop.STALLED
    assert ended.proved.of.model == 0.25


@pytest.mark.parametrize("limit", [{"max_iter": 0}, {"max_time": 0.0}])
def test_without_a_step_the_start_is_the_best(limit):
    ended = pursuit(**limit).follow(halving(), check, start=Iterate(1.0))
    assert ended.iterations == 0
    assert ended.proved.of.model == 1.0
    assert ended.reason.stop is (Stop.TIME if "max_time" in limit else Stop.ITERATIONS)


def test_a_start_that_is_good_enough_takes_no_step():
    one = pursuit()
    one.begin(Iterate(1e-4), check)
    ended = one.follow(halving(), check)
    assert (ended.iterations, ended.reason.stop) == (0, Stop.PROVED)


@pytest.mark.parametrize("when", [1, 3])
def test_ctrl_c_gives_the_best_so_far(when):
    def press(report):
        if report.iteration == when:
            raise KeyboardInterrupt

    ended = pursuit(callbacks=press).follow(halving(), check, start=Iterate(1.0))
    assert ended.reason.stop is Stop.INTERRUPTED
    assert ended.proved.of.model == 2.0**-when


def test_ctrl_c_inside_the_first_step_gives_the_start():
    def pressed():
        raise KeyboardInterrupt
        yield

    ended = pursuit().follow(pressed(), check, start=Iterate(1.0))
    assert ended.reason.stop is Stop.INTERRUPTED
    assert ended.proved.of.model == 1.0


def test_a_callback_ends_it():
    ended = pursuit(callbacks=lambda report: report.iteration == 2).follow(halving(), check)
    assert (ended.iterations, ended.reason.stop) == (2, Stop.CALLBACK)


@pytest.mark.parametrize("wrong", [3, "print", [print, None]])
def test_what_is_no_callback_is_named(wrong):
    with refuses("callbacks", ParameterTypeError, naming=repr(wrong)):
        pursuit(callbacks=wrong)


def test_a_solver_may_say_why_it_ends():
    def solver():
        yield Iterate(0.5)
        return Reason(Stop.THEORY, "nothing is left to do")

    reason = pursuit().follow(solver(), check).reason
    assert (reason.stop, str(reason)) == (Stop.THEORY, "nothing is left to do")


def test_every_stop_has_words():
    assert len({str(Reason(stop)) for stop in Stop}) == len(Stop)


def test_a_solver_that_ends_because_its_time_is_up_ends_for_that_reason():
    def solver():
        yield Iterate(0.5)
        time.sleep(0.02)

    assert pursuit(max_time=0.01).follow(solver(), check).reason.stop is Stop.TIME


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_parts_that_use_up_their_time_end_together_with_it(parts, threads, monkeypatch):
    """And no one has less than another that begins with it."""
    free, lengths = [4.0] * threads, []
    for part in range(parts):
        begins = min(free)
        monkeypatch.setattr(time, "perf_counter", lambda now=begins: now)
        ends = 1.0 + end_of_share(1.0, 10.0, part, parts, threads)
        lengths.append(ends - begins)
        free[free.index(begins)] = ends
    assert max(free) == pytest.approx(11.0)
    assert min(lengths) == pytest.approx(7.0 / -(-parts // threads))


def test_no_part_has_an_end_without_a_limit_and_none_has_time_after_it(monkeypatch):
    assert end_of_share(0.0, None, 0, 3) is None
    monkeypatch.setattr(time, "perf_counter", lambda: 12.0)
    assert [end_of_share(1.0, 10.0, part, 3) for part in range(3)] == [11.0] * 3
