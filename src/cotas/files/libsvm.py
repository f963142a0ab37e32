"""LibSVM (svmlight) files: one line an example, `label index:value index:value … # comment`.

The bytes are read by one compiled loop, in blocks of whole lines, which several threads share.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from typing import Any, NamedTuple

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
from cotas.files.problems import DataFileError
from cotas.loops import loop
from cotas.words import say

# What `decimal` says of the bytes it was shown.
READ, NO_NUMBER, UNDECIDED = 0, 1, 2

LARGEST_POWER = 280
EXACT_POWER = 22
MOST_DIGITS = 19
SPLITTER = 134217729.0  # 2²⁷ + 1 cuts a double into two halves of 26 bits
# What the product with a two-part power can be off by, relative to it, generously.
UNSURE = 2.0**-100


def _powers_of_ten() -> FloatArray:
    """10ᵏ for |k| ≤ 280, each as the nearest double and the nearest double to what is left."""
    table = np.empty((2 * LARGEST_POWER + 1, 2))
    for k in range(-LARGEST_POWER, LARGEST_POWER + 1):
        exact = Fraction(10) ** k
        high = float(exact)
        table[k + LARGEST_POWER] = high, float(exact - Fraction(high))
    return table


POWERS = _powers_of_ten()


@loop
def error_of_product(a: float, b: float, product: float) -> float:
    """a·b − fl(a·b), exactly (Dekker)."""
    t = SPLITTER * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = SPLITTER * b
    b_high = t - (t - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@loop
def nearest(mantissa: Any, power: int, powers: FloatArray) -> tuple[float, int]:
    """The double nearest to mantissa·10^power, and whether that is settled."""
    if mantissa == 0:
        return 0.0, READ
    if mantissa < 1 << 53 and -EXACT_POWER <= power <= EXACT_POWER:
        if power < 0:
            return mantissa / powers[LARGEST_POWER - power, 0], READ
        return mantissa * powers[LARGEST_POWER + power, 0], READ
    if power < -LARGEST_POWER or power > LARGEST_POWER:
        return 0.0, UNDECIDED
    # The mantissa too is the sum of two doubles, of its upper and its lower 32 bits.
    high = float(mantissa >> 32) * 4294967296.0
    low = float(mantissa & 4294967295)
    m = high + low
    m_rest = low - (m - high)
    p, p_rest = powers[power + LARGEST_POWER, 0], powers[power + LARGEST_POWER, 1]
    product = m * p
    rest = error_of_product(m, p, product) + (m * p_rest + m_rest * p)
    slack = UNSURE * product
    below, above = product + (rest - slack), product + (rest + slack)
    return below, READ if below == above else UNDECIDED


@loop
def decimal(text: IntArray, p: int, end: int, powers: FloatArray) -> tuple[float, int, int]:
    """The number that begins at p, where it ends, and READ, NO_NUMBER or UNDECIDED."""
    negative = False
    if p < end and (text[p] == 45 or text[p] == 43):  # - +
        negative = text[p] == 45
        p += 1
    mantissa = np.uint64(0)
    digits, power, seen, cut = 0, 0, 0, False
    while p < end and 48 <= text[p] <= 57:
        if digits < MOST_DIGITS:
            mantissa = mantissa * np.uint64(10) + np.uint64(text[p] - 48)
            digits += 1 if mantissa > 0 else 0
        else:
            power += 1
            cut = cut or text[p] != 48
        seen += 1
        p += 1
    if p < end and text[p] == 46:  # .
        p += 1
        while p < end and 48 <= text[p] <= 57:
            if digits < MOST_DIGITS:
                mantissa = mantissa * np.uint64(10) + np.uint64(text[p] - 48)
                digits += 1 if mantissa > 0 else 0
                power -= 1
            else:
                cut = cut or text[p] != 48
            seen += 1
            p += 1
    if seen == 0:
        return 0.0, p, NO_NUMBER
    if p < end and (text[p] == 101 or text[p] == 69):  # e E
        exponent, p, good = _exponent(text, p + 1, end)
        if not good:
            return 0.0, p, NO_NUMBER
        power += exponent
    value, status = nearest(mantissa, power, powers)
    if cut:
        status = UNDECIDED
    return -value if negative else value, p, status


@loop
def _exponent(text: IntArray, p: int, end: int) -> tuple[int, int, bool]:
    sign = 1
    if p < end and (text[p] == 45 or text[p] == 43):
        sign = -1 if text[p] == 45 else 1
        p += 1
    start, exponent = p, 0
    while p < end and 48 <= text[p] <= 57:
        if exponent < 100000:
            exponent = exponent * 10 + (text[p] - 48)
        p += 1
    return sign * exponent, p, p > start


LARGEST_INDEX = 2**31 - 2
FAULTS = (
    "",
    "the label {word!r} is not a finite number.",
    "several labels ({word!r}) for one row are not supported.",
    "{word!r} should be index:value, but has no colon.",
    "the index of {word!r} is not a whole number from {lowest} to 2147483646.",
    "the index of {word!r} is not larger than the one before it; sort the features of each row.",
    "the value of {word!r} is not a finite number.",
    "{word!r} groups rows for ranking, which no model here uses: take it out of the file, or "
    "read it in Python with read_libsvm(…, ignore_qid=True).",
)
LABEL, SEVERAL_LABELS, COLON, INDEX, ORDER, VALUE, QUERY = range(1, 8)


class ParsedRows(NamedTuple):
    """The rows of one block, with the indices as they were written."""

    labels: FloatArray
    data: FloatArray
    indices: IntArray
    indptr: IntArray


@loop
def parse_lines(
    text: IntArray,
    lowest: int,
    ignore_qid: bool,
    powers: FloatArray,
    labels: FloatArray,
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    undecided: IntArray,
) -> tuple[int, int, int, int, int]:
    """Fill the arrays from whole lines; rows, entries, undecided numbers, the fault and its place.

    A number that is not settled here is noted in `undecided`: the entry (−1 − row for a label)
    and where it begins.
    """
    p, end = 0, len(text)
    row, entry, unsettled = 0, 0, 0
    while p < end:
        p = skip_blanks(text, p, end)
        if p < end and text[p] != 10 and text[p] != 35:  # neither an empty line nor a comment
            word = p
            labels[row], p, status = decimal(text, p, end, powers)
            if p < end and text[p] == 44:  # ,
                return row, entry, unsettled, SEVERAL_LABELS, word
            if status == NO_NUMBER or not at_a_gap(text, p, end):
                return row, entry, unsettled, LABEL, word
            if status != READ:
                undecided[unsettled, 0], undecided[unsettled, 1] = -1 - row, word
                unsettled += 1
            previous = lowest - 1
            p = skip_blanks(text, p, end)
            while p < end and text[p] != 10 and text[p] != 35:
                word = p
                if text[p] == 113:  # qid:
                    if not ignore_qid:
                        return row, entry, unsettled, QUERY, word
                    while not at_a_gap(text, p, end):
                        p += 1
                    p = skip_blanks(text, p, end)
                    continue
                index = 0
                while p < end and 48 <= text[p] <= 57 and index <= LARGEST_INDEX:
                    index = index * 10 + (text[p] - 48)
                    p += 1
                if p == end or text[p] != 58:  # :
                    missing = at_a_gap(text, p, end)
                    return row, entry, unsettled, COLON if missing else INDEX, word
                if p == word or index < lowest or index > LARGEST_INDEX:
                    return row, entry, unsettled, INDEX, word
                if index <= previous:
                    return row, entry, unsettled, ORDER, word
                start = p + 1
                value, p, status = decimal(text, start, end, powers)
                if status == NO_NUMBER or not at_a_gap(text, p, end):
                    return row, entry, unsettled, VALUE, word
                if status != READ:
                    undecided[unsettled, 0], undecided[unsettled, 1] = entry, start
                    unsettled += 1
                data[entry], indices[entry], previous = value, index, index
                entry += 1
                p = skip_blanks(text, p, end)
            row += 1
            indptr[row] = entry
        while p < end and text[p] != 10:
            p += 1
        p += 1
    return row, entry, unsettled, 0, 0


@loop
def skip_blanks(text: IntArray, p: int, end: int) -> int:
    """Past spaces, tabs and carriage returns."""
    while p < end and (text[p] == 32 or text[p] == 9 or text[p] == 13):
        p += 1
    return p


@loop
def at_a_gap(text: IntArray, p: int, end: int) -> bool:
    """Whether a word has ended."""
    return p >= end or text[p] <= 32 or text[p] == 35


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
    """The matrix, the labels, and whether the indices began at zero or at one."""
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
) -> Iterator[tuple[Matrix, FloatArray]]:
    """The same, some megabytes at a time, for files that do not fit into memory."""
    first = 0 if zero_based else 1
    for part in _parsed(stream, source, first, False, n_jobs=1):
        if len(part.labels):
            yield _joined([part], first, n_features, source), part.labels


def _parsed(
    stream: Any, source: str, lowest: int, ignore_qid: bool, n_jobs: int | None
) -> Iterator[ParsedRows]:
    """The blocks of the file in order, each read by one thread while others read the next."""
    threads = max(1, n_jobs or os.cpu_count() or 1)
    waiting: list[Future[ParsedRows]] = []
    line = 1
    with ThreadPoolExecutor(threads) as pool:
        for block in blocks_of_lines(stream, source):
            waiting.append(pool.submit(parse_block, block, source, line, lowest, ignore_qid))
            line += block.count(b"\n")
            if len(waiting) > threads:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()


def parse_block(block: bytes, source: str, line: int, lowest: int, ignore_qid: bool) -> ParsedRows:
    """The rows of a block of whole lines, the first of which has this number in the file."""
    text = np.frombuffer(block, dtype=np.uint8)
    most_rows, most_entries = block.count(b"\n") + 1, block.count(b":")
    labels, indptr = np.empty(most_rows), np.zeros(most_rows + 1, dtype=np.int64)
    data, indices = np.empty(most_entries), np.empty(most_entries, dtype=np.int32)
    undecided = np.empty((most_rows + most_entries, 2), dtype=np.int64)
    rows, entries, unsettled, fault, place = parse_lines(
        text, lowest, ignore_qid, POWERS, labels, data, indices, indptr, undecided
    )
    if fault:
        _refuse(block, place, fault, source, line, lowest)
    for entry, start in undecided[:unsettled]:
        value = float(_word(block, int(start)))
        if not np.isfinite(value):
            _refuse(block, int(start), VALUE if entry >= 0 else LABEL, source, line, lowest)
        if entry >= 0:
            data[entry] = value
        else:
            labels[-1 - entry] = value
    return ParsedRows(labels[:rows], data[:entries], indices[:entries], indptr[: rows + 1])


def _refuse(block: bytes, place: int, fault: int, source: str, line: int, lowest: int) -> None:
    word = _word(block, place)
    message = say(FAULTS[fault], word=word, lowest=lowest)
    raise DataFileError(message, source, line + block.count(b"\n", 0, place))


def _word(block: bytes, start: int) -> str:
    """From here to the next gap, shortened if it is long."""
    head = block[start : start + 400].split(b"\n")[0].split(b"#")[0].split(None, 1)
    return head[0].decode("utf-8", "replace") if head else ""


def _first_index(parts: list[ParsedRows], zero_based: bool | str) -> int:
    if zero_based != "auto":
        return 0 if zero_based else 1
    lowest = min((int(part.indices.min()) for part in parts if len(part.indices)), default=1)
    return min(lowest, 1)


def _joined(
    parts: list[ParsedRows], first: int, n_features: int | None, source: str, limits: Limits = USUAL
) -> Matrix:
    """One matrix of all the parts, the indices counted from zero."""
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
