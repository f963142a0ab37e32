"""What is said of a call that is not understood: in the language asked for, with what was meant."""

import ast
import gc
import sys
from pathlib import Path

import pytest
import typer.core

from cotas import cli as loader
from cotas import words
from cotas.cli import loading
from cotas.cli.app import COMMANDS, OTHER_NAMES, Commands, app, in_words
from terminal import cotas

RAISED = ("UsageError", "BadParameter", "NoSuchOption", "BadOptionUsage", "BadArgumentUsage")
# What stands in the place of a value, where any word would not do.
VALUES = {"msg": "an argument.", "param_type": "argument", "param_hint": " 'x'", "label": "File"}


def written(node: ast.expr) -> str:
    """The words of a literal, with a value in each of its places."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.JoinedStr)
    parts = [
        part.value if isinstance(part, ast.Constant) else VALUES.get(ast.unparse(part.value), "'x'")
        for part in node.values
    ]
    return "".join(parts)


def literals(tree: ast.AST) -> list[ast.expr]:
    """The literals that errors of use are made of."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            found += node.args[:2] if name in RAISED or name == "fail" else []
        if isinstance(node, ast.FunctionDef) and node.name == "format_message":
            found += [one.value for one in ast.walk(node) if isinstance(one, ast.Return)]
    return [each for each in found if isinstance(each, ast.Constant | ast.JoinedStr)]


def sentences() -> set[str]:
    """All that typer says of calls that it does not understand."""
    home = Path(typer.core.__file__).parent
    files = [*home.glob("*.py"), *home.glob("_click/*.py")]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    said = {written(literal) for tree in trees for literal in literals(tree)}
    return {each for each in said if any(letter.isalpha() for letter in each.replace("'x'", ""))}


@pytest.mark.skipif(
    not (Path(typer.core.__file__).parent / "_click").exists(),
    reason="older versions leave the sentences to click, which writes them otherwise",
)
def test_all_that_typer_says_of_a_wrong_call_is_known_in_spanish():
    known = sentences()
    assert "Value must be an iterable." in known
    assert len(known) > 10
    for sentence in known:
        assert in_words(sentence) == sentence
        with words.lang("es"):
            assert in_words(sentence) != sentence, sentence


def refusals():
    """What is said of options that there are not, and of values that options do not take."""
    context = typer.Context(typer.main.get_command(app))
    for name in COMMANDS:
        command = Commands().get_command(context, name)
        flags = [parameter.opts[0] for parameter in command.params]
        values = [f"{flag}={value}" for flag in flags for value in ("x", "-1e99", "-1")]
        for call in (*values, *flags, "--nope", "--nope=1"):
            try:
                command.make_context(name, [call])  # which reads the call, and runs nothing
            except Exception as error:
                yield name, call, error.format_message()
            else:
                continue


def test_every_wrong_value_of_every_option_is_told_in_both_languages():
    told = list(refusals())
    assert {name for name, _, _ in told} == set(COMMANDS)
    for name, call, message in told:
        with words.lang("es"):
            assert in_words(message) != message, (name, call, message)


@pytest.mark.parametrize(
    "call", [("fit",), ("fit", "--nope"), ("--nope",), ("fit", "a", "--seed=x")]
)
def test_a_wrong_call_is_told_in_one_language(call):
    in_english, in_spanish = (cotas("--lang", lang, *call) for lang in ("en", "es"))
    assert in_english.code == in_spanish.code == 2
    pairs = zip(in_english.err.splitlines(), in_spanish.err.splitlines(), strict=True)
    assert all(one != other for one, other in pairs if one)


@pytest.mark.parametrize("name", [*OTHER_NAMES, "verify", "fitt", "predcit", "sepparable"])
def test_a_command_by_another_name_is_told_its_own(name):
    said = cotas(name, "data.csv")
    assert said.code == 2
    meant = said.err.rpartition("Did you mean ")[2].partition("?")[0]
    assert meant == OTHER_NAMES.get(name, meant)
    assert meant.partition(" ")[0] in COMMANDS


def test_other_names_are_no_commands_and_stand_for_some():
    assert not set(OTHER_NAMES) & set(COMMANDS)
    assert {name.partition(" ")[0] for name in OTHER_NAMES.values()} <= set(COMMANDS)
    assert "Did you mean" not in cotas("zzzzzz").err


def test_garbage_is_searched_for_again_after_loading_whatever_happens():
    assert gc.isenabled()
    with pytest.raises(ImportError), loading():
        raise ImportError
    assert gc.isenabled()
    gc.disable()
    try:
        with loading():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_ctrl_c_while_modules_are_loaded_is_one_line(monkeypatch, capsys):
    with pytest.raises(KeyboardInterrupt), loading():
        raise KeyboardInterrupt
    monkeypatch.setattr(loader, "_ours", True)
    with pytest.raises(SystemExit) as ended, loading():
        raise KeyboardInterrupt
    assert ended.value.code == 130
    assert capsys.readouterr().err == "cotas: interrupted.\n"
    assert gc.isenabled()


@pytest.mark.parametrize("command", ["fit", "compare", "path", "curve", "separable"])
def test_whoever_names_no_target_is_told_which_column_is_predicted(tmp_path, command):
    rows = [f"{i % 7},{i * i % 11},{'ab'[i % 2]}" for i in range(60)]
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["size,weight,kind", *rows]))
    more = {"compare": ("--models", "svm"), "path": ("--lams", "1"), "curve": ("--lams", "1,0.1")}
    said = cotas(command, str(table), *more.get(command, ()))
    assert said.code == 0
    assert "'kind' is predicted" in said.err
    named = cotas(command, str(table), *more.get(command, ()), "--target", "kind")
    assert "is predicted" not in named.err


@pytest.mark.parametrize(("name", "meant"), [("smv", "svm"), ("ridgee", "ridge")])
def test_a_model_that_may_be_meant_is_named(name, meant):
    said = cotas("fit", "builtin:iris", "--model", name)
    assert said.code == 2
    assert meant in said.err.rpartition("Did you mean ")[2].partition("?")[0].split(" or ")


def test_a_column_that_may_be_meant_is_named_though_there_are_many(tmp_path):
    names = [f"c{i}" for i in range(50)] + ["Income"]
    table = tmp_path / "t.csv"
    table.write_text(",".join(names) + "\n" + ("1," * 50 + "2\n") * 3)
    said = cotas("fit", str(table), "--target", "incmoe")
    assert said.code == 3
    assert "Did you mean Income?" in said.err


def test_a_model_in_the_place_of_a_table_and_no_file_are_said(tmp_path):
    model = tmp_path / "m.cotas"
    assert cotas("fit", "builtin:iris", "--out", str(model)).code == 0
    said = cotas("fit", str(model))
    assert (said.code, "it is a model file" in said.err) == (3, True)
    gone = cotas("--lang", "es", "predict", str(tmp_path / "no.cotas"), "builtin:iris")
    assert (gone.code, "no existe ese archivo" in gone.err) == (4, True)


@pytest.mark.parametrize("ours", [False, True])
def test_only_the_process_of_the_command_has_its_memory_ordered(ours, monkeypatch):
    monkeypatch.setattr(loader, "_ours", ours)
    before = gc.get_freeze_count()
    try:
        with loading():
            monkeypatch.setitem(sys.modules, "one more", gc)
        assert (gc.get_freeze_count() > before) is ours
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("typed", ["File", "Path", "Invalid value: x", "'x' is not a valid float."])
def test_what_was_typed_is_told_as_it_was(typed):
    with words.lang("es"):
        assert typed in in_words(f"Got unexpected extra argument ({typed})")
        assert in_words(f"Invalid value for '--seed': {typed!r} is not a valid integer.") == (
            f"Valor no válido para '--seed': {typed!r} no es un número entero."
        )


def test_a_model_is_told_from_a_table_however_long_its_header_is(tmp_path):
    for first in (b"\x80", b"PAR1", b"%PDF", b"II*\0"):  # as a pickle and others begin
        (tmp_path / "m.cotas").write_bytes(first.ljust(8, b"\0") + b'{"__metadata__": {}}')
        assert "it is a model file" in cotas("fit", str(tmp_path / "m.cotas")).err
