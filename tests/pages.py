"""The pages whose examples are run: each block of code in turn, with what is shown below it.

A block `text` right after a block `python` shows what that block prints; a block `console` shows
commands of cotas with what they print. `python tests/pages.py` writes what comes out now.
"""

from __future__ import annotations

import contextlib
import contextvars
import io
import math
import re
import shlex
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RUN = ("index", "tutorials/practitioner", "tutorials/teacher", "tutorials/student")
RUN += ("is-my-fit-done", "cookbook")
LANGUAGES = ("", ".es")
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<kind>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```$", re.M | re.S
)
SECONDS = re.compile(r"\d[\d.]* s\b")
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?")
# Sums in another order move the last digits, and a small gap is the difference of two such sums.
DIGITS, NOTHING = 1e-2, 1e-5


class Block(NamedTuple):
    """A fenced block of a page: what it is, what it holds, and where it begins and ends."""

    kind: str
    body: str
    start: int
    end: int
    indent: str


class Shown(NamedTuple):
    """What a page shows of an output, what came out, and where the page shows it."""

    shown: str
    printed: str
    block: Block


def pages() -> list[Path]:
    """The pages that are run, in each language they are written in."""
    every = (DOCS / f"{name}{language}.md" for name in RUN for language in LANGUAGES)
    return [page for page in every if page.exists()]


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, without the indentation of where they stand."""
    return [_block(match) for match in FENCE.finditer(text)]


def _block(match: re.Match[str]) -> Block:
    indent = match["indent"]
    body = re.sub(f"^{indent}", "", match["body"], flags=re.M)
    return Block(match["kind"].strip(), body, *match.span("body"), indent)


def outputs(page: Path) -> list[Shown]:
    """Run a page from top to bottom in an empty folder, in a language context of its own."""
    text = page.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return contextvars.copy_context().run(lambda: list(_outputs(text)))


def _outputs(text: str) -> Iterator[Shown]:
    names: dict[str, Any] = {"__name__": "__main__"}
    printed, behind = "", 0
    for block in blocks(text):
        follows = not text[behind : block.start - len(f"{block.indent}```text\n")].strip()
        if block.kind == "python":
            printed = _printed(block.body, names)
        elif block.kind == "text" and follows and printed:
            yield Shown(block.body, printed, block)
        elif block.kind == "console":
            yield Shown(block.body, "".join(map(_command, _commands(block.body))), block)
        printed = printed if block.kind == "python" else ""
        behind = block.end + len(f"{block.indent}```")


def _printed(code: str, names: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a page says of warnings, its own code looks at
        exec(compile(code, "page", "exec"), names)
    return out.getvalue()


def _commands(body: str) -> list[str]:
    return re.findall(r"^\$ (.*)$", body, re.M)


def _command(line: str) -> str:
    """A command of cotas with what it prints; of others only that they stand there."""
    from terminal import cotas

    program, *words = shlex.split(line, comments=True)
    if program != "cotas":
        return f"$ {line}\n"
    said = cotas(*words)
    return f"$ {line}\n{said.out}"


def alike(shown: str, printed: str) -> bool:
    """Whether the words are the same, and the numbers but for their last digits."""
    words, numbers = zip(*(_parted(text) for text in (shown, printed)), strict=True)
    return words[0] == words[1] and all(map(_near, *numbers))


def _parted(text: str) -> tuple[list[str], list[float]]:
    """The words of a text, and its numbers; times and the widths of columns belong to neither."""
    text = SECONDS.sub("s", text)
    found = [float(each.replace(",", "").replace("−", "-")) for each in NUMBER.findall(text)]
    return re.sub(r"[-─]{2,}", " ", NUMBER.sub(" # ", text)).split(), found


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=DIGITS, abs_tol=NOTHING)


def write(page: Path) -> None:
    """Put what comes out now in the place of what the page shows."""
    text = page.read_text("utf-8")
    for shown in reversed(outputs(page)):
        block = shown.block
        body = re.sub("^(?=.)", block.indent, shown.printed, flags=re.M)
        text = text[: block.start] + body.rstrip() + "\n" + text[block.end :]
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:] or pages():
        print(name)
        write(Path(name))
