"""The command line at its edges: streams that fail, disks that are full, numbers out of range."""

import errno
import io
import json
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cotas.cli import NOT_WRITTEN, PIPE_CLOSED, WRONG_USE
from cotas.cli.app import COMMANDS
from cotas.cli.session import run
from terminal import cotas, customers

# How each command is called on the table and the model of `shop`, where it prints something.
CALLS = {
    "fit": ("shop.csv",),
    "predict": ("shop.cotas", "shop.csv"),
    "certify": ("shop.cotas", "shop.csv"),
    "explain": ("shop.cotas",),
    "compare": ("shop.csv", "--models", "svm,perceptron"),
    "path": ("shop.csv", "--lams", "1,0.1"),
    "curve": ("shop.csv", "--lams", "1,0.1"),
    "separable": ("shop.csv",),
    "export": ("shop.cotas", "--onnx", "shop.onnx"),
    "clean": (".",),
    "reproduce": ("--list",),
    "info": (),
}
# They run all models, a program of the source tree or a server, for minutes; what they print goes
# the same way as that of the others.
LONG = {"warmup", "bench", "lab"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    there = tmp_path_factory.mktemp("shop")
    customers(60).write_csv(there / "shop.csv")
    said = cotas("fit", there / "shop.csv", "-t", "bought", "-o", there / "shop.cotas")
    assert said.code == 0, said.err
    return there


@pytest.fixture
def here(shop, monkeypatch):
    monkeypatch.chdir(shop)
    return shop


def test_every_command_is_called_here():
    assert set(CALLS) | LONG == set(COMMANDS)


class Failing(io.RawIOBase):
    """A stream whose reader went away, or whose disk is full."""

    def __init__(self, code):
        self.code = code

    def writable(self):
        return True

    def write(self, data):
        raise OSError(self.code, "it fails")


def ended(monkeypatch, words, out, err=None, encoding="utf-8"):
    """The exit code of `cotas …` in this process, on streams like those of a new one."""
    err = err or io.BytesIO()
    monkeypatch.setattr(sys, "argv", ["cotas", *words])
    for name, raw in (("stdout", out), ("stderr", err)):
        buffered = raw if isinstance(raw, io.BytesIO) else io.BufferedWriter(raw, 16)
        monkeypatch.setattr(sys, name, io.TextIOWrapper(buffered, encoding=encoding))
    with pytest.raises(SystemExit) as end:
        run()
    said = err.getvalue().decode(encoding) if isinstance(err, io.BytesIO) else ""
    assert "Traceback" not in said
    return end.value.code, said


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["words", "json"])
@pytest.mark.parametrize("command", [*CALLS, "--help"])
def test_streams_that_fail(here, monkeypatch, command, form):
    words = (command, *CALLS.get(command, ()), *(() if command == "--help" else form))
    code, _ = ended(monkeypatch, words, Failing(errno.EPIPE))
    assert code == PIPE_CLOSED
    code, said = ended(monkeypatch, words, Failing(errno.ENOSPC))
    assert code == NOT_WRITTEN
    assert "standard output cannot be written" in said
    code, _ = ended(monkeypatch, words, io.BytesIO(), Failing(errno.EPIPE))
    assert code == 0


@pytest.mark.parametrize("command", CALLS)
def test_a_language_that_is_not_spoken_is_refused_wherever_it_stands(here, monkeypatch, command):
    call = (command, *CALLS[command])
    refused = [
        ended(monkeypatch, words, io.BytesIO())
        for words in (("--lang", "fr", *call), (*call, "--lang", "fr"))
    ]
    monkeypatch.setenv("COTAS_LANG", "fr")
    refused.append(ended(monkeypatch, call, io.BytesIO()))
    assert {code for code, _ in refused} == {WRONG_USE}
    assert len({said for _, said in refused}) == 1


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("command", sorted(set(CALLS) - {"predict", "info", "export"}))
def test_letters_that_the_terminal_lacks_are_replaced(here, monkeypatch, command, lang):
    out = io.BytesIO()
    words = (command, *CALLS[command], "--lang", lang)
    assert ended(monkeypatch, words, out, encoding="ascii")[0] == 0
    assert out.getvalue().isascii()
    assert out.getvalue()
    whole, spelt = io.BytesIO(), io.BytesIO()
    assert ended(monkeypatch, (*words, "--json"), whole)[0] == 0
    assert ended(monkeypatch, (*words, "--json"), spelt, encoding="ascii")[0] == 0
    assert json.loads(spelt.getvalue()).keys() == json.loads(whole.getvalue()).keys()
    assert spelt.getvalue().count(b"?") == whole.getvalue().count(b"?")  # nothing is lost


@pytest.mark.skipif(sys.platform == "win32", reason="no shell of this kind")
def test_a_real_pipe():
    pipe = f"set -o pipefail; {sys.executable} -m cotas info | true"
    assert subprocess.run(["bash", "-c", pipe], check=False).returncode in (0, PIPE_CLOSED)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_real_full_disk():
    call = f"{sys.executable} -m cotas info"
    full = subprocess.run(
        ["bash", "-c", f"{call} --json > /dev/full"], capture_output=True, text=True, check=False
    )
    assert full.returncode == NOT_WRITTEN
    assert full.stderr.count("\n") == 1
    assert "standard output cannot be written" in full.stderr


@contextmanager
def small_files():
    """Files may have 64 bytes: what a full disk does, without filling one.

    Nothing of pytest may be written meanwhile, since its output may go to a file as well.
    """
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


WRITERS = {
    "model": (("fit", *CALLS["fit"], "--out"), "new.cotas"),
    "report": (("fit", *CALLS["fit"], "--report"), "new.html"),
    "csv": (("predict", *CALLS["predict"], "--out"), "new.csv"),
    "gzip": (("predict", *CALLS["predict"], "--out"), "new.csv.gz"),
    "parquet": (("predict", *CALLS["predict"], "--out"), "new.parquet"),
    "arrow": (("predict", *CALLS["predict"], "--out"), "new.arrow"),
    "onnx": (("export", "shop.cotas", "--onnx"), "new.onnx"),
    "path": (("path", *CALLS["path"], "--picture"), "new.png"),
    "curve": (("curve", *CALLS["curve"], "--picture"), "new.svg"),
    "compare": (("compare", *CALLS["compare"], "--picture"), "new.png"),
}


@pytest.mark.parametrize("what", WRITERS)
def test_a_full_disk_names_the_file_and_keeps_what_was_there(here, what):
    words, name = WRITERS[what]
    (here / name).write_text("what was there before")
    assert cotas(*words[:-1]).code in (0, WRONG_USE)  # loops are compiled and kept before
    with small_files():
        said = cotas(*words, here / name)
    assert said.code == NOT_WRITTEN, said
    assert f"{name} cannot be written" in said.err
    assert (here / name).read_text() == "what was there before"
    (here / name).unlink()
    assert sorted(p.name for p in here.glob("*.tmp")) == []


def test_a_report_that_fails_says_that_the_model_is_saved(here, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("cotas.report.page.write_report", full)
    said = cotas("fit", "shop.csv", "--out", "kept.cotas", "--report", "no.html")
    assert said.code == NOT_WRITTEN
    assert "no.html cannot be written: No space left on device." in said.err
    assert "The model is saved in kept.cotas." in said.err
    assert cotas("certify", "kept.cotas", "shop.csv").code == 0


NUMBERS = {"float": ("nan", "-1", "1e400"), "int": ("-1", str(2**70))}


def test_numbers_that_make_no_sense_are_wrong_use(here):
    """Every number that a command takes, as its help lists them."""
    seen = 0
    for command, words in CALLS.items():
        listed = re.findall(r"(--[a-z-]+) +<?(float|int)\b", cotas(command, "--help").out.lower())
        for option, kind in listed:
            for value in NUMBERS[kind]:
                more = ("-m", "auto") if option in ("--time", "--trials", "--single") else ()
                if more and value in ("1e400", str(2**70)):
                    continue  # as long as it takes
                said = cotas(command, *words, *more, option, value)
                big = option == "--top" and value != "-1"  # all that there are
                assert said.code == (0 if big else WRONG_USE), (command, option, value, said)
                seen += 1
    assert seen > 30


@pytest.mark.parametrize("value", ["gamma=-1", "gamma=nan", "sigma=0", "degree=-2", "degree=x"])
def test_kernels_that_cannot_be_are_wrong_use(here, value):
    for command in ("fit", "curve"):
        said = cotas(command, "shop.csv", "-m", "kernel-svm", "-p", value)
        assert said.code == WRONG_USE, said


@pytest.mark.skipif(sys.platform == "win32", reason="no shell of this kind")
def test_standard_input_that_is_closed(shop):
    said = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m cotas fit - <&-"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 3
    assert "standard input: it is closed." in said.stderr


@pytest.mark.parametrize("shape", [(40,), (50, 2), ()])
def test_arrays_whose_targets_do_not_fit_the_rows(tmp_path, shape):
    np.savez(tmp_path / "a.npz", X=np.ones((50, 3)), y=np.ones(shape))
    said = cotas("fit", tmp_path / "a.npz")
    assert said.code == 3
    assert "one value for each of the 50 rows" in said.err


def test_whole_numbers_are_classes_with_a_word_about_it(tmp_path):
    x = np.random.default_rng(0).normal(size=60)
    rows = pl.DataFrame({"x": x, "stars": np.arange(60) % 4, "bought": np.arange(60) % 2})
    rows.write_csv(tmp_path / "stars.csv")
    call = ("fit", tmp_path / "stars.csv", "--drop", "bought", "-t", "stars")
    said = cotas(*call)
    assert said.code == 0
    assert "4 different whole numbers, and each is taken as a class" in said.err
    remarks = {remark["kind"] for remark in cotas(*call, "--json").document["remarks"]}
    assert "classes" in remarks
    for told in (("-m", "svm"), ("--task", "classification"), ("--task", "regression")):
        assert "whole numbers" not in cotas(*call, *told).err
    two = cotas("fit", tmp_path / "stars.csv", "--drop", "stars", "-t", "bought")
    assert "whole numbers" not in two.err


def test_dates_are_classes_with_a_word_about_it(tmp_path):
    lines = ["x,when", *(f"{k * k % 13},2020-01-{10 + k % 3}" for k in range(60))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    call = ("fit", tmp_path / "t.csv")
    assert "'when' holds dates, and each is taken as a class" in cotas(*call).err
    assert "«when» tiene fechas, y cada una" in cotas(*call, "--lang", "es").err
    for told in (("-m", "svm"), ("--task", "classification")):
        assert "holds dates" not in cotas(*call, *told).err


def test_an_infinite_target_is_named_by_its_row(tmp_path):
    cells = ["1.5", "", "inf", *map(str, np.linspace(0.1, 3, 40))]
    lines = ["x,price", *(f"{k},{cell}" for k, cell in enumerate(cells))]
    (tmp_path / "inf.csv").write_text("\n".join(lines))
    said = cotas("fit", tmp_path / "inf.csv", "-t", "price")
    assert said.code == 3
    assert "an infinite number in row 3: correct it" in said.err


def test_compare_says_whose_lam_was_chosen():
    said = cotas("compare", "builtin:diabetes", "--models", "ridge,lasso")
    assert "lasso: lam was not given" in said.err
