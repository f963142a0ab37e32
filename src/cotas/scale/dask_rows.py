"""Rows in the partitions of Dask's arrays and frames: functions go to where the rows are.

A pass is one graph of pure tasks: a function for each partition, or for several that one worker
holds, and their sums in a fixed order, four to a task. Nothing is scattered, so a worker that dies
takes nothing with it that the scheduler cannot compute again, and the sums have the same bits for
any number of workers.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import cloudpickle
import dask
import dask.array
import numpy as np
from dask.delayed import Delayed, delayed
from scipy import sparse

from cotas.arrays import AnyArray, Each, Matrix
from cotas.certificates.numbers import refuse_inexact
from cotas.refusals import ParameterError, ParameterTypeError
from cotas.running import one_thread_in_blas
from cotas.scale.allocation import keeping_what_is_freed
from cotas.source import Block, Source, as_given, as_stored, in_groups, in_pairs

T = TypeVar("T")
# Partitions that one task goes over at most: each task costs some milliseconds of the scheduler.
LONGEST_RUN = 16
# A function of no more bytes is written into each task, and is no task of its own.
FEW_BYTES = 1 << 14


class DaskRows(Source):
    """The rows of a Dask collection, as `from_dask` makes them; a source of row blocks.

    A block is a partition that has rows. Partitions are computed anew in each pass unless the
    collections have been persisted, which is worth it where they fit into the workers' memory.

    Attributes
    ----------
    n_rows, n_features : the shape of X
    feature_names : the names of the columns of a frame
    """

    def __init__(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        parts = _partitions(X, "X")
        self.n_features = len(X.columns) if hasattr(X, "columns") else int(X.shape[1])
        names = list(X.columns) if hasattr(X, "columns") else None
        named = names is not None and all(isinstance(name, str) for name in names)
        self.feature_names = np.asarray(names, dtype=object) if named else None
        lengths = _lengths(X, parts)
        targets = _beside(y, "y", parts, lengths)
        weights = _beside(sample_weight, "sample_weight", parts, lengths)
        starts = np.append(0, np.cumsum(lengths))
        self.n_rows = int(starts[-1])
        if not self.n_rows:
            raise ParameterError("X", "X has no rows: all of its partitions are empty.")
        self._blocks = [
            (int(start), *part)
            for start, n, *part in zip(starts, lengths, parts, targets, weights, strict=False)
            if n
        ]
        self._held = X, y, sample_weight  # what was persisted is kept as long as somebody has it
        self._runs = self._cut(X)

    def _cut(self, X: Any) -> list[list[tuple[Any, ...]]]:
        """Divide the blocks into runs of as many, a power of two; together where one worker holds a
        run."""
        client: Any = getattr(dask.base.get_scheduler(), "__self__", None)
        homes = client.who_has(X) if hasattr(client, "who_has") else {}
        threads = sum(client.nthreads().values()) if homes else len(self._blocks)
        size = 1
        while size < LONGEST_RUN and 2 * size * threads <= len(self._blocks):
            size *= 2
        runs = [self._blocks[k : k + size] for k in range(0, len(self._blocks), size)]
        return [[sum(run, ())] if _have_a_home(run, homes) else run for run in runs]

    def blocks(self) -> Iterator[Block]:
        return (as_block(*dask.compute(*block)) for block in self._blocks)

    def map_reduce(self, function: Callable[[Block], T], each: Each = map) -> T:
        packed = _packed(function)
        sums = [in_groups([_call(packed, *part) for part in run], _added) for run in self._runs]
        found: T = dask.compute(in_groups(sums, _added))[0]
        return found

    def of_first(self, function: Callable[[Block], T]) -> T:
        found: T = dask.compute(_call(_packed(function), *self._blocks[0]))[0]
        return found


def _have_a_home(run: list[tuple[Any, ...]], homes: Any) -> bool:
    """Tell whether one worker holds the rows of all these blocks."""
    return bool(set.intersection(*({*homes.get(X.key, ())} for _, X, *_ in run)))


def _packed(function: Callable[[Any], Any]) -> Any:
    """Pack a function into bytes; where it holds much, once in the graph and not once for each
    partition.

    Its arrays are so unpacked at addresses that suit them; see `_aligned`.
    """
    packed = cloudpickle.dumps(function, protocol=5)
    return packed if len(packed) < FEW_BYTES else delayed(packed, pure=False, traverse=False)


@delayed(pure=False)
def _call(packed: bytes, *blocks: Any) -> Any:
    """Compute Σ of what a function returns for some blocks, each of which is four arguments."""
    function, places = pickle.loads(packed), range(0, len(blocks), 4)
    # The last digits of a product depend on how many threads BLAS has.
    with one_thread_in_blas(), keeping_what_is_freed():
        return in_pairs(function(as_block(*blocks[k : k + 4])) for k in places)


@delayed(pure=False)
def _added(parts: list[Any]) -> Any:
    return in_pairs(parts)


def from_dask(X: Any, y: Any, sample_weight: Any = None) -> DaskRows:
    """Make a source of row blocks of Dask's arrays or frames.

    `fit(X, y)` does it by itself; this is for whoever wants to give the same rows and weights to
    `fit`, `score` and `certificate_.verify`.

    Parameters
    ----------
    X : dask.array.Array with one block of columns, or dask.dataframe.DataFrame of numbers
        Blocks may be arrays or sparse matrices of SciPy; their sizes need not be known.
    y : dask.array.Array or dask.dataframe.Series with the same rows, or an array
    sample_weight : likewise, optional

    Returns
    -------
    DaskRows

    Examples
    --------
    >>> import cotas, dask.array as da
    >>> from cotas.scale import from_dask
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    >>> rows = from_dask(X, X[:, 0] > 0)
    >>> cotas.LinearSVM(lam=0.01).fit(rows).certificate_.verify(rows)
    True
    """
    if not is_dask(X):
        raise ParameterTypeError(
            "X", f"X must be an array or a frame of Dask's, not {type(X).__name__}."
        )
    if y is None:
        raise ParameterError("y", "y is missing: give the target of each row.")
    return DaskRows(X, y, sample_weight)


def is_dask(X: Any) -> bool:
    """Tell whether something is a collection of Dask's."""
    return bool(dask.is_dask_collection(X)) and hasattr(X, "to_delayed")


def _partitions(X: Any, name: str) -> list[Delayed]:
    """Return the partitions, none of which is split by columns."""
    blocks = getattr(X, "numblocks", None)
    if name == "X" and X.ndim != 2:
        raise ParameterError("X", f"X must have two dimensions, and it has {X.ndim}.")
    if blocks is not None and len(blocks) > 1 and blocks[1] != 1:
        raise ParameterError(
            name,
            f"{name} has {blocks[1]} blocks of columns, and all columns of a row are needed at "
            f"once: call {name}.rechunk({{1: -1}}) first.",
        )
    return list(np.ravel(np.asarray(X.to_delayed(), dtype=object)))


def _lengths(X: Any, parts: list[Delayed]) -> list[int]:
    """Tell how many rows each partition has; they are counted where Dask does not know it."""
    known = X.chunks[0] if hasattr(X, "chunks") else (np.nan,)
    if not np.isnan(known).any():
        return [int(n) for n in known]
    count = delayed(_n_rows, pure=False)
    return list(dask.compute(*[count(part) for part in parts]))


def _n_rows(part: Any) -> int:
    return int(part.shape[0])


def _beside(given: Any, name: str, parts: list[Delayed], lengths: list[int]) -> list[Any]:
    """Return what belongs to the rows of each partition: None, a part of an array, or a
    partition."""
    if given is None:
        return [None] * len(parts)
    if not is_dask(given):
        whole = as_given(given)
        if whole.shape[:1] != (sum(lengths),):
            size = len(whole) if whole.ndim else 1
            raise ParameterError(name, f"X has {sum(lengths)} rows, and {name} has {size}.")
        return _sent(np.split(whole, np.cumsum(lengths)[:-1]))
    chunks = getattr(given, "chunks", None)
    if chunks is not None and not np.isnan(chunks[0]).any():
        if sum(chunks[0]) != sum(lengths):
            raise ParameterError(
                name, f"X has {sum(lengths)} rows, and {name} has {sum(chunks[0])}."
            )
        if chunks[0] != tuple(lengths):
            given = given.rechunk({0: tuple(lengths)})
    found = _partitions(given, name)
    if len(found) != len(parts):
        raise ParameterError(
            name,
            f"X has {len(parts)} partitions, and {name} has {len(found)}: repartition one of them.",
        )
    return found


def _sent(parts: list[AnyArray]) -> list[Any]:
    """Send parts of an array, kept where the partitions are: they travel once, and not in each
    pass.

    The scheduler knows them as tasks of their own, so that a worker that dies takes none with it.
    """
    return list(dask.persist(*(delayed(part, pure=False, traverse=False) for part in parts)))


def as_block(start: int, X: Any, y: Any, weights: Any) -> Block:
    """Return a partition as a block of numbers."""
    X = as_stored(X)
    refuse_inexact(X, "X", f"X, in the partition that begins with row {start},")
    rows = _matrix(X)
    target = _column(y, "y", start, rows.shape[0])
    if weights is not None:
        weights = _column(weights, "sample_weight", start, rows.shape[0])
    return Block(start, rows, target, weights)


def _column(given: Any, name: str, start: int, n: int) -> AnyArray:
    found = _aligned(given)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if len(found) != n:
        raise ParameterError(
            name,
            f"The partition of X that begins with row {start} has {n} rows, and that of {name} "
            f"has {len(found)}.",
        )
    return found


def _aligned(given: Any) -> AnyArray:
    """Return an array whose numbers lie at multiples of their size.

    Those that came over the network may not, and their products then have other last digits.
    """
    return np.require(given, requirements=["C", "A"])


def _matrix(X: Any) -> Matrix:
    """Return rows as a dense or CSR matrix of real numbers."""
    if sparse.issparse(X):
        given = sparse.csr_matrix(X)
        parts = (_aligned(given.data), _aligned(given.indices), _aligned(given.indptr))
        found = sparse.csr_matrix(parts, shape=given.shape)
        found.sum_duplicates()
        return found
    if hasattr(X, "dtypes"):
        words = [str(name) for name, kind in X.dtypes.items() if not _is_number(kind)]
        if words:
            raise ParameterError(
                "X", f"The columns {words} hold no numbers: leave them out, or encode them first."
            )
        X = X.to_numpy(dtype=np.float64, na_value=np.nan)
    rows = _aligned(X)
    if rows.dtype.kind not in "fiub" or rows.ndim != 2:
        raise ParameterError("X", f"X must hold real numbers in two dimensions, not {rows.dtype}.")
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def _is_number(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "fiub"


# ---- what a fitted model makes of Dask's collections -------------------------------------------


def lazily(model: Any, X: Any, method: str) -> Any:
    """Return what a method of a fitted model returns for each row, as an array of Dask's.

    Nothing is computed before it is asked for.
    """
    parts = _partitions(X, "X")
    lengths = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * len(parts)
    one = getattr(model, method)(np.zeros((1, model.n_features_in_)))
    packed = _packed(getattr(model, method))
    blocks = [
        dask.array.from_delayed(_answer(packed, part), (n, *one.shape[1:]), dtype=one.dtype)
        for n, part in zip(lengths, parts, strict=True)
    ]
    return dask.array.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)


@delayed(pure=False)
def _answer(packed: bytes, part: Any) -> Any:
    rows, function = _matrix(part), pickle.loads(packed)
    if not rows.shape[0]:
        return function(np.zeros((1, rows.shape[1])))[:0]
    return function(rows)
