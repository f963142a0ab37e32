"""The docstring of a function begins with a verb, that of a class with a noun."""

import ast
import re
from pathlib import Path

import cotas
from cotas.words import spanish

HOME = Path(cotas.__file__).parent
VERBS = {
    verb
    for line in (Path(__file__).parents[1] / "verbs.txt").read_text().splitlines()
    if not line.startswith("#")
    for verb in line.split()
}
# A class is a thing: its docstring names it, and begins neither with a question nor with a formula.
NO_NOUNS = {
    *(
        "As",
        "Between",
        "From",
        "How",
        "Neither",
        "Of",
        "Something",
        "That",
        "There",
        "What",
        "When",
    ),
    *("Where", "Whether", "Which", "Who", "Whoever", "Whose", "Why"),
}


def documented(kinds):
    for path in sorted(HOME.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = ast.get_docstring(node) if isinstance(node, kinds) else None
            # What the command line says of its commands is a text, and is in the catalogue.
            if text and " ".join(text.split("\n\n")[0].split()) not in spanish():
                yield f"{path.relative_to(HOME)}:{node.lineno} {node.name}: {text[:60]!r}", text


def beginning(text):
    return re.match(r"[^\W\d_]*", text).group()


def test_a_function_begins_with_what_it_does():
    functions = list(documented((ast.FunctionDef, ast.AsyncFunctionDef)))
    assert len(functions) > 3000
    assert [place for place, text in functions if beginning(text) not in VERBS] == []


def test_a_class_begins_with_what_it_is():
    classes = list(documented(ast.ClassDef))
    assert len(classes) > 500
    found = [(place, beginning(text.lstrip("`"))) for place, text in classes]
    assert [p for p, word in found if not word[:1].isupper() or word in NO_NOUNS] == []


def test_every_parameter_that_is_listed_is_one():
    seen, wrong = 0, []
    for path in sorted(HOME.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                given = node.args
                parts = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg)
                known = {part.arg for part in (*parts, given.kwarg) if part is not None}
                listed = listed_under("Parameters", ast.get_docstring(node) or "")
                seen += len(listed)
                wrong += [f"{path.name}:{node.lineno} {name}" for name in listed - known]
    assert seen > 500
    assert wrong == []


def listed_under(heading, text):
    """Return the names of a numpydoc section, such as `X, y : the data`."""
    section = re.search(rf"^{heading}\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-+\n|\Z)", text, re.S | re.M)
    lines = re.findall(r"^([\w*, ]+) : ", section.group(1), re.M) if section else []
    return {name.strip().lstrip("*") for line in lines for name in line.split(",")}
