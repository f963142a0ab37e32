"""What a command says, and to whom: people on the terminal, or a program that reads JSON.

Standard output and standard error may be full, closed or unable to hold a letter.
"""

from __future__ import annotations

import io
import json
import math
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cotas.cli import NOT_WRITTEN, PIPE_CLOSED
from cotas.files.problems import Remark
from cotas.words import say

if TYPE_CHECKING:
    from rich.console import Console

STANDARD_OUTPUT = "standard output"


class PipeClosedError(Exception):
    """An error: whoever read the output went away."""


class NotWrittenError(Exception):
    """A result that could not be written, in words that name where it should have gone."""


@contextmanager
def writing(place: str | Path) -> Iterator[None]:
    """Tell an error of writing from all others, with the name of what could not be written.

    A pipe that was closed and a full disk are no `OSError` from here on: rich and typer would
    take those for their own, and end with a code of their own.
    """
    try:
        yield
    except BrokenPipeError:
        raise PipeClosedError from None
    except OSError as error:
        reason = (error.strerror or str(error)).removesuffix(".")
        words = say("{place} cannot be written: {reason}.", place=say(str(place)), reason=reason)
        raise NotWrittenError(words) from error


class Output(io.TextIOWrapper):
    """Standard output: a letter that its encoding lacks is replaced, a failure is told apart."""

    def write(self, text: str, /) -> int:
        with writing(STANDARD_OUTPUT):
            return super().write(text)

    def flush(self) -> None:
        with writing(STANDARD_OUTPUT):
            super().flush()


class Remarks(io.TextIOWrapper):
    """Standard error: words that nobody can read do not end the work."""

    def write(self, text: str, /) -> int:
        with suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


@contextmanager
def standard_streams() -> Iterator[None]:
    """Use them while the command runs; what is still to be written is written at the end."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _as(Output, sys.stdout), _as(Remarks, sys.stderr)
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except (PipeClosedError, NotWrittenError):
        # Python would try once more when it closes the stream, and complain.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # it failed before, and that was told
                stream.detach()
        sys.stdout, sys.stderr = before


def _as(kind: type[io.TextIOWrapper], stream: Any) -> Any:
    """Return the stream as that kind, if it stands on bytes; None, where it is closed, stays
    None."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    return kind(
        stream.buffer,
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering,
    )


def run() -> None:
    """Run the command line of this process."""
    from cotas.cli.app import app

    try:
        with standard_streams():
            try:
                app(prog_name="cotas")
            except SystemExit as ended:
                code = ended.code
    except PipeClosedError:
        code = PIPE_CLOSED
    except NotWrittenError as error:
        print(f"cotas: {error}", file=sys.stderr, flush=True)
        code = NOT_WRITTEN
    raise SystemExit(code)


@dataclass
class Session:
    """One call of a command.

    Results go to standard output, everything else to standard error. With `json` nothing but one
    JSON document goes to standard output.
    """

    command: str
    json: bool = False
    quiet: bool = False
    debug: bool = False
    given: dict[str, str] = field(default_factory=dict)  # the options that were typed, by name
    line: str = field(default_factory=lambda: command_line())
    out: Console = field(default_factory=lambda: _console())
    err: Console = field(default_factory=lambda: _console(stderr=True))
    _content: dict[str, Any] = field(default_factory=dict)

    def say(self, *lines: str) -> None:
        """Print lines of the result."""
        if not self.quiet:
            self.result(*lines)

    def alarm(self, *lines: str) -> None:
        """Print lines of the result that nobody should miss."""
        if not self.quiet:
            self.result(*lines, style="bold red")

    def result(self, *lines: str, style: str | None = None) -> None:
        """Print lines that are shown even with --quiet."""
        for line in lines if not self.json else ():
            self.out.print(line, markup=False, style=style)

    def note(self, *lines: str) -> None:
        """Print something beside the result, such as a warning."""
        if not self.quiet:
            for line in lines:
                self.err.print(line, markup=False)

    def remark(self, *remarks: Remark | str) -> None:
        """Note what was decided for the reader, about a table or a model, each as a note."""
        self.note(*(f"{say('Note')}: {remark}" for remark in remarks))

    def passing(self, line: str) -> None:
        """Show what is going on, for someone who watches: the next one takes its place."""
        if self.shows_progress:
            self.err.print(line, markup=False, end="\r", overflow="ellipsis", no_wrap=True)

    def table(self, names: list[str], rows: list[list[str]], title: str | None = None) -> None:
        """Print rows under their names, the first column to the left and the others to the
        right."""
        if self.json or self.quiet:
            return
        from rich.table import Table

        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        for number, name in enumerate(names):
            table.add_column(name, justify="left" if number == 0 else "right", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        # As wide as it has to be: no name or number is cut off.
        _console(file=self.out.file, width=10_000, markup=False).print(table, soft_wrap=False)

    def document(self, content: dict[str, Any]) -> None:
        """Keep what the JSON document is to hold; it is printed when the command ends."""
        self._content |= content

    def failed(self, message: str, code: int) -> None:
        """Print one line on what went wrong."""
        self.err.print(f"cotas {self.command}: {message}", markup=False)
        self.document({"error": message, "exit_code": code})

    def close(self) -> None:
        """Print the JSON document, if one was asked for."""
        if self.json:
            content = plain({"command": self.command, **self._content})
            ascii_only = not (self.out.encoding or "").startswith("utf")
            self.out.file.write(json.dumps(content, ensure_ascii=ascii_only, indent=1) + "\n")
            self.out.file.flush()

    @property
    def shows_progress(self) -> bool:
        """Tell whether someone watches."""
        return not (self.quiet or self.json) and self.err.is_terminal


def _console(**options: Any) -> Console:
    """Make a console that prints lines as they are: not broken, not coloured, with no word taken
    for an emoji."""
    from rich.console import Console  # which `cotas --help` does without

    return Console(highlight=False, soft_wrap=True, emoji=False, **options)


def plain(value: object) -> Any:
    """Return values that JSON knows; NaN and infinities become None and words."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):  # of NumPy
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("infinity" if value > 0 else "-infinity")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def command_line(folders: bool = False) -> str:
    """Return what was typed, ready to be typed again where the files are: their folders are
    nobody's.

    With `folders` as it was typed, for whoever typed it.
    """
    words = sys.argv[1:]
    return shlex.join(["cotas", *(words if folders else map(_without_folder, words))])


def _without_folder(word: str) -> str:
    option, equals, path = word.partition("=") if word.startswith("--") else ("", "", word)
    inside = os.path.dirname(path)
    return f"{option}{equals}{os.path.basename(path)}" if os.path.isdir(inside) else word


# Options of `cotas fit` that say how to choose or where to put things, by whether they have a value
_OF_THE_CHOICE = {
    **dict.fromkeys(("--model", "-m", "--time", "--trials", "--out", "-o", "--report"), True),
    **dict.fromkeys(("--single", "--json", "--quiet", "-q", "--debug"), False),
}


def trained_by(command: str, model: str, parameters: Mapping[str, Any]) -> str:
    """Return a command of `fit` with another model, and without how one was to be chosen."""
    words, kept = iter(shlex.split(command)), list[str]()
    for word in words:
        option, equals, _ = word.partition("=")
        if option not in _OF_THE_CHOICE:
            kept.append(word)
        elif _OF_THE_CHOICE[option] and not equals:
            next(words, None)
    for name, value in parameters.items():
        kept += ["--lam", str(value)] if name == "lam" else ["--param", f"{name}={value}"]
    place = next((k for k, word in enumerate(kept) if word.startswith("--") and k > 2), len(kept))
    return shlex.join([*kept[:place], "--model", model, *kept[place:]])


# ---- a bar with the gap that is proved so far, for work that takes longer than a second ----------

PATIENCE = 1.0


class Watcher:
    """A listener to a fit: it keeps the gaps, and shows them after a second."""

    def __init__(self, session: Session, name: str) -> None:
        self.trace: list[tuple[float, float]] = []
        self._session, self._name = session, name
        self._began = time.perf_counter()
        self._best: dict[str, float] = {}  # of each class or target
        self.bar: Any = None
        self._task: Any = None

    @property
    def callback(self) -> Callable[[Any], None]:
        """Return what an estimator calls; a plain function, so that it can be cloned with it."""
        return lambda report: self.hear(report)

    def listen_to(self, made: Any, max_time: float | None = None) -> Any:
        """Have an estimator tell what it does; the models of a blend share the time there is."""
        from cotas.selection.blend import members_of

        wanted: dict[str, Any] = {"callbacks": self.callback}
        each = members_of(made)
        if max_time is not None:
            wanted["max_time"] = max_time / len(each)
        for one in each:
            known = one.get_params(deep=False)
            one.set_params(**{name: value for name, value in wanted.items() if name in known})
        return made

    def hear(self, report: Any) -> None:
        """Hear one report of a fit."""
        seconds = time.perf_counter() - self._began
        shown = self._session.shows_progress and seconds > PATIENCE
        gap = _gap_of(report)
        if gap is not None:
            of = str(getattr(report, "label", ""))
            self._best[of] = min(gap, self._best.get(of, gap))
            # What is proved of the whole is what is proved of the worst.
            self.trace.append((seconds, max(self._best.values())))
        if shown:
            self._show(report, gap)

    def _show(self, report: Any, gap: float | None) -> None:
        if self.bar is None:
            from rich import progress

            columns = (
                progress.SpinnerColumn(),
                progress.TextColumn("{task.description}"),
                progress.BarColumn(20),
                progress.TimeElapsedColumn(),
            )
            self.bar = progress.Progress(*columns, console=self._session.err, transient=True)
            self.bar.start()
            self._task = self.bar.add_task(self._name, total=None)
        done, total = _place_of(report)
        words = f"{self._name}: {done}/{total}"
        if total is None:
            words = say("{name}: step {done}", name=self._name, done=done)
        if gap is not None:
            words += say(", proved gap {gap:.2e}", gap=gap)
        self.bar.update(self._task, description=words, completed=done, total=total)


@contextmanager
def watching(session: Session, name: str) -> Iterator[Watcher]:
    """Show how far a fit has come, and nothing of it afterwards, whatever happened."""
    watcher = Watcher(session, name)
    try:
        yield watcher
    finally:
        if watcher.bar is not None:
            watcher.bar.stop()


def _gap_of(report: Any) -> float | None:
    """Return the relative gap that the checker proves at this point, if the report carries one."""
    certificate = getattr(report, "certificate", None)
    if certificate is None or callable(certificate):
        return None
    return float(certificate.relative_gap)


def _place_of(report: Any) -> tuple[int, int | None]:
    for place, total in (("round", "n_estimators"), ("epoch", "max_iter")):
        if hasattr(report, place):
            return int(getattr(report, place)), int(getattr(report, total))
    return int(getattr(report, "iteration", 0)), None
