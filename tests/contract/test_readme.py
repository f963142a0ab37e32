"""The two READMEs: short, in step with each other, and what they show is what comes out."""

import ast
import io
import re
from contextlib import redirect_stdout
from contextvars import copy_context
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

from terminal import cotas

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "README.es.md")


def text(page):
    return (ROOT / page).read_text("utf-8")


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", text(page), re.DOTALL)


def prose(page):
    return re.sub(r"```.*?```", "", text(page), flags=re.DOTALL)


def printed(page):
    """What the code of a page prints, line by line as at a prompt, and what its comments promise.

    `expression  # True: …` has to be True, and a number the number in the digits shown.
    """
    given, out, promises = {}, io.StringIO(), []
    with redirect_stdout(out):
        for block in blocks(page, "python"):
            lines = block.splitlines()
            for statement in ast.parse(block).body:
                said = re.search(r"  # (True|False|\d+\.\d+)", lines[statement.end_lineno - 1])
                if said and isinstance(statement, ast.Expr):
                    value = eval(compile(ast.Expression(statement.value), page, "eval"), given)
                    promises.append((said.group(1), value))
                else:
                    exec(compile(ast.Module([statement], []), page, "exec"), given)
    return out.getvalue(), promises


@pytest.mark.parametrize("page", PAGES)
def test_it_is_short(page):
    assert len(text(page).splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES)
def test_what_is_shown_comes_out(page):
    found, promises = copy_context().run(printed, page)  # one of them speaks Spanish
    for shown in blocks(page, "text"):
        assert shown in found
    assert len(promises) >= 3
    for shown, value in promises:
        digits = len(shown.partition(".")[2])
        assert (f"{value:.{digits}f}" if digits else str(value)) == shown


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere_in_its_language(page):
    for target in re.findall(r"\]\(([^)#]+)", prose(page))[1:]:  # the first is the other README
        path = ROOT / target
        assert path.exists(), target
        spanish = path.with_suffix(f".es{path.suffix}")
        assert page == "README.md" or ".es" in path.suffixes or not spanish.exists(), target


@pytest.mark.parametrize("page", PAGES)
def test_every_command_can_be_read(page, tmp_path, monkeypatch):
    """The options exist, and the files it makes are there for the next command."""
    monkeypatch.chdir(tmp_path)
    calls = re.findall(r"^\$ cotas (.*?)(?:  +#.*)?$", "".join(blocks(page, "console")), re.M)
    assert len(calls) == 3
    for words in calls:
        if words.startswith("predict"):
            columns = load_breast_cancer().feature_names
            rows = ",".join(columns), ",".join("1" for _ in columns)
            Path(words.split()[2]).write_text("\n".join(rows))
        said = cotas(*words.split())
        assert said.code == 0, said.err


def test_both_languages_are_in_step():
    code = ["".join(map(_without_words, blocks(page, "python"))) for page in PAGES]
    assert code[0] == code[1]
    headings = [re.findall(r"^#+", prose(page), re.MULTILINE) for page in PAGES]
    assert headings[0] == headings[1]
    rows = [re.findall(r"^\|.*\|$", prose(page), re.MULTILINE) for page in PAGES]
    numbers = [[re.findall(r"\d[\d.,e-]*", row) for row in table] for table in rows]
    assert [sorted(row) for row in numbers[0]] == [sorted(row) for row in numbers[1]]
    links = [re.findall(r"\]\(([^)#]+)", prose(page)) for page in PAGES]
    assert links[0][1:] == [link.replace(".es.", ".") for link in links[1][1:]]


def _without_words(block):
    """The code without its comments, and without the line that chooses the language."""
    lines = (re.sub(r"  #.*", "", line) for line in block.splitlines())
    return "\n".join(line for line in lines if not line.startswith("cotas.lang("))
