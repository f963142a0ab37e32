"""With --lang es nothing is said in English: no word of the English texts that Spanish lacks."""

import re

import numpy as np
import polars as pl
import pytest

import cotas as library
from cotas.cli.app import COMMANDS
from cotas.cli.data import BUILTIN
from cotas.cli.models import NAMES
from cotas.experiments.names import FIGURES
from cotas.lab.__init__ import ROOMS
from cotas.words import spanish
from terminal import cotas, customers

WORD = re.compile(r"[A-Za-zÁÉÍÓÚÜÑáéíóúüñ]{3,}")
# What is no text: values, options with their value, code, names of files, and what is quoted.
CODE = re.compile(
    r"\{[^}]*\}|--[a-z-]+( [a-z]+\b)?|`[^`]*`|\w+=\S+|\w+_\w*|[\w./-]*[./][\w./-]+|«[^»]*»"
    r"|“[^”]*”|'[^']*'|\{DAT[AO]S?\}"
)
KNOWN = " ".join(
    [
        *(*NAMES, *NAMES.values(), *BUILTIN, *FIGURES, *ROOMS, "figures"),
        *(name for kind in NAMES.values() for name in getattr(library, kind)().get_params()),
        *("upper", "lower"),  # fields of a certificate
    ]
)


def words_of(text):
    return {word.lower() for word in WORD.findall(CODE.sub(" ", text))}


ENGLISH = (
    set().union(*map(words_of, spanish()))
    - set().union(*map(words_of, spanish().values()))
    - {word.lower() for word in WORD.findall(KNOWN)}
)
C, E = ("t.csv", "-t", "compra"), ("t.csv", "-t", "edad")
CALLS = [
    ("info",),
    ("fit", *C, "-o", "m.cotas", "--report", "r.html", "--probabilities"),
    ("fit", *C, "-m", "auto", "--trials", "3", "--time", "0.01"),
    ("fit", *C, "--select", "lam", "--group", "villa"),
    ("fit", *E, "-m", "lasso", "--max-time", "1e-6"),
    ("fit", *C, "-m", "pegasos", "--max-time", "1e-6"),
    ("fit", *C, "-m", "perceptron", "--strict"),
    ("fit", "g.csv", "-t", "edad", "--drop", "compra"),
    ("fit", "g.csv", "-t", "edad", "--rows-without-target", "error"),
    ("fit", "g.csv", "-t", "compra", "--strict-columns"),
    *(("fit", *C, *wrong.split()) for wrong in (
        "-m ridge", "--task x", "-p x", "-p x=1", "--select zz", "--tol -1", "--lam -1", "--lam x",
        "-p loss=x", "--max-time 0", "--hold-out 2", "--confidence 2", "--out t.csv", "--memory 1",
        "--time 3", "--lam 1 --select lam", "--seed -1", "--group zz", "--nada",
    )),
    *(("fit", "t.csv", "-t", column) for column in ("nombre", "fija", "fecha", "zzz")),
    ("fit", "nada.csv"), ("fit",),
    ("compare", *C, "--models", "ridge"), ("curve", *C, "-m", "ridge"),
    ("predict", "m.cotas", "g.csv", "-o", "o.csv"), ("predict", "m.cotas", "m.cotas"),
    ("certify", "m.cotas", "t.csv"), ("certify", "m.cotas", "g.csv"),
    ("certify", "m.cotas", "t.csv", "--tol", "1e-99"),
    ("explain", "m.cotas"), ("explain", "t.csv"), ("export", "m.cotas", "--onnx", "m.onnx"),
    ("compare", *C, "--models", "svm,perceptron"), ("path", *C, "--number", "2"),
    ("path", *E, "--number", "2"), ("curve", *C, "--lams", "0.1,1"), ("separable", *C),
    # Other data of as many rows, for each kind of witness, and for a blend.
    *(call for model in ("kernel-svm", "adaboost", "perceptron", "auto") for call in (
        ("fit", *C, "-m", model, "-o", "k.cotas", *(("--trials", "6") if model == "auto" else ())),
        ("certify", "k.cotas", "h.csv"), ("explain", "k.cotas"),
        ("export", "k.cotas", "--onnx", "k.onnx"),
    )),
    ("certify", "m.cotas", "h.csv"), ("fit", "u.csv"), ("fit", "x.csv"),
    ("clean", "."), ("reproduce", "--list"), ("reproduce", "nada"), ("lab", "nada"),
    *((name, "--help") for name in COMMANDS), ("--help",),
]  # fmt: skip


@pytest.fixture(scope="module")
def tables():
    """A table in Spanish, one with all that is to be remarked on, and the first the other way."""
    rows = pl.int_range(100)
    names = {"age": "edad", "income": "renta", "town": "villa", "member": "socio"}
    table = customers(100).rename({**names, "bought": "compra"}).with_columns(
        pl.col("compra").replace({"yes": "sí"}),
        codigo=pl.Series(np.random.default_rng(0).permutation(100)),
        nombre=pl.format("persona {}", rows),
        fija=pl.lit(3),
        fecha=pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 4, 9), eager=True),
    )  # fmt: skip
    odd = table.with_columns(
        edad=pl.when(rows > 3).then(pl.col("edad")),
        renta=pl.when(rows == 3).then(pl.lit("vaya")).otherwise(pl.col("renta").cast(str)),
        dia=pl.format("0{}/05/2023", rows % 9 + 1),
        postal=pl.format("0{}", rows % 9),
        raro=pl.when(rows > 90).then(1),
    )
    return table, odd, table.reverse()


def test_no_command_falls_back_into_english(tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, table in zip(("t.csv", "g.csv", "h.csv"), tables, strict=True):
        table.write_csv(name)
    rows = [f"{k},{k % 9}.5 kg,{k % 2}," for k in range(40)]
    lines = ["Informe,,,", "edad,peso,clase,", *rows, "TOTAL,,,"]
    (tmp_path / "u.csv").write_text("\n".join(lines))
    (tmp_path / "x.csv").write_bytes(
        "\n".join(["Cádiz,x,y", *["ñ,1,2"] * 9]).encode() + b"\n\xf1,3,4"
    )
    left = {}
    for call in CALLS:
        said = cotas("--lang", "es", *call)
        assert said.code != 70, (call, said.err)
        for line in (said.out + said.err).splitlines():
            if not line.startswith(("sistema", "bucles", "entorno")):  # of the machine
                left |= {(call, line): words_of(line) & ENGLISH}
    page = re.sub(
        r"<style.*?</style>|<svg.*?</svg>|<[^>]*>",
        " ",
        (tmp_path / "r.html").read_text(),
        flags=re.S,
    )
    left["report"] = words_of(page) & ENGLISH
    assert {where: found for where, found in left.items() if found} == {}
