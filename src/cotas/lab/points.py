"""Points in the plane: samples, a file of one's own, and what a link keeps of them."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.experiments import samples
from cotas.files.coding import in_words
from cotas.files.csv_tables import read_csv
from cotas.files.problems import DataFileError
from cotas.lab.state import Refused
from cotas.plots.style import COLOURS
from cotas.preparation.targets import as_target, hold_out_rows

# What a link can hold, and what a page can move without delay.
MOST_POINTS = 1000
MOST_CLASSES = len(COLOURS)
# A file beyond this is no table of so few rows.
MOST_BYTES = 2_000_000
# Fewer rows than this are all needed for training.
FEWEST_TO_SPLIT = 30
# Of the points that are moved so many digits are kept.
DIGITS = 5


@dataclass(frozen=True, eq=False)
class Points:
    """Examples of two features and their classes, and others to judge by.

    Attributes
    ----------
    X : array of shape (n, 2)
    y : array of labels
    X_new, y_new : the same of examples that are not trained on; there may be none
    axes : the names of the two features
    source : the code that makes X and y; empty where they are written out
    """

    X: FloatArray
    y: AnyArray
    X_new: FloatArray
    y_new: AnyArray
    axes: tuple[str, str] = ("x₁", "x₂")
    source: str = ""

    @property
    def classes(self) -> AnyArray:
        """The labels, each once."""
        return np.unique(np.concatenate([self.y, self.y_new]) if len(self.y_new) else self.y)

    def moved(self, X: Any, y: Any) -> Points:
        """Other examples to train on, in as many digits as a link keeps."""
        return checked(replace(self, X=_rounded(np.asarray(X, np.float64)), y=y, source=""))

    def alone(self) -> Points:
        """The examples to train on, without those to judge by."""
        return replace(self, X_new=self.X_new[:0], y_new=self.y_new[:0])

    def with_examples(self, other: Points) -> Points:
        """The examples of another to train on, and the own ones to judge by."""
        kinds = {self.y.dtype.kind, other.y.dtype.kind}
        if not (kinds <= {"i", "u"} or kinds <= {"U"}):
            return other
        return checked(replace(self, X=other.X, y=other.y, source=""))

    def code(self) -> str:
        """What makes X and y in a program."""
        if self.source:
            return self.source
        return f"X = {self.X.tolist()}\ny = {self.y.tolist()}"

    def to_link(self) -> str:
        """All of it in letters that a link may hold."""
        parts = (self.X, self.y, self.X_new, self.y_new)
        content = [*(part.tolist() for part in parts), self.axes]
        packed = zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 9)
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")


@dataclass(frozen=True)
class PointsField:
    """The points of a link, where they are not those of a sample."""

    name: str = "points"
    default: Points | None = None

    def read(self, word: str) -> Points:
        try:
            packed = base64.b64decode(word + "=" * (-len(word) % 4), b"-_", validate=True)
            text = zlib.decompressobj().decompress(packed, MOST_BYTES)
            X, y, X_new, y_new, axes = json.loads(text)
            first, second = (str(axis)[:60] for axis in axes)
            return checked(Points(_plane(X), _labels(y), _plane(X_new), _labels(y_new),
                                  (first, second)))  # fmt: skip
        except (ValueError, TypeError, OverflowError, zlib.error, RecursionError):
            raise Refused("bad points") from None

    def write(self, value: Points) -> str:
        return value.to_link()


def checked(points: Points) -> Points:
    """The points, if a classifier can be trained on them."""
    if len(points.X) != len(points.y) or len(points.X_new) != len(points.y_new):
        raise Refused("bad points")
    if len(points.X) > MOST_POINTS or len(points.X_new) > MOST_POINTS:
        raise Refused("too many rows", rows=len(points.X), most=MOST_POINTS)
    if not (np.isfinite(points.X).all() and np.isfinite(points.X_new).all()):
        raise Refused("not finite")
    distinct = np.unique(points.y)
    if len(distinct) < 2:
        raise Refused("one class")
    if len(distinct) > MOST_CLASSES:
        raise Refused("too many classes", classes=len(distinct), most=MOST_CLASSES)
    if len(np.setdiff1d(points.y_new, distinct)):
        known = np.isin(points.y_new, distinct)
        return replace(points, X_new=points.X_new[known], y_new=points.y_new[known])
    return points


def read_table(content: bytes) -> Any:
    """The table of a small CSV file."""
    if len(content) > MOST_BYTES:
        raise Refused("too many rows", rows=content.count(b"\n"), most=MOST_POINTS)
    try:
        frame = in_words(read_csv(content)[0])
    except DataFileError as error:
        raise Refused("bad file", why=str(error)) from None
    if frame.height > MOST_POINTS:
        raise Refused("too many rows", rows=frame.height, most=MOST_POINTS)
    return frame


def from_csv(content: bytes) -> Points:
    """The first two columns of numbers, and the last column as the class."""
    frame = read_table(content)
    *others, last = frame.columns
    numbers = [name for name in others if frame[name].dtype.is_numeric()][:2]
    if len(numbers) < 2:
        raise Refused("no plane")
    X = frame.select(numbers).to_numpy().astype(np.float64)
    labels = frame[last]
    if labels.null_count() or not np.isfinite(X).all():
        raise Refused("not finite")
    try:
        y = as_target(labels.to_numpy(), "classification", last)
    except DataFileError as error:
        raise Refused("bad file", why=str(error)) from None
    y = y.astype(str) if y.dtype.kind not in "iu" else y
    kept, new = _split(y)
    axes = (str(numbers[0])[:60], str(numbers[1])[:60])
    X = _rounded(X)
    return checked(Points(X[kept], y[kept], X[new], y[new], axes))


def _split(y: AnyArray) -> tuple[IntArray, IntArray]:
    """The rows to train on, and a quarter of them to judge by where there are enough."""
    if len(y) < FEWEST_TO_SPLIT:
        return np.arange(len(y)), np.arange(0)
    return hold_out_rows(y, "classification", 0.25, 0)


def _rounded(X: FloatArray) -> FloatArray:
    """Each column in digits that are a small part of its span."""
    if not len(X) or not np.isfinite(X).all():
        return X
    span = np.ptp(X, axis=0)
    size = np.where(span > 0, span, np.maximum(np.abs(X).max(axis=0), 1e-300))
    places = np.clip(DIGITS - np.ceil(np.log10(size)), -300, 300).astype(int)
    columns = [[round(value, int(place)) for value in column.tolist()]
               for column, place in zip(X.T, places, strict=True)]  # fmt: skip
    return np.array(columns, dtype=np.float64).T.reshape(X.shape)


def _plane(rows: Any) -> FloatArray:
    found = np.asarray(rows, dtype=np.float64)
    return found.reshape(-1, 2) if found.size == 0 else _with_two_columns(found)


def _with_two_columns(X: FloatArray) -> FloatArray:
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError("points of the plane have two coordinates")
    return X


def _labels(y: Sequence[Any]) -> AnyArray:
    """Whole numbers or words; nothing else is a label here."""
    kinds = {type(label) for label in y}
    if not kinds <= {int} and not kinds <= {str}:
        raise ValueError("labels are whole numbers or words")
    return np.array([label[:60] if isinstance(label, str) else label for label in y],
                    dtype=np.int64 if kinds == {int} else None)  # fmt: skip


# ---- samples -------------------------------------------------------------------------------------


def _drawn(name: str, n: int) -> Callable[[int], Points]:
    """A sample of the documents, and another draw of the same to judge by."""
    make = getattr(samples, name)

    def draw(seed: int) -> Points:
        X, y = make(seed, n)
        X_new, y_new = make(seed + 1000, n)
        code = f"from cotas.experiments.samples import {name}\n\nX, y = {name}({seed}, n={n})"
        return Points(X, y, X_new, y_new, source=code)

    return draw


def _split_sample(name: str, n: int) -> Callable[[int], Points]:
    """The same for a sample that brings new examples along."""
    make = getattr(samples, name)

    def draw(seed: int) -> Points:
        (X, y), (X_new, y_new) = make(seed, n=n, n_new=n)
        code = (
            f"from cotas.experiments.samples import {name}\n\n"
            f"X, y = {name}({seed}, n={n}, n_new={n}).training"
        )
        return Points(X, y, X_new, y_new, source=code)

    return draw


def _iris(seed: int) -> Points:
    """The petals of three species; every third flower is kept to judge by."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    new = (np.arange(len(y)) + seed) % 3 == 0
    code = (
        "import numpy as np\nfrom sklearn.datasets import load_iris\n\n"
        "X, y = load_iris(return_X_y=True)\n"
        f"kept = (np.arange(len(y)) + {seed}) % 3 != 0\nX, y = X[kept, 2:], y[kept]"
    )
    axes = ("petal length [cm]", "petal width [cm]")
    return Points(X[~new, 2:], y[~new], X[new, 2:], y[new], axes, code)


SAMPLES: dict[str, Callable[[int], Points]] = {
    "groups": _drawn("two_groups", 40),
    "overlap": _drawn("overlapping_groups", 80),
    "moons": _drawn("two_moons", 120),
    "rings": _drawn("two_rings", 120),
    "xor": _drawn("four_quarters", 120),
    "clouds": _split_sample("ten_clouds", 200),
    "gaussians": _split_sample("two_gaussians", 200),
    "iris": _iris,
}
