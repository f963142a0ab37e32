"""What a file of data is, told from its first bytes."""

from __future__ import annotations

import codecs
import io
import re
from pathlib import Path

from cotas.files.compression import Place, on_disk
from cotas.files.problems import DataFileError

FORMATS = ("csv", "parquet", "arrow", "json", "excel", "sqlite", "libsvm", "npz")
_SIGNS = {
    b"PAR1": "parquet",
    b"ARRO": "arrow",
    b"SQLi": "sqlite",
    b"\xd0\xcf\x11\xe0": "excel",
    b"PK\x03\x04": "npz",
}
# What is often taken for a table and is none, by how it begins, and what to do with it.
_NO_TABLES = (
    (rb"%PDF", "it is a PDF; take the table out of it, as CSV or a spreadsheet."),
    (rb"\{\\rtf", "it is a text document; save its table as CSV or a spreadsheet."),
    (
        rb"\x89PNG|\xff\xd8\xff|GIF8|II\*\0|MM\0\*",
        "it is a picture; type its table in, or get the data.",
    ),
    (
        rb"Rar!|7z\xbc\xaf|BZh\d|\xfd7zXZ",
        "it is packed in a way not read here; unpack it first, or use zip or gzip.",
    ),
    (
        rb"(?i)\s*(<!doctype html|<html|<head)",
        "it is a page for a browser, such as one that asks to sign in; get the data itself, "
        "as CSV.",
    ),
    (rb"\s*<\?xml", "it is XML; save the table as CSV, JSON or a spreadsheet."),
)
_JSON = re.compile(rb'\s*(\{\s*["}]|\[\s*[{\]])')
# A label is a number, or several with commas, and a value has no second colon: the rest are cells
# of a CSV that ends in a date and an hour.
_LABEL = rb"[+-]?[\d.]+(e[+-]?\d+)?"
_EXAMPLE = re.compile(
    rb"%b(,%b)*(\s+qid:\S+)?(\s+\d+:[^\s,;:]+)+\s*(#.*)?" % (_LABEL, _LABEL), re.IGNORECASE
)
_ENDINGS = (".svm", ".libsvm", ".svmlight", ".light")


def tell_format(path: Place, stream: io.BufferedReader, source: str, wanted: str | None) -> str:
    """One of FORMATS; `wanted` if it is given and the first bytes do not contradict it."""
    if wanted is not None and wanted not in FORMATS:
        raise ValueError(f"format must be one of {FORMATS}, not {wanted!r}.")
    head = stream.peek(4096)[:4096]
    if not head:
        raise DataFileError("it is empty; was it saved or downloaded to the end?", source)
    signed = _SIGNS.get(head[:4])
    if signed == "npz" and not _first_name(head).endswith(b".npy"):
        signed = "excel"
    if wanted not in (None, "csv", "json", "libsvm") and signed != wanted:
        raise DataFileError("it is no {wanted} file.", source, wanted=wanted)
    if signed or wanted:
        return str(signed or wanted)
    if head.startswith((b"\x80", b"\x89HDF")):
        raise DataFileError(
            "it is a pickle or an HDF5 file, which are not read here; save the "
            "table as Parquet, CSV or .npz.",
            source,
        )
    bare = head.removeprefix(codecs.BOM_UTF8)
    for sign, words in _NO_TABLES:
        if re.match(sign, bare):
            raise DataFileError(words, source)
    if _JSON.match(head):
        return "json"
    name = re.sub(r"\.(gz|zst|zip)$", "", str(path)) if on_disk(path) else ""
    if Path(name).suffix in (".json", ".jsonl", ".ndjson"):
        return "json"
    return "libsvm" if Path(name).suffix in _ENDINGS or _looks_like_libsvm(head) else "csv"


def is_a_model(head: bytes) -> bool:
    """Whether a file that begins so may be a model: the length of a header, which may look like
    anything, and the header.
    """
    return head[8:9] == b"{"


def is_a_table(head: bytes) -> bool:
    """Whether a file that begins so is a table, and surely no model: models have zeros early on."""
    if _SIGNS.get(head[:4]) in ("parquet", "arrow", "sqlite", "excel") or _JSON.match(head):
        return True
    return b"\0" not in head and any(mark in head.partition(b"\n")[0] for mark in b",;\t|")


def _first_name(head: bytes) -> bytes:
    """The name of the first file in a zip."""
    return head[30 : 30 + int.from_bytes(head[26:28], "little")]


def _looks_like_libsvm(head: bytes) -> bool:
    lines = [line.strip() for line in head.split(b"\n")[:20]]
    whole = lines[:-1] if len(lines) > 1 else lines
    return any(_EXAMPLE.fullmatch(line) for line in whole if not line.startswith(b"#"))
