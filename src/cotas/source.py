"""A source of row blocks: all that a fit and its proof need of the data are sums over blocks.

Whoever has rows somewhere else, on disk or on other machines, writes a `Source`; solvers and core
are written on it once. A function that goes over the blocks is pure and can be pickled, and what
it returns can be added up. The sums run in the order of the blocks, two by two, so that no bit of
them depends on how many threads or machines there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral
from typing import Any, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.refusals import ParameterError

T = TypeVar("T")
# Bytes of a block in double precision: a few of them are in memory at a time.
BLOCK_BYTES = 1 << 23
# Parts that are added up in one step: a power of two, so that their sums are those of pairs.
TOGETHER = 4


class NotInBlocksError(ValueError):
    """The error where an estimator needs arrays and was given a source of row blocks."""


class Block(NamedTuple):
    """Some consecutive rows: the number of the first, X, y, and the weights; None for ones."""

    start: int
    X: Matrix
    y: AnyArray
    weights: FloatArray | None = None

    @property
    def n_rows(self) -> int:
        """Tell how many rows there are; never zero."""
        return int(self.X.shape[0])

    def shares(self) -> FloatArray:
        """Return the weights, or ones."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    def spans(self, size: int = 1 << 21) -> list[slice]:
        """Return parts that stay in the cache in double precision, by the shape of X alone."""
        n, d = self.X.shape
        entries = self.X.nnz / max(1, n) if sparse.issparse(self.X) else d
        rows = int(np.clip(size // (8 * max(1.0, entries)), 1, n))
        return [slice(a, min(a + rows, n)) for a in range(0, n, rows)]


def rows_of(block: Block) -> str:
    """Say in words which rows of the source a block holds, counted from zero."""
    n = max((1, *getattr(block.X, "shape", ())[:1]))
    return f"rows {block.start} to {block.start + n - 1} of the source"


class Sums(tuple[Any, ...]):
    """Several results of a block, each added up by itself.

    >>> Sums((1, 2.5)) + Sums((2, 0.5))
    (3, 3.0)
    """

    __slots__ = ()

    def __new__(cls, *parts: Any) -> Self:
        return super().__new__(cls, parts[0] if len(parts) == 1 else parts)

    def __add__(self, other: Any) -> Any:
        return Sums(tuple(a + b for a, b in zip(self, other, strict=True)))


def in_pairs(parts: Iterable[T]) -> T:
    """Compute Σ of the parts in their order, two by two: few roundings, and always the same ones.

    >>> in_pairs(["a", "b", "c"])
    'abc'
    """
    stack: list[Any] = []
    for count, part in enumerate(parts, start=1):
        stack.append(part)
        for _ in range((count & -count).bit_length() - 1):
            last = stack.pop()
            stack[-1] = stack[-1] + last
    if not stack:
        raise ParameterError("X", "The source has no rows.")
    whole = stack.pop()
    while stack:
        whole = stack.pop() + whole
    found: T = whole
    return found


def in_groups(parts: Sequence[T], add: Callable[[Sequence[T]], T]) -> T:
    """Compute the same sum, `add` making that of up to four parts at once: fewer steps than of two
    by two.

    >>> in_groups("abcdefg", lambda some: f"({'+'.join(some)})")
    '((a+b+c+d)+(e+f+g))'
    """
    while len(parts) > 1:
        groups = (parts[k : k + TOGETHER] for k in range(0, len(parts), TOGETHER))
        parts = [add(group) if len(group) > 1 else group[0] for group in groups]
    return parts[0]


class Source(ABC):
    """Rows that come in blocks, with their y and their weights.

    Attributes
    ----------
    n_rows, n_features : the shape of X
    feature_names : of the columns, where they have names
    """

    n_rows: int
    n_features: int
    feature_names: AnyArray | None = None

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Return the blocks in their order, none of them empty; the same ones each time."""

    @abstractmethod
    def map_reduce(self, function: Callable[[Block], T], each: Each = map) -> T:
        """Sum what a pure function that can be pickled returns for each block, as `in_pairs` adds.

        `each` may call it in threads of this process; a source that works elsewhere leaves it.
        """

    def of_first(self, function: Callable[[Block], T]) -> T:
        """Return what a function that can be pickled returns for the first block, there where it
        lies."""
        for block in self.blocks():
            return function(block)
        raise ParameterError("X", "The source has no blocks.")

    def collect(self, function: Callable[[Block], AnyArray], each: Each = map) -> Any:
        """Collect what a function returns for each row, in the order in which the rows were
        given."""
        return np.concatenate(self.map_reduce(Listed(function), each))

    def coded(self, code: Callable[[Block], Block]) -> Source:
        """Return the source seen through a function that makes few bytes of a block, for many
        passes.

        The function is pure and can be pickled. Here it is called in each pass; a source may keep
        what it returns.
        """
        return Changed(self, code)


@dataclass(frozen=True)
class Listed:
    """The result of a function in a list, so that adding up makes a longer one."""

    function: Callable[[Block], Any]

    def __call__(self, block: Block) -> list[Any]:
        return [self.function(block)]


def as_given(values: Any) -> Any:
    """Return an array that holds what was given: masks are kept, and what a list holds is not
    rounded.

    Whoever reads the blocks refuses what cannot be used.
    """
    if isinstance(values, np.ma.MaskedArray):
        return values
    found = np.asarray(values)
    if isinstance(values, list | tuple) and found.dtype.kind in "fU":
        # Beside a float a whole number becomes one, and beside a word it becomes a word.
        exact = np.asarray(values, dtype=object)
        if exact.shape == found.shape and exact.ravel().tolist() != found.ravel().tolist():
            return exact
    return found


def as_stored(X: Any) -> Any:
    """Return the same entries of a sparse matrix, without what its flags say of how they are
    stored.

    Whoever asks for the flags then has them computed. Anyone can set them, or change the arrays
    after they were computed, and what is proved would be about other data than those that others
    see in the matrix. No entry is copied; places outside of the matrix are refused, and those of 64
    bits shortened, which scikit-learn's trees ask for. What is no sparse matrix of two dimensions
    is handed back.
    """
    if not sparse.issparse(X) or X.ndim != 2 or X.format not in ("csr", "csc", "bsr", "coo"):
        return X
    made: Any = type(X)
    given: Any = X
    if X.format == "coo":
        return made((given.data, given.coords), shape=X.shape)
    found = made((given.data, given.indices, given.indptr), shape=X.shape)
    found.check_format()
    if found.indices.dtype != np.int32 and max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:
        found.indices, found.indptr = (a.astype(np.int32) for a in (found.indices, found.indptr))
    return found


def rows_as_given(X: Any) -> Any:
    """Read a CSR matrix; entries that are stored in parts stay so, since their sum may be no
    double."""
    X = as_stored(X)
    if X.format != "coo" or X.has_canonical_format:
        return X.tocsr()
    order = np.argsort(X.row, kind="stable")
    pointers = np.append(0, np.cumsum(np.bincount(X.row, minlength=X.shape[0])))
    return sparse.csr_matrix((X.data[order], X.col[order], pointers), shape=X.shape)


class Arrays(Source):
    """Arrays in memory as a source of row blocks.

    Parameters
    ----------
    X : array or CSR matrix
    y : array with an entry for each row, or a row of targets
    weights : array ≥ 0, optional
    block_rows : rows of a block; by the shape of X if not given

    Examples
    --------
    >>> import numpy as np
    >>> source = Arrays(np.arange(6.0).reshape(3, 2), np.ones(3), block_rows=2)
    >>> source.map_reduce(lambda block: block.X.sum())
    np.float64(15.0)
    """

    def __init__(
        self, X: Matrix, y: Any, weights: Any = None, *, block_rows: int | None = None
    ) -> None:
        self.X = rows_as_given(X) if sparse.issparse(X) else as_given(X)
        self.y, self.weights = as_given(y), None if weights is None else as_given(weights)
        if self.X.ndim != 2:
            raise ParameterError(
                "X", f"X must have rows and columns, and it has {self.X.ndim} dimensions."
            )
        self.n_rows, self.n_features = (int(size) for size in self.X.shape)
        for name, given in (("y", self.y), ("weights", self.weights)):
            if given is not None and given.shape[:1] != (self.n_rows,):
                found = len(given) if given.ndim else 1
                raise ParameterError(name, f"X has {self.n_rows} rows, and {name} has {found}.")
        if not self.n_rows:
            raise ParameterError("X", "X holds no rows.")
        size: Any = block_rows
        if size is not None and not (isinstance(size, Integral) and int(size) > 0):
            raise ParameterError(
                "block_rows", f"block_rows must be a whole number above zero: {size!r}."
            )
        whole = Block(0, self.X, self.y)
        self.block_rows = int(block_rows or whole.spans(BLOCK_BYTES)[0].stop)

    def blocks(self) -> Iterator[Block]:
        return map(self._block, range(0, self.n_rows, self.block_rows))

    def map_reduce(self, function: Callable[[Block], T], each: Each = map) -> T:
        starts = range(0, self.n_rows, self.block_rows)
        found: T = in_pairs(each(lambda start: function(self._block(start)), starts))
        return found

    def _block(self, start: int) -> Block:
        span = slice(start, min(start + self.block_rows, self.n_rows))
        weights = None if self.weights is None else self.weights[span]
        return Block(start, self.X[span], self.y[span], weights)


class Shaped(Protocol):
    """A table of another library: a data frame, or a collection of Dask's."""

    @property
    def shape(self) -> Any:
        """Tell how many rows and columns."""


# What users hand over as X; an estimator reads it before anything else.
MatrixLike: TypeAlias = "Matrix | ArrayLike | Shaped | Source"


# Collections of other libraries, by the module that makes a source of them.
READERS = dict.fromkeys(("dask", "dask_expr"), "cotas.scale.dask_rows")


def comes_in_blocks(X: Any) -> bool:
    """Tell whether X is a source of row blocks, or a collection that one can be made of."""
    return isinstance(X, Source) or type(X).__module__.partition(".")[0] in READERS


def reader_of(X: Any) -> Any:
    """Return the module that reads the collections of the library that X is of."""
    return import_module(READERS[type(X).__module__.partition(".")[0]])


def source_of(X: Any, y: Any = None, sample_weight: Any = None) -> Source | None:
    """Return X as a source of row blocks, or None if it is none and nothing that one is made of."""
    if not comes_in_blocks(X):
        return None
    if not isinstance(X, Source):
        found: Source = reader_of(X).from_dask(X, y, sample_weight)
        return found
    if y is not None:
        raise ParameterError("y", "A source of row blocks has its own y; leave y out.")
    if sample_weight is not None:
        raise ParameterError(
            "sample_weight",
            "A source of row blocks has its own weights, whose rows may be in another order than "
            "yours: give them to the source, for example open_pages(…, weights=…).",
        )
    return X


@dataclass(frozen=True)
class Composed:
    """A function of a block that was changed before."""

    function: Callable[[Block], Any]
    change: Callable[[Block], Block]

    def __call__(self, block: Block) -> Any:
        return self.function(self.change(block))


class Changed(Source):
    """A source seen through a pure function of its blocks, and gone over by `each`."""

    def __init__(
        self, source: Source, change: Callable[[Block], Block] | None = None, each: Each = map
    ) -> None:
        self.source, self.change, self.each = source, change, each
        self.n_rows, self.n_features = source.n_rows, source.n_features
        self.feature_names = source.feature_names

    def blocks(self) -> Iterator[Block]:
        found = self.source.blocks()
        return found if self.change is None else map(self.change, found)

    def map_reduce(self, function: Callable[[Block], T], each: Each = map) -> T:
        whole = function if self.change is None else Composed(function, self.change)
        found: T = self.source.map_reduce(whole, self.each if each is map else each)
        return found

    def of_first(self, function: Callable[[Block], T]) -> T:
        whole = function if self.change is None else Composed(function, self.change)
        found: T = self.source.of_first(whole)
        return found

    def collect(self, function: Callable[[Block], AnyArray], each: Each = map) -> Any:
        whole = function if self.change is None else Composed(function, self.change)
        return self.source.collect(whole, self.each if each is map else each)

    def coded(self, code: Callable[[Block], Block]) -> Source:
        whole = code if self.change is None else Composed(code, self.change)
        return Changed(self.source.coded(whole), None, self.each)


def is_sparse(block: Block) -> bool:
    """Tell whether the rows of a block are a sparse matrix."""
    return bool(sparse.issparse(block.X))


def shape_of_targets(block: Block) -> tuple[int, ...]:
    """Return the shape of y of a block."""
    return np.shape(block.y)


def double(X: Matrix) -> Matrix:
    """Return rows in double precision; those that are so already are not copied."""
    return X.astype(np.float64, copy=False)
