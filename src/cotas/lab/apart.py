"""Work in a process of its own, for what cannot be told to stop: another library's fit."""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cotas.lab.worker import LabTask

_START = "from cotas.lab.apart import attend; attend()"
# Processes that wait for work: starting one takes as long as importing scikit-learn.
_idle: list[subprocess.Popen[bytes]] = []


class ProcessEnded(Exception):
    """The work was ended before it had an answer."""


def run(task: LabTask, function: Callable[..., Any], *given: Any, seconds: float = inf) -> Any:
    """Return what the function gives, computed in another process.

    The process is ended, and so the work, when a newer change overtakes the task, when the seconds
    are over, and when someone interrupts whoever waits here.
    """
    process, began = _taken(), time.monotonic()
    try:
        with task.ending(process.kill), _limited(process, seconds):
            fine, found = _asked(process, function, given)
    except BaseException:
        _end(process)
        raise
    if time.monotonic() - began < seconds:
        _idle.append(process)
    else:  # the clock may just have ended it
        _end(process)
    if not fine:
        raise found
    return found


@contextmanager
def _limited(process: subprocess.Popen[bytes], seconds: float) -> Iterator[None]:
    """End the process after so many seconds."""
    if seconds == inf:
        yield
        return
    clock = threading.Timer(seconds, process.kill)
    clock.start()
    try:
        yield
    finally:
        clock.cancel()


def _taken() -> subprocess.Popen[bytes]:
    """Take one that waits for work and was not ended meanwhile, as by Ctrl-C in a terminal; or a
    new one."""
    with suppress(IndexError):  # another thread may take the last
        while True:
            process = _idle.pop()
            if process.poll() is None:
                return process
            _end(process)
    return _started()


def _started() -> subprocess.Popen[bytes]:
    """Return a process that finds the same packages as this one."""
    places = os.pathsep.join(place for place in sys.path if place)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _START],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": places},
    )


@atexit.register
def _dismiss() -> None:
    """Send home those who wait for work."""
    while _idle:
        _end(_idle.pop())


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and close what leads to it; a question that it did not take is lost."""
    process.kill()
    with suppress(OSError), process:
        pass


def _asked(process: subprocess.Popen[bytes], function: Any, given: object) -> tuple[bool, Any]:
    """Tell whether the function gave something, and that or its error."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        pickle.dump(pickle.dumps((function, given)), process.stdin)
        process.stdin.flush()
        fine, found = pickle.load(process.stdout)
    except (EOFError, OSError, pickle.UnpicklingError):
        raise ProcessEnded from None
    return bool(fine), found


def attend() -> None:
    """Answer one question after the other until nobody can ask any more."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a verbose solver prints is no answer
    while True:
        try:
            question = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answers.write(_answer(question))
        answers.flush()


def _answer(question: bytes) -> bytes:
    try:
        function, given = pickle.loads(question)
        return pickle.dumps((True, function(*given)))
    except Exception as error:
        try:
            answer = pickle.dumps((False, error))
            pickle.loads(answer)
        except Exception:  # an error that cannot be sent, or not be made again
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
        return answer
