"""Blocks of pages as few bytes: what is computed of each page once, and read in all later passes.

They lie in the folder of the pages, so that whatever removes or replaces these takes them along.
The name of a file says what it was made of and which bytes it holds. Whatever is wrong with one, or
with writing it, its block is made of its page again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each
from cotas.files.atomic import remove_unless_locked, replacing
from cotas.files.state import digest
from cotas.scale.page_files import Page, PageError, page_pieces
from cotas.source import Block, Source

if TYPE_CHECKING:
    from cotas.scale.pages import Pages

T = TypeVar("T")
# To be raised when the same function comes to return something else.
VERSION = 1
BEGINNING = "codes-"
NAME = re.compile(BEGINNING + r"([0-9a-f]{32})-(\w+)-([0-9a-f]+)-([0-9a-f]{8})\.page")
FULL = (errno.ENOSPC, errno.EDQUOT)


class CodedPages(Source):
    """Pages seen through a function of their blocks; what it returns is kept beside them.

    Only one set of such files is kept: those that another function returned are removed. Where
    nothing can be written, and where rows stay sparse, the function is called in each pass.
    """

    def __init__(self, pages: Pages, code: Callable[[Block], Block]) -> None:
        self.pages, self.code = pages, code
        self.n_rows, self.n_features = pages.n_rows, pages.n_features
        self.feature_names = pages.feature_names
        made_of = [(page.name, page.start, page.size, page.checksum) for page in pages.pages]
        self._key, self._writes, self._full = digest((VERSION, code, made_of)), True, False
        self._kept = self._found()

    def blocks(self) -> Iterator[Block]:
        return map(self._block, self.pages.pages)

    def map_reduce(self, function: Callable[[Block], T], each: Each = map) -> T:
        return self.pages._sum_over(self._block, function, each)

    def _block(self, page: Page) -> Block:
        kept = self._kept.get(page.name)
        if kept is not None:
            with contextlib.suppress(OSError):  # gone or damaged
                return self._as_block(kept, self.pages._content(kept))
        block = self.code(self.pages._block(page))
        if self._writes and not sparse.issparse(block.X):
            self._keep(page, block)
        return block

    def _as_block(self, kept: Page, arrays: dict[str, AnyArray]) -> Block:
        columns, y, weights = arrays.get("columns"), arrays.get("y"), arrays.get("weights")
        shape = (self.n_features, kept.rows)
        if columns is None or y is None or columns.shape != shape or len(y) != kept.rows:
            raise PageError(f"{kept.name} holds something else.")
        sound = columns.dtype == np.uint8 and y.dtype.kind in "fiu"
        if weights is not None:
            sound = sound and weights.shape == y.shape and weights.dtype == np.float64
            sound = sound and bool(np.isfinite(weights).all() and (weights >= 0).all())
        if not sound:
            raise PageError(f"{kept.name} holds other numbers.")
        return Block(kept.start, columns.T, y, weights)

    def _keep(self, page: Page, block: Block) -> None:
        """Write a block, whole or not at all; where that cannot be done, no others are tried."""
        arrays = {"columns": np.asarray(block.X.T), "y": np.asarray(block.y)}
        if block.weights is not None:
            arrays["weights"] = block.weights
        pieces, size, checksum = page_pieces(arrays)
        number = page.name.removesuffix(".page")
        name = f"{BEGINNING}{self._key}-{number}-{size:x}-{checksum:08x}.page"
        try:
            with replacing(self.pages.folder / name, for_good=False) as file:
                file.writelines(pieces)
            self._kept[page.name] = Page(name, page.start, page.rows, size, checksum)
        except OSError as error:
            self._writes, self._full = False, self._full or error.errno in FULL
        if self._full:  # others need the room more; another thread may have written meanwhile
            self._remove([kept.name for kept in list(self._kept.values())])

    def _found(self) -> dict[str, Page]:
        """Return the files of these pages and this function; those of others are removed."""
        pages = {page.name: page for page in self.pages.pages}
        found, rest = {}, []
        with contextlib.suppress(OSError):
            for name in os.listdir(self.pages.folder):
                matched = NAME.fullmatch(name)
                page = (
                    pages.get(f"{matched[2]}.page") if matched and matched[1] == self._key else None
                )
                if matched and page:
                    size, checksum = int(matched[3], 16), int(matched[4], 16)
                    found[page.name] = Page(name, page.start, page.rows, size, checksum)
                elif name.startswith((BEGINNING, f".{BEGINNING}")):
                    rest.append(name)
        self._remove(rest)
        return found

    def _remove(self, names: list[str]) -> None:
        for name in names:
            remove_unless_locked(self.pages.folder / name)
