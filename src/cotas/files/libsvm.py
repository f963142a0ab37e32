"""LibSVM (svmlight) files: one line an example, `label index:value index:value … # comment`.

They are read in blocks of whole lines, which several threads share. Polars reads the numbers: with
spaces for the ends of lines and colons between cells, a block is a table of indices and values. A
block in which it finds anything else is read word by word, which tells what is wrong and where.
"""

from __future__ import annotations

import codecs
import io
import math
import os
import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from cotas.arrays import FloatArray, IntArray, Matrix
from cotas.files.compression import (
    MAX_BYTES,
    MOST_SPARSE_COLUMNS,
    USUAL,
    Limits,
    Place,
    open_bytes,
    source_name,
)
from cotas.files.csv_dialect import blocks_of_lines
from cotas.files.frames import polars, polars_errors
from cotas.files.problems import DataFileError
from cotas.words import say

LARGEST_INDEX = 2**31 - 2
LABEL = "the label {word!r} is not a finite number."
SEVERAL_LABELS = "several labels ({word!r}) for one row are not supported."
COLON = "{word!r} should be index:value, but has no colon."
INDEX = "the index of {word!r} is not a whole number from {lowest} to 2147483646."
ORDER = "the index of {word!r} is not larger than the one before it; sort the features of each row."
VALUE = "the value of {word!r} is not a finite number."
QUERY = (
    "{word!r} groups rows for ranking, which no model here uses: take it out of the file, or "
    "read it in Python with read_libsvm(…, ignore_qid=True)."
)
# A label is read as the value of this index, which no word may have.
OF_LABELS = -1
_LETTERS = b"0123456789+-.eE: \n"
_BLANKS = bytes.maketrans(b"\t\r", b"  ")
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


class ParsedRows(NamedTuple):
    """The rows of one block, with the indices as they were written."""

    labels: FloatArray
    data: FloatArray
    indices: IntArray
    indptr: IntArray


def read_libsvm(
    path: Place,
    *,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    ignore_qid: bool = False,
    max_bytes: int = MAX_BYTES,
    max_columns: int | None = None,
    max_memory: int | None = None,
    n_jobs: int | None = None,
) -> tuple[Matrix, FloatArray]:
    """Read a LibSVM file, compressed or not, into a CSR matrix and its labels.

    The numbers are read by polars, which the extra `files` brings.

    Parameters
    ----------
    path : str or Path
        The file; "-" is standard input. gzip and zstandard are recognized by their first bytes.
    n_features : int, optional
        The number of features, if it is known; a larger index is an error. Otherwise it is the
        largest index in the file.
    zero_based : bool or "auto", default="auto"
        Whether the indices begin at zero. "auto" takes them to begin at one if no index is zero.
    ignore_qid : bool, default=False
        Skip `qid:` groups instead of refusing them.
    max_bytes : int
        The most that a compressed file may decompress to.
    max_columns : int, default 10,000,000
        The largest index that is allowed: a model needs memory for every column, also for those
        that no row has.
    max_memory : int, default what the machine has
        Bytes that the matrix may take.
    n_jobs : int or None
        Threads; None means all cores.

    Returns
    -------
    X : csr_matrix of shape (n_rows, n_features)
    y : array of shape (n_rows,)

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "two.svm"
    >>> _ = file.write_text("+1 1:0.5 3:2\\n-1 2:1e-1 # the second\\n")
    >>> X, y = read_libsvm(file)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 0.1, 0.0]], [1.0, -1.0])
    """
    limits = Limits(max_bytes, max_columns, max_memory)
    X, y, _ = read_sparse(
        path, source_name(path), n_features, zero_based, ignore_qid, limits, n_jobs
    )
    return X, y


def read_sparse(
    path: Place,
    source: str,
    n_features: int | None,
    zero_based: bool | str,
    ignore_qid: bool,
    limits: Limits,
    n_jobs: int | None,
) -> tuple[Matrix, FloatArray, int]:
    """Return the matrix, the labels, and whether the indices began at zero or at one."""
    lowest = 1 if zero_based is False else 0
    parts, taken = [], 0
    with open_bytes(path, limits.decompressed) as stream:
        for part in _parsed(stream, source, lowest, ignore_qid, n_jobs):
            taken += sum(array.nbytes for array in part)
            limits.check_memory(taken, source)
            parts += [part] if len(part.labels) else []
    if not parts:
        raise DataFileError("it holds no rows.", source)
    if n_features is None and not any(len(part.indices) for part in parts):
        raise DataFileError("none of its rows has a feature.", source)
    first = _first_index(parts, zero_based)
    X = _joined(parts, first, n_features, source, limits)
    return X, np.concatenate([part.labels for part in parts]), first


def libsvm_batches(
    stream: io.BufferedReader, *, n_features: int, zero_based: bool, source: str
) -> Iterator[tuple[sparse.csr_matrix, FloatArray]]:
    """Yield the same, some megabytes at a time, for files that do not fit into memory."""
    first = 0 if zero_based else 1
    for part in _parsed(stream, source, first, False, n_jobs=1):
        if len(part.labels):
            yield _joined([part], first, n_features, source), part.labels


def _parsed(
    stream: Any, source: str, lowest: int, ignore_qid: bool, n_jobs: int | None
) -> Iterator[ParsedRows]:
    """Yield the blocks of the file in order, each read by one thread while others read the next."""
    threads = max(1, n_jobs or os.cpu_count() or 1)
    waiting: list[Future[ParsedRows]] = []
    line = 1
    with ThreadPoolExecutor(threads) as pool:
        for block in blocks_of_lines(stream, source):
            if line == 1:
                block = block.removeprefix(codecs.BOM_UTF8)
            waiting.append(pool.submit(parse_block, block, source, line, lowest, ignore_qid))
            line += block.count(b"\n")
            if len(waiting) > threads:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()


def parse_block(block: bytes, source: str, line: int, lowest: int, ignore_qid: bool) -> ParsedRows:
    """Return the rows of a block of whole lines, the first of which has this number in the file."""
    bare = re.sub(rb"#[^\n]*", b"", block) if b"#" in block else block
    bare = bare.translate(_BLANKS)
    if ignore_qid:
        bare = re.sub(rb"(?<= )q[^ \n]*", b"", bare)
    found = in_columns(bare, lowest)
    return word_by_word(bare, source, line, lowest) if found is None else found


def in_columns(text: bytes, lowest: int) -> ParsedRows | None:
    """Return the rows as polars reads them; None where there is anything but sound rows."""
    text = re.sub(rb"\n +", b"\n", text.strip()) if b"\n " in text else text.strip()
    if text.translate(None, _LETTERS) or re.search(rb"(\+\d*|-0+):", text):
        return None
    pl, mark = polars(), b"%d:" % OF_LABELS
    try:
        frame = pl.read_csv(
            mark + text.replace(b"\n", b" " + mark),
            has_header=False,
            separator=":",
            eol_char=" ",
            quote_char=None,
            schema={"index": pl.Int64, "value": pl.Float64},
        )
    except polars_errors():
        return None
    if frame["index"].null_count():  # between two spaces there is nothing
        frame = frame.filter(pl.any_horizontal(pl.all().is_not_null()))
    if frame["index"].null_count():
        return None
    index, value = frame["index"].to_numpy(), frame["value"].to_numpy()
    starts = np.flatnonzero(index == OF_LABELS)
    lengths = np.diff(starts, append=len(index)) - 1
    indices, data = index[index != OF_LABELS], value[index != OF_LABELS]
    rising, ends = np.diff(indices) > 0, np.cumsum(lengths)
    rising[ends[(ends > 0) & (ends < len(indices))] - 1] = True  # another row begins
    blank = np.isnan(value[starts])  # an empty line
    sound = len(starts) == 1 + text.count(b"\n") and not lengths[blank].any() and rising.all()
    sound = sound and np.isfinite(data).all() and not np.isinf(value[starts]).any()
    sound = sound and text.count(b":") == len(indices)  # polars skips an empty cell at the end
    low, high = indices.min(initial=lowest), indices.max(initial=lowest)
    if not sound or low < lowest or high > LARGEST_INDEX:
        return None
    indptr = np.append(0, ends[~blank])
    return ParsedRows(value[starts[~blank]], data, indices.astype(np.int32), indptr)


def word_by_word(text: bytes, source: str, line: int, lowest: int) -> ParsedRows:
    """Return the same rows, or an error at the first word that is wrong."""
    labels, data, indices, indptr = list[float](), list[float](), list[int](), [0]
    for number, content in enumerate(text.split(b"\n"), line):

        def refuse(fault: str, word: bytes, number: int = number) -> NoReturn:
            shown = word[:400].decode("utf-8", "replace")
            raise DataFileError(say(fault, word=shown, lowest=lowest), source, number)

        words = content.split()
        for label in words[:1]:
            several = label.partition(b",")
            if several[1] and _NUMBER.fullmatch(several[0]):
                refuse(SEVERAL_LABELS, label)
            if not _is_finite(label):
                refuse(LABEL, label)
            labels.append(float(label))
        previous = lowest - 1
        for word in words[1:]:
            index, colon, value = word.partition(b":")
            if word.startswith(b"q"):
                refuse(QUERY, word)
            if not colon and index.isdigit():
                refuse(COLON, word)
            if not colon or not index.isdigit() or not lowest <= int(index) <= LARGEST_INDEX:
                refuse(INDEX, word)
            if int(index) <= previous:
                refuse(ORDER, word)
            if not _is_finite(value):
                refuse(VALUE, word)
            previous = int(index)
            indices.append(previous)
            data.append(float(value))
        indptr += [len(data)] * bool(words)
    whole = np.array(indices, dtype=np.int32)
    return ParsedRows(np.array(labels), np.array(data), whole, np.array(indptr))


def _is_finite(word: bytes) -> bool:
    return bool(_NUMBER.fullmatch(word)) and math.isfinite(float(word))


def _first_index(parts: list[ParsedRows], zero_based: bool | str) -> int:
    if zero_based != "auto":
        return 0 if zero_based else 1
    lowest = min((int(part.indices.min()) for part in parts if len(part.indices)), default=1)
    return min(lowest, 1)


def _joined(
    parts: list[ParsedRows], first: int, n_features: int | None, source: str, limits: Limits = USUAL
) -> sparse.csr_matrix:
    """Return one matrix of all the parts, the indices counted from zero."""
    data = np.concatenate([part.data for part in parts])
    indices = np.concatenate([part.indices for part in parts])
    if first:
        indices -= np.int32(first)
    offsets = np.cumsum([0, *(len(part.data) for part in parts)])
    ends = [part.indptr[1:] + start for part, start in zip(parts, offsets, strict=False)]
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), *ends])
    width = int(indices.max()) + 1 if len(indices) else 0
    if n_features is not None:
        if width > n_features:
            raise DataFileError(
                "it has features up to number {width}, and only {most} are expected.",
                source,
                width=width,
                most=n_features,
            )
        width = n_features
    else:
        limits.check_columns(width, source, MOST_SPARSE_COLUMNS)
    X = sparse.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, width))
    X.has_sorted_indices = X.has_canonical_format = True
    return X
