"""Files that are no tables: the file is named, what it is, and what to do, in both languages."""

import gzip
import io
import zipfile

import numpy as np
import polars as pl
import pytest

from terminal import cotas

TEXT = b"a,b,c\n" + b"1,2,x\n3,4,y\n" * 500
RUBBISH = np.random.default_rng(0).bytes(900)
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 504


def zipped():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", TEXT)
    return packed.getvalue()


def parquet():
    packed = io.BytesIO()
    pl.read_csv(TEXT).write_parquet(packed)
    return packed.getvalue()


def half(content):
    return content[: len(content) // 2]


NO_TABLES = {
    "empty.csv": (b"", "is empty", "vacío"),
    "rubbish.csv": (b"\x01\0\x02" + RUBBISH, "Save the table as", "guardar la tabla"),
    "doc.csv": (b"%PDF-1.7\n" + RUBBISH, "PDF; take", "PDF; hay que"),
    "page.csv": (b"\xef\xbb\xbf\n<!DOCTYPE HTML><html><p>a,b</html>", "browser", "navegador"),
    "x.csv": (b'<?xml version="1.0"?><r><a b="1"/></r>', "XML; save", "XML; hay que"),
    "t.rtf": (rb"{\rtf1\ansi a,b\par}", "text document", "documento de texto"),
    "p.csv": (b"\x89PNG\r\n\x1a\n" + RUBBISH, "picture", "imagen"),
    "t.7z": (b"7z\xbc\xaf\x27\x1c" + RUBBISH, "unpack it", "descomprimirlo"),
    "t.xls": (OLD + RUBBISH, "save it as .xlsx", "guardarlo como .xlsx"),
    "t.xlsx": (OLD + "EncryptedPackage".encode("utf-16-le"), "password", "contraseña"),
    "t.csv.gz": (half(gzip.compress(TEXT)), "get the file again", "conseguir de nuevo"),
    "t.zip": (half(zipped()), "get the file again", "conseguir de nuevo"),
    "t.parquet": (half(parquet()), "get it again", "conseguirlo de nuevo"),
    "one.json": (b'{"name": "Ana", "age": 3}', "one row only", "una sola fila"),
    "cut.json": (b'[{"a": 1, "b": "x"}, {"a":', "breaks off", "se corta"),
    "numbers.json": (b"[1, 2, 3]", "one column only", "una sola columna"),
}


@pytest.mark.parametrize("name", NO_TABLES)
def test_what_is_no_table_is_named_with_what_to_do(tmp_path, name):
    content, english, spanish = NO_TABLES[name]
    path = tmp_path / name
    path.write_bytes(content)
    for lang, words in (("en", english), ("es", spanish)):
        said = cotas("fit", path, "--lang", lang)
        assert said.code == 3
        assert words in said.err
        assert name in said.err


def test_a_folder_is_no_table(tmp_path):
    said = cotas("fit", tmp_path)
    assert said.code == 3
    assert "name a file in it" in said.err


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_wide_letters_without_a_mark_are_read(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes(TEXT.decode().encode(encoding))
    assert cotas("fit", tmp_path / "t.csv").code == 0


def test_a_class_that_is_a_word_for_missing_is_told_of_where_nothing_else_is_left(tmp_path):
    rows = "".join(f"{k}.5,{'NA' if k > 20 else 'B'}\n" for k in range(60))
    (tmp_path / "t.csv").write_text("x,c\n" + rows)
    said = cotas("fit", tmp_path / "t.csv")
    assert said.code == 3
    assert "t.csv" in said.err
    assert "--not-missing" in said.err
    found = cotas("fit", tmp_path / "t.csv", "--not-missing", "NA", "--json").document
    assert {one["label"] for one in found["quality"]["classes"]} == {"NA", "B"}
