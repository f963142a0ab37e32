"""Rows on disk, in pages: files of any size are decoded once, and read page by page after that."""

from __future__ import annotations

import contextlib
import copy
import glob
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias, TypeVar

import numpy as np

from cotas.arrays import AnyArray, Each
from cotas.files.atomic import lock, write_atomically
from cotas.files.problems import DataFileError
from cotas.files.state import digest
from cotas.refusals import ParameterError
from cotas.running import ProgressBar
from cotas.scale.coded_pages import BEGINNING, CodedPages
from cotas.scale.decoding import Decoder, DecodingOptions, input_files
from cotas.scale.page_files import Page, PageError, read_page, write_page
from cotas.scale.shuffling import RowBatch, ShuffleBins
from cotas.source import Block, Source, in_pairs

T = TypeVar("T")
Files: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
ENDING, LIST, LOCK, VERSION = ".cotas-pages", "pages.json", "bin-lock", 2
# How files are called that a process which was killed may have left.
PARTIAL = ("bin-", f".{LIST}", f".{BEGINNING}")
PAGE_BYTES = 1 << 23


class Pages(Source):
    """Rows in pages on disk, as `open_pages` makes them; a source of row blocks.

    Attributes
    ----------
    n_rows, n_features : the shape of X
    feature_names : the names of the columns, where they have some
    folder : where the pages are
    n_bytes : how large they are together
    reused : whether they were there already
    """

    def __init__(self, folder: Path, listed: dict[str, Any], progress: bool | None = None) -> None:
        self.folder, self.progress = folder, progress
        self._token = listed.get("token")
        self.n_rows, self.n_features = int(listed["n_rows"]), int(listed["n_features"])
        names = listed["names"]
        self.feature_names = None if names is None else np.asarray(names, dtype=object)
        self.labels = None if listed["labels"] is None else np.asarray(listed["labels"])
        self.target_kind, self.zero_based = listed["target_kind"], listed["zero_based"]
        self.pages = [Page(**entry) for entry in listed["pages"]]
        self.n_bytes = sum(page.size for page in self.pages)
        self.reused = self.whole = True
        self._seen: dict[str, int] = {}
        self._lock = Lock()

    def __repr__(self) -> str:
        size = f"{self.n_rows:,} rows, {self.n_features:,} columns"
        return f"Pages({size}, {len(self.pages)} pages, {self.n_bytes / 1e6:,.1f} MB)"

    def blocks(self) -> Iterator[Block]:
        return map(self._block, self.pages)

    def map_reduce(self, function: Callable[[Block], T], each: Each = map) -> T:
        return self._sum_over(self._block, function, each)

    def _sum_over(
        self, read: Callable[[Page], Block], function: Callable[[Block], T], each: Each
    ) -> T:
        """Return one pass over the pages, of which `read` makes the blocks."""
        bar = ProgressBar(len(self.pages), "pages", self.progress, "page")

        def checked(found: Iterator[T]) -> Iterator[T]:
            for part in found:
                bar.step()
                yield part

        try:
            parts = each(lambda page: function(read(page)), self.pages)
            found: T = in_pairs(checked(iter(parts)))
        finally:
            bar.close()
        return found

    def coded(self, code: Callable[[Block], Block]) -> Source:
        """Return the source seen through a function, whose blocks are kept beside the pages."""
        return CodedPages(self, code)

    def collect(self, function: Callable[[Block], AnyArray], each: Each = map) -> Any:
        """Return what a function returns for each row, in the order of the rows in the files.

        Of a part of the pages it is the order of the pages.
        """
        if not self.whole:
            return super().collect(function, each)
        whole: Any = None

        def read(page: Page) -> tuple[AnyArray, AnyArray]:
            arrays = self._arrays(page)
            return arrays["rows"], np.asarray(function(self._as_block(page, arrays)))

        for rows, values in each(read, self.pages):
            if whole is None:
                whole = np.empty((self.n_rows, *values.shape[1:]), dtype=values.dtype)
            if whole.dtype != values.dtype:
                whole = whole.astype(np.result_type(whole.dtype, values.dtype))
            whole[rows] = values
        return whole

    def split(self, share: float) -> tuple[Pages, Pages]:
        """Divide into the first pages, and the last ones with about this share of the rows, as two
        sources.

        The order is random, so the last pages are a random part of the rows.

        Parameters
        ----------
        share : float between 0 and 1
        """
        if not 0 < share < 1:
            raise ParameterError("share", f"share must lie between 0 and 1, not {share!r}.")
        if len(self.pages) < 2:
            raise ParameterError(
                "page_bytes", "One page alone cannot be split: choose a smaller page_bytes."
            )
        starts = np.array([page.start for page in self.pages])
        cut = int(np.clip(np.searchsorted(starts, (1 - share) * self.n_rows), 1, len(starts) - 1))
        return self._some(0, cut), self._some(cut, len(starts))

    def first(self, n_rows: int) -> Pages:
        """Return the first pages, which have so many rows together.

        Parameters
        ----------
        n_rows : int
        """
        ends = [page.start + page.rows for page in self.pages]
        if n_rows not in ends:
            raise ParameterError("n_rows", f"No number of pages has {n_rows} rows together.")
        return self._some(0, ends.index(n_rows) + 1)

    def _some(self, first: int, last: int) -> Pages:
        part = copy.copy(self)
        before = self.pages[first].start
        part.pages = [replace(p, start=p.start - before) for p in self.pages[first:last]]
        part.n_rows = sum(page.rows for page in part.pages)
        part.n_bytes = sum(page.size for page in part.pages)
        part.whole, part._seen, part._lock = self.whole and part.n_rows == self.n_rows, {}, Lock()
        return part

    def _block(self, page: Page) -> Block:
        """Return the rows of a page."""
        return self._as_block(page, self._arrays(page))

    def _as_block(self, page: Page, arrays: dict[str, AnyArray]) -> Block:
        _, X, y, weights = RowBatch.of(arrays, self.n_features)
        if self.labels is not None:
            y = self.labels[y]
        elif self.target_kind in "bw":
            y = y.astype(np.bool_ if self.target_kind == "b" else np.int64)
        return Block(page.start, X, y, weights)

    def _arrays(self, page: Page) -> dict[str, AnyArray]:
        """Return the content of a page of rows."""
        try:
            return self._content(page)
        except PageError as error:
            raise self._given_up(error) from None

    def _content(self, page: Page) -> dict[str, AnyArray]:
        """Return what a file holds; its checksum is compared once, and again if it was changed."""
        path = self.folder / page.name
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            changed = -1
        known = self._seen.get(page.name) == changed
        found = read_page(path, page.size, None if known else page.checksum)
        with self._lock:
            self._seen[page.name] = changed
        return found

    def _given_up(self, error: PageError) -> PageError:
        """Say the error in words; without its list the folder is decoded anew by the next run."""
        with contextlib.suppress(OSError, ValueError), _alone_in(self.folder.parent):
            # Another process may have put whole pages there since these were opened.
            if dict(json.loads((self.folder / LIST).read_bytes())).get("token") == self._token:
                (self.folder / LIST).unlink()
        return PageError(
            f"{error} The pages will be written anew when they are opened the next time: call "
            "open_pages, or the command, once more."
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_seen": {}, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = Lock()


def open_pages(
    path: Files,
    *,
    target: str | Sequence[str] | None = None,
    weights: str | None = None,
    dtype: str = "float64",
    preparation: Any = None,
    drop: Sequence[str] = (),
    without_target: str = "error",
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    text: Mapping[str, Any] | None = None,
    seed: int = 0,
    cache: str | os.PathLike[str] | None = None,
    page_bytes: int = PAGE_BYTES,
    progress: bool | None = None,
) -> Pages:
    """Open files that need not fit into memory, as a source of row blocks.

    The files are decoded once, into pages in a folder of their own, in a random order. The next
    call finds the pages, and decodes only if a file was changed or a page is damaged. `cotas clean`
    removes them.

    Parameters
    ----------
    path : str, path or list of them
        A Parquet, Arrow, CSV or LibSVM file, a folder of such files, or a pattern such as
        "data-*.parquet" for several with the same columns.
    target : str or list of str
        The column to be predicted, or several columns of numbers; LibSVM files carry it.
    weights : str, optional
        The column of the weights of the rows; it is then no feature.
    dtype : {"float64", "float32"}
        "float32" takes half the space and time, and rounds the numbers: what is proved is about
        the rounded ones. Columns that are all in single precision stay so in any case.
    preparation : cotas.tables.Preparation, optional
        It makes numbers of the other columns, which must hold numbers without it. One that is not
        fitted yet is fitted to the files first, for which they are read twice more.
    drop : sequence of str
        Columns that are left out.
    without_target : {"error", "drop"}
        What becomes of rows in which the target is missing.
    n_features, zero_based
        Of LibSVM files; see `cotas.tables.read_libsvm`.
    text : mapping, optional
        How text tables are written: `separator`, `header`, `encoding` and `missing`, as for
        `cotas.tables.read_table`.
    seed : int, default=0
        For the order of the rows.
    cache : str or path, optional
        The folder in which pages are kept; if not given it is that of the first file.
    page_bytes : int, default=8 MiB
        About the size of a page. A few of them are in memory at a time, for each thread.
    progress : bool or None
        Show a bar while files are decoded, and for each pass that takes more than a second; None
        shows it if tqdm is installed and someone is there to look at it.

    Returns
    -------
    Pages
        What `fit`, `predict`, `score` and `certificate_.verify` take in the place of X and y.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import cotas
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("x,y\\n1,2\\n2,4\\n3,6.5\\n")
    >>> pages = cotas.tables.open_pages(folder / "a.csv", target="y")
    >>> pages
    Pages(3 rows, 1 columns, 1 pages, 0.0 MB)
    >>> model = cotas.LeastSquares().fit(pages)
    >>> model.certificate_.verify(pages)
    True
    """
    return open_as(
        path,
        DecodingOptions(
            *(_names_of(target), weights, _is_single(dtype), preparation, n_features, zero_based),
            drop=tuple(drop),
            without_target=without_target,
            text=tuple(sorted((text or {}).items())),
        ),
        seed,
        cache,
        page_bytes,
        progress,
    )


def _names_of(target: str | Sequence[str] | None) -> str | tuple[str, ...] | None:
    return target if target is None or isinstance(target, str) else tuple(target)


def _is_single(dtype: str) -> bool:
    if dtype not in ("float64", "float32"):
        raise ParameterError("dtype", f"dtype must be 'float64' or 'float32', not {dtype!r}.")
    return dtype == "float32"


def open_as(
    path: Files,
    reading: DecodingOptions,
    seed: int,
    cache: str | os.PathLike[str] | None = None,
    page_bytes: int = PAGE_BYTES,
    progress: bool | None = None,
    fewest: int = 1,
) -> Pages:
    """Open as `open_pages` does, with at least `fewest` pages where there are as many rows."""
    if page_bytes < 1:
        raise ParameterError(
            "page_bytes", f"page_bytes must be a positive number, not {page_bytes!r}."
        )
    files, preparation = input_files(path), reading.preparation
    if preparation is not None and not hasattr(preparation, "layout_"):
        Decoder(files, reading)  # refuses files that nothing can be prepared of
        preparation._fit_files(files, replace(reading, preparation=None), seed)
    made = _made_of(reading, seed, (page_bytes, fewest), files)
    folder = _folder_for(files, made, cache)
    there = _usable(folder, files, made)
    listed = there or _decode(folder, files, reading, made, seed, (page_bytes, fewest), progress)
    pages = Pages(folder, listed, progress)
    pages.reused = there is not None
    return pages


def page_folders(place: str | os.PathLike[str]) -> list[Path]:
    """Return the folders of pages beside a file of data, or in a folder and those in it."""
    path = Path(place)
    if path.is_dir() and not path.name.endswith(ENDING):
        found = [p for p in path.rglob(f"*{ENDING}*") if p.is_dir()]
    elif path.is_dir():
        found = [path]
    else:
        found = [p for p in path.parent.glob(f"{glob.escape(path.name)}.*{ENDING}*") if p.is_dir()]
    return sorted(p for p in found if _is_ours(p))


def remove_pages(place: str | os.PathLike[str]) -> tuple[int, int]:
    """Remove the pages of a file or in a folder; how many folders, and how many bytes."""
    folders = page_folders(place)
    size = sum(file.stat().st_size for folder in folders for file in folder.iterdir())
    for folder in folders:
        shutil.rmtree(folder)
    return len(folders), size


def _is_ours(folder: Path) -> bool:
    """Tell whether a folder holds nothing but what is written here."""
    return all(
        file.name == LIST or file.suffix == ".page" or file.name.startswith(PARTIAL)
        for file in folder.iterdir()
    )


# ---- whether pages are there -------------------------------------------------------------------


def _made_of(reading: DecodingOptions, seed: int, sizes: tuple[int, int], files: list[Path]) -> str:
    """Return a digest of all that the pages depend on, besides the contents of the files."""
    return digest((VERSION, [os.path.abspath(file) for file in files], reading, seed, sizes))[:16]


def _folder_for(files: list[Path], made: str, cache: str | os.PathLike[str] | None) -> Path:
    home = Path(cache) if cache is not None else files[0].parent
    if not home.is_dir():
        raise DataFileError("there is no such folder to keep pages in.", str(home))
    return home / f"{files[0].name}.{made}{ENDING}"


def _usable(folder: Path, files: list[Path], made: str) -> dict[str, Any] | None:
    """Return the list of pages that are whole and were made of these files as they are; else
    None."""
    try:
        listed = json.loads((folder / LIST).read_text(encoding="utf-8"))
        entries, inputs = [Page(**entry) for entry in listed["pages"]], listed["inputs"]
        if listed["version"] != VERSION or listed["made_of"] != made:
            return None
        if any((folder / page.name).stat().st_size != page.size for page in entries):
            return None
    except (OSError, ValueError, TypeError, KeyError):
        return None
    if len(inputs) != len(files):
        return None
    moved = False
    for file, known in zip(files, inputs, strict=True):
        now = file.stat()
        if now.st_size != known["size"]:
            return None
        if now.st_mtime_ns != known["mtime_ns"]:
            # Copied or touched: whether it was changed, its content tells.
            if _digest(file) != known["digest"]:
                return None
            known["mtime_ns"], moved = now.st_mtime_ns, True
    if moved:  # noted so that the next call need not read the file, where one may write
        with contextlib.suppress(OSError):
            write_atomically(folder / LIST, [json.dumps(listed).encode()])
    return dict(listed)


def _digest(file: Path) -> str:
    with open(file, "rb") as stream:
        found = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16))
    return found.hexdigest()


# ---- decoding ----------------------------------------------------------------------------------


def _decode(
    folder: Path,
    files: list[Path],
    reading: DecodingOptions,
    made: str,
    seed: int,
    sizes: tuple[int, int],
    progress: bool | None,
) -> dict[str, Any]:
    """Write the pages to a new folder, which then takes its place: whole or not at all.

    Returns the list of the pages that are there at the end: these, or those of a process that was
    faster.
    """
    decoder = Decoder(files, reading)
    before = [file.stat() for file in files]
    fresh = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}")
    with _alone_in(folder.parent):
        _remove_leftovers(folder)
        try:
            fresh.mkdir()
        except OSError as error:
            raise DataFileError(
                "pages cannot be kept beside it ({error}): name a folder as `cache`.",
                str(files[0]),
                error=error.strerror,
            ) from None
        handle = os.open(fresh / LOCK, os.O_RDWR | os.O_CREAT)
        lock(handle, wait=True)
    try:
        pages = _write_pages(fresh, decoder, seed, sizes, progress)
        digests = [_digest(file) for file in files]
        after = [file.stat() for file in files]
        for file, old, new in zip(files, before, after, strict=True):
            if (old.st_size, old.st_mtime_ns) != (new.st_size, new.st_mtime_ns):
                raise DataFileError("it was changed while it was read: open it again.", str(file))
        labels = list(decoder.labels) if decoder.target_kind == "U" else None
        listed = {
            "version": VERSION,
            "made_of": made,
            "token": secrets.token_hex(8),
            "n_rows": decoder.n_rows,
            "n_features": decoder.width(),
            "names": decoder.names,
            "labels": labels,
            "target_kind": decoder.kind_of_target(),
            "zero_based": decoder.zero_based(),
            "inputs": [
                {"name": file.name, "size": s.st_size, "mtime_ns": s.st_mtime_ns, "digest": digest}
                for file, s, digest in zip(files, after, digests, strict=True)
            ],
            "pages": [vars(page) for page in pages],
        }
        write_atomically(fresh / LIST, [json.dumps(listed).encode()])
        (fresh / LOCK).unlink()
        return _take_the_place(fresh, folder, listed, files, made)
    finally:
        os.close(handle)
        shutil.rmtree(fresh, ignore_errors=True)


def _remove_leftovers(folder: Path) -> None:
    """Remove what processes that were killed left of these pages; what another one writes is
    locked."""
    for left in folder.parent.glob(f"{glob.escape(folder.name)}.*"):
        with contextlib.suppress(OSError):
            handle = os.open(left / LOCK, os.O_RDWR)
            try:
                if lock(handle, wait=False):
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(handle)


def _take_the_place(
    fresh: Path, folder: Path, listed: dict[str, Any], files: list[Path], made: str
) -> dict[str, Any]:
    """Give a folder its name, unless another process has put whole pages there meanwhile.

    Those may be in use already, and hold the same rows. What was there before, damaged or of older
    files, goes when its name is taken.
    """
    gone = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}")
    with _alone_in(folder.parent):
        there = _usable(folder, files, made)
        if there is not None:
            return there
        with contextlib.suppress(FileNotFoundError):
            os.replace(folder, gone)
        try:
            os.replace(fresh, folder)
        except OSError:  # where nothing can be locked, the name may be taken by now
            there = _usable(folder, files, made)
            if there is None:
                raise
            listed = there
    shutil.rmtree(gone, ignore_errors=True)
    return listed


@contextlib.contextmanager
def _alone_in(home: Path) -> Iterator[None]:
    """Keep other processes from giving or taking names of pages in a folder, for a moment."""
    handle = -1
    with contextlib.suppress(OSError):  # Windows opens no folders
        handle = os.open(home, os.O_RDONLY)
        lock(handle, wait=True)
    try:
        yield
    finally:
        if handle >= 0:
            os.close(handle)


def _write_pages(
    folder: Path, decoder: Decoder, seed: int, sizes: tuple[int, int], progress: bool | None
) -> list[Page]:
    """Return the pages, of about so many bytes, and at least so many of them."""
    bins = ShuffleBins(folder, decoder.expected_bytes(), seed)
    bar = ProgressBar(None, "decoding", progress, "batch")
    try:
        for part in decoder.parts():
            bins.add(part)
            bar.step(rows=f"{decoder.n_rows:,}")
    finally:
        bar.close()
    if not decoder.n_rows:
        raise DataFileError("it holds no rows.", str(decoder.files[0]))
    decoder.refuse_width()
    pages: list[Page] = []
    bar = ProgressBar(len(bins.paths), "shuffling", progress, "bin")
    try:
        for part in bins.shuffled():
            for piece in _cut(part, sizes[0], max(1, decoder.n_rows // sizes[1])):
                pages.append(_write(folder, piece._replace(X=decoder.settled(piece.X)), pages))
            bar.step()
    finally:
        bar.close()
    return pages


def _cut(part: RowBatch, page_bytes: int, most: int) -> Iterator[RowBatch]:
    rows = max(1, int(page_bytes * len(part.rows) // max(1, part.n_bytes)))
    rows = min(rows, most)
    for start in range(0, len(part.rows), rows):
        yield part.take(slice(start, start + rows))


def _write(folder: Path, part: RowBatch, before: list[Page]) -> Page:
    start = before[-1].start + before[-1].rows if before else 0
    name = f"{len(before):06d}.page"
    return Page(name, start, len(part.rows), *write_page(folder / name, part.arrays()))
