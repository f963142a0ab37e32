"""The page on the command line shows what the commands print, but for the numbers."""

import contextlib
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from terminal import cotas

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "command-line.md").read_text("utf-8")
SPANISH = (DOCS / "command-line.es.md").read_text("utf-8")
BLOCKS = [block.strip() for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)]
# What other tests run already, and what takes long.
NOT_HERE = ("fit builtin:breast-cancer --model auto", "curve ", "compare ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the page shows, and the models that it saves."""
    there = tmp_path_factory.mktemp("page")
    for block in BLOCKS:
        first, _, content = block.partition("\n")
        if first.startswith("$ cat "):
            (there / first.removeprefix("$ cat ")).write_text(content + "\n")
    with contextlib.chdir(there):
        for words in re.findall(r"^\$ cotas (fit .* --out .*)$", PAGE, re.MULTILINE):
            assert cotas(*words.split()).code == 0
    return there


def skeleton(text):
    """The words; numbers may differ on another machine."""
    words = re.sub(r"[-+]?\d[\d.,e+-]*", "#", text)
    return [" ".join(line.split()) for line in words.splitlines() if line.strip()]


def calls():
    for block in BLOCKS:
        for line in re.findall(r"^\$ cotas (.*)$", block, re.MULTILINE):
            if not line.startswith(NOT_HERE):
                yield line, block[block.index(line) + len(line) :]


@pytest.mark.parametrize(("words", "printed"), list(calls()))
def test_what_is_printed(folder, monkeypatch, words, printed):
    from cotas.cli.app import app

    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["cotas", *words.split()])
    if "changed.csv" in words:
        content = (folder / "houses.csv").read_text()
        (folder / "changed.csv").write_text(content.replace("240", "241"))
    result = CliRunner().invoke(app, words.split())
    assert result.exit_code == (1 if "changed.csv" in words else 0), result.output
    # Notes go to another stream, so that only the order of what is printed is that of the page.
    shown, notes = skeleton(printed), skeleton(result.stderr)
    assert sorted(skeleton(result.output)) == sorted(shown)
    assert skeleton(result.stdout) == [line for line in shown if line not in notes]


def test_every_command_and_code_is_on_the_page():
    from cotas.cli import MEANINGS
    from cotas.cli.app import COMMANDS

    for name in COMMANDS:
        assert f"cotas {name}" in PAGE
        assert f"cotas {name}" in SPANISH
    for code, words in MEANINGS.items():
        assert f"| {code} | {words} |" in PAGE
        assert f"\n| {code} | " in SPANISH
