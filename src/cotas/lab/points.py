"""Points in the plane: samples, a file of one's own, and what a link keeps of them."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.experiments import samples
from cotas.lab.state import Refused, Setting
from cotas.lab.tables import (
    MOST_BYTES,
    MOST_ROWS,
    NOT_FINITE,
    numbers_of,
    read_table,
    target_of,
    too_many_rows,
)
from cotas.plots.style import COLOURS
from cotas.preparation.held_out import hold_out_rows

MOST_CLASSES = len(COLOURS)
# Fewer rows than this are all needed for training.
FEWEST_TO_SPLIT = 30
# Of the points that are moved so many digits are kept.
DIGITS = 5
UNREADABLE = "The points in the link cannot be read; those of the sample are shown."


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
        """Return the labels, each once."""
        return np.unique(np.concatenate([self.y, self.y_new]) if len(self.y_new) else self.y)

    def moved(self, X: Any, y: Any) -> Points:
        """Return other examples to train on, in as many digits as a link keeps."""
        return checked(replace(self, X=_rounded(np.asarray(X, np.float64)), y=y, source=""))

    def alone(self) -> Points:
        """Return the examples to train on, without those to judge by."""
        return replace(self, X_new=self.X_new[:0], y_new=self.y_new[:0])

    def with_examples(self, other: Points) -> Points:
        """Return the examples of another to train on, and the own ones to judge by."""
        kinds = {self.y.dtype.kind, other.y.dtype.kind}
        if not (kinds <= {"i", "u"} or kinds <= {"U"}):
            return other
        return checked(replace(self, X=other.X, y=other.y, source=""))

    def code(self) -> str:
        """Return what makes X and y in a program."""
        if self.source:
            return self.source
        return f"X = {self.X.tolist()}\ny = {self.y.tolist()}"


class PointsField(Setting):
    """The points of a link, where they are not those of a sample."""

    def read(self, word: str) -> Points:
        try:
            packed = base64.b64decode(word + "=" * (-len(word) % 4), b"-_", validate=True)
            text = zlib.decompressobj().decompress(packed, MOST_BYTES)
            X, y, X_new, y_new, axes = json.loads(text)
            first, second = (str(axis)[:60] for axis in axes)
            return checked(Points(_plane(X), _labels(y), _plane(X_new), _labels(y_new),
                                  (first, second)))  # fmt: skip
        except (ValueError, TypeError, OverflowError, zlib.error, RecursionError):
            raise Refused(UNREADABLE) from None

    def write(self, value: Points) -> str:
        parts = (value.X, value.y, value.X_new, value.y_new)
        content = [*(part.tolist() for part in parts), value.axes]
        packed = zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 9)
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def checked(points: Points) -> Points:
    """Return the points, if a classifier can be trained on them."""
    if len(points.X) != len(points.y) or len(points.X_new) != len(points.y_new):
        raise Refused(UNREADABLE)
    if len(points.X) > MOST_ROWS or len(points.X_new) > MOST_ROWS:
        raise too_many_rows(len(points.X))
    if not (np.isfinite(points.X).all() and np.isfinite(points.X_new).all()):
        raise Refused(NOT_FINITE)
    distinct = np.unique(points.y)
    if len(distinct) < 2:
        raise Refused(
            "All the points are of one class; there is nothing to tell apart. Add a point of "
            "another."
        )
    if len(distinct) > MOST_CLASSES:
        raise Refused(
            "There are {classes} classes; {most} can be told apart by colour and marker.",
            classes=len(distinct),
            most=MOST_CLASSES,
        )
    known = np.isin(points.y_new, distinct)
    return replace(points, X_new=points.X_new[known], y_new=points.y_new[known])


def from_csv(content: bytes) -> Points:
    """Return the first two columns of numbers, and the last column as the class."""
    frame = read_table(content)
    numbers = [name for name in frame.columns[:-1] if frame[name].dtype.is_numeric()][:2]
    if len(numbers) < 2:
        raise Refused("The file needs two columns of numbers, and a last column with the class.")
    if frame[frame.columns[-1]].null_count():
        raise Refused(NOT_FINITE)
    X, y = _rounded(numbers_of(frame, numbers)), target_of(frame, "classification")
    y = y.astype(str) if y.dtype.kind not in "iu" else y
    kept, new = _split(y)
    axes = (str(numbers[0])[:60], str(numbers[1])[:60])
    return checked(Points(X[kept], y[kept], X[new], y[new], axes))


def _split(y: AnyArray) -> tuple[IntArray, IntArray]:
    """Return the rows to train on, and a quarter of them to judge by where there are enough."""
    if len(y) < FEWEST_TO_SPLIT:
        return np.arange(len(y)), np.arange(0)
    return hold_out_rows(y, "classification", 0.25, 0)


def _rounded(X: FloatArray) -> FloatArray:
    """Return each column in digits that are a small part of its span."""
    if not len(X) or not np.isfinite(X).all():
        return X
    span = np.ptp(X, axis=0)
    size = np.where(span > 0, span, np.maximum(np.abs(X).max(axis=0), 1e-300))
    places = np.clip(DIGITS - np.ceil(np.log10(size)), -300, 300).astype(int)
    columns = [[round(value, int(place)) for value in column.tolist()]
               for column, place in zip(X.T, places, strict=True)]  # fmt: skip
    return np.array(columns, dtype=np.float64).T.reshape(X.shape)


def _plane(rows: Any) -> FloatArray:
    X = np.asarray(rows, dtype=np.float64)
    if X.size and (X.ndim != 2 or X.shape[1] != 2):
        raise ValueError("points of the plane have two coordinates")
    return X.reshape(-1, 2)


def _labels(y: Sequence[Any]) -> AnyArray:
    """Read labels: whole numbers or words; nothing else is a label here."""
    kinds = {type(label) for label in y}
    if not kinds <= {int} and not kinds <= {str}:
        raise ValueError("labels are whole numbers or words")
    return np.array([label[:60] if isinstance(label, str) else label for label in y],
                    dtype=np.int64 if kinds == {int} else None)  # fmt: skip


# ---- samples -------------------------------------------------------------------------------------


def _drawn(name: str, n: int) -> Callable[[int], Points]:
    """Return a sample of the documents, and new examples to judge by: its own, or another draw."""
    make = getattr(samples, name)

    def draw(seed: int) -> Points:
        call = f"{name}({seed}, n={n})"
        if "n_new" in signature(make).parameters:
            (X, y), (X_new, y_new) = make(seed, n=n, n_new=n)
            call = f"{name}({seed}, n={n}, n_new={n}).training"
        else:
            (X, y), (X_new, y_new) = make(seed, n), make(seed + 1000, n)
        code = f"from cotas.experiments.samples import {name}\n\nX, y = {call}"
        return Points(X, y, X_new, y_new, source=code)

    return draw


def _iris(seed: int) -> Points:
    """Return the petals of three species; every third flower is kept to judge by."""
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


DATA = {
    "groups": "Two groups (Fuentes Cabrera)",
    "overlap": "Overlapping groups",
    "moons": "Moons (Fuentes-Pineda)",
    "rings": "Rings (Fuentes-Pineda)",
    "xor": "Exclusive or",
    "clouds": "Ten clouds (Rugeles Ospina)",
    "gaussians": "Two Gaussians (Rugeles Ospina)",
    "iris": "Iris, three species",
}
SAMPLES: dict[str, Callable[[int], Points]] = {
    "groups": _drawn("two_groups", 40),
    "overlap": _drawn("overlapping_groups", 80),
    "moons": _drawn("two_moons", 120),
    "rings": _drawn("two_rings", 120),
    "xor": _drawn("four_quarters", 120),
    "clouds": _drawn("ten_clouds", 200),
    "gaussians": _drawn("two_gaussians", 200),
    "iris": _iris,
}
