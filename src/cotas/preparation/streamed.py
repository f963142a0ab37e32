"""What can be learned of a table that is read once, some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray, BoolArray, IntArray
from cotas.files.cells import understood
from cotas.files.frames import polars
from cotas.files.names import no_column
from cotas.files.problems import DataFileError
from cotas.files.tables import batches
from cotas.scale.decoding import DecodingOptions, kind_of, without
from cotas.scale.shuffling import Foremost, scattered

if TYPE_CHECKING:
    from polars import DataFrame

# So many rows, drawn from all of them, are enough to tell what the columns are.
SAMPLE_ROWS, BATCH_ROWS = 100_000, 50_000
# Of tables with many columns fewer: so many cells, 64 MiB of numbers, but no fewer rows than these.
MOST_CELLS, FEWEST_ROWS = 1 << 23, 1000


class Drawn(NamedTuple):
    """Some rows of a table, drawn at random, how many it has, and whether all could be drawn."""

    frame: DataFrame
    n_rows: int
    whole: bool
    decimal_commas: tuple[str, ...] = ()

    def target(self, name: str) -> AnyArray:
        """Return a column as an array."""
        return np.asarray(self.frame[name].to_numpy())


def most_rows(files: Sequence[Path], reading: DecodingOptions, rows: int) -> int:
    """Return so many rows, or as many as have no more cells than fit into little memory."""
    head = next(iter(batches(str(files[0]), 100, types={}, **dict(reading.text))), None)
    width = 1 if head is None else max(1, head.features.width)
    return min(rows, max(FEWEST_ROWS, MOST_CELLS // width))


def draw_rows(
    files: Sequence[Path],
    reading: DecodingOptions,
    seed: int,
    most: int = SAMPLE_ROWS,
    among: Callable[[IntArray, int], BoolArray] | None = None,
) -> Drawn:
    """Read all the rows once, and keep some: each is as likely as any other.

    A row is kept if a number that looks random, made of its own number, is small enough; what is
    small enough is halved whenever too many are kept. So it does not matter how it is read.

    Parameters
    ----------
    files : tables with the same columns
    reading : what is read of them
    seed : int
    most : int
        Between half as many rows and so many are drawn, or all if there are fewer.
    among : function of the numbers of the rows drawn and of how many there are, optional
        Which of them are kept, before anything is learned of them; all if not given.
    """
    pl = polars()
    kept: list[Any] = []
    n_rows, count, halvings = 0, 0, 0
    commas: set[str] = set()
    some_rows = most_rows(files, reading, BATCH_ROWS)
    for file in files:
        for table in batches(str(file), some_rows, types={}, **dict(reading.text)):
            commas.update(table.decimal_commas)
            frame = without(table, reading).features
            rows = np.arange(n_rows, n_rows + frame.height)
            n_rows += frame.height
            numbers = pl.Series(DRAW, scattered(rows, seed)), pl.Series(ROW, rows)
            frame = frame.with_columns(*numbers)
            kept.append(_small_enough(frame, halvings))
            count += kept[-1].height
            while count > most:
                halvings += 1
                kept = [_small_enough(part, halvings) for part in kept]
                count = sum(part.height for part in kept)
    if not count:
        raise DataFileError("it holds no rows.", str(files[0]))
    whole = pl.concat(kept, how="vertical_relaxed")
    if among is not None:
        whole = whole.filter(pl.Series(among(whole[ROW].to_numpy(), n_rows)))
        if not whole.height:
            raise DataFileError("too few rows are left to train on.", str(files[0]))
    whole = whole.drop(DRAW, ROW)
    if kind_of(files[0]) == "csv":
        # Words for missing values are gone already, those that are values here are not.
        whole, *_ = understood(whole, False, str(files[0]), gone=())
    gone = [name for name in reading.targets if name not in whole.columns]
    if gone:
        raise DataFileError(no_column(gone[0], whole.columns), str(files[0]))
    return Drawn(whole, n_rows, not halvings, tuple(sorted(commas)))


def learn(
    preparation: Any,
    files: Sequence[Path],
    reading: DecodingOptions,
    seed: int,
    foremost: tuple[float, float] | None = None,
) -> Drawn:
    """Fit a preparation to files of any size: what columns are from some rows, the rest from all.

    The files are read once for the sample and once for what the columns hold; a table of no more
    rows than the sample may have is learned from it alone.

    Parameters
    ----------
    preparation : Preparation
    files, reading, seed : as for `draw_rows`
    foremost : (expected bytes, share), optional
        Only of the rows that have the first places among the pages, all but that share.
    """
    among = None if foremost is None else ToTrainOn(foremost[0], seed, foremost[1])
    most = most_rows(files, reading, SAMPLE_ROWS)
    drawn = draw_rows(files, reading, seed, most, among)
    apart = [*reading.targets, *([reading.weights] if reading.weights else [])]
    some = drawn.frame.drop(apart)
    if drawn.whole:
        preparation.fit(some).know_commas(drawn.decimal_commas)
        return drawn
    chosen = None if among is None else among.all_of(drawn.n_rows)
    frames = (frame.drop(apart) for frame in _frames(files, reading, chosen))
    preparation.fit_batches(frames, sample=some).know_commas(drawn.decimal_commas)
    return drawn


def _frames(
    files: Sequence[Path], reading: DecodingOptions, chosen: Callable[[IntArray], BoolArray] | None
) -> Iterator[Any]:
    """Yield all the rows, or those that are chosen, some at a time."""
    pl, first = polars(), 0
    some_rows = most_rows(files, reading, BATCH_ROWS)
    for file in files:
        for table in batches(str(file), some_rows, types={}, **dict(reading.text)):
            frame = without(table, reading).features
            rows = np.arange(first, first + frame.height)
            first += frame.height
            yield frame if chosen is None else frame.filter(pl.Series(chosen(rows)))


def rows_to_learn_from(n_rows: int, share: float) -> int:
    """Tell how many of the rows, in the order of the pages, come before those that are set aside.

    `Pages.split` sets aside none of them, unless a page has more rows than the share.
    """
    return int(np.clip(np.ceil((1 - share) * n_rows), 1, max(1, n_rows - 1)))


@dataclass(frozen=True)
class ToTrainOn:
    """A choice of the rows that are not set aside; their order is known before they are
    prepared."""

    size: float
    seed: int
    share: float

    def __call__(self, rows: IntArray, n_rows: int) -> BoolArray:
        return np.asarray(self.all_of(n_rows).among(rows))

    def all_of(self, n_rows: int) -> Foremost:
        """Return the same for all rows, as they come."""
        return Foremost(n_rows, self.size, self.seed, rows_to_learn_from(n_rows, self.share))


DRAW, ROW = "\x00number drawn", "\x00number of the row"


def _small_enough(frame: DataFrame, halvings: int) -> DataFrame:
    pl = polars()
    return frame.filter(pl.col(DRAW) <= (2**64 - 1) >> halvings)
