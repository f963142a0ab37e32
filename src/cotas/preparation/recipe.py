"""How a model came about, stored beside it in its file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cotas.arrays import IntArray
from cotas.certificates import Certificate
from cotas.files.checks import array, finite, require
from cotas.preparation.moments import WAYS
from cotas.preparation.preparation import Preparation
from cotas.preparation.targets import TASKS


@dataclass(frozen=True)
class Recipe:
    """What is needed to use a model on a table, and to prove it again from the same table.

    Attributes
    ----------
    preparation : Preparation
    task : str
    target : str or None
        The column that is predicted.
    zero_based : bool or None
        How the LibSVM file counted its features, if it was one.
    rows : array or None
        The rows of the table that were trained on; None for all.
    n_rows : int
        How many rows the table had.
    hold_out : Certificate or None
        The bound for the error on future rows.
    remarks : tuple of str
        What looked suspicious about the data.
    chosen : str
        How parameters were chosen, in words.
    command : str
    seed : int
    seal : str
        The digest of what was certified: the preparation, and the model as it was.
    """

    preparation: Preparation
    task: str = "classification"
    target: str | None = None
    zero_based: bool | None = None
    rows: IntArray | None = field(default=None, repr=False)
    n_rows: int = 0
    hold_out: Certificate | None = None
    remarks: tuple[str, ...] = ()
    chosen: str = ""
    command: str = ""
    seed: int = 0
    seal: str = ""

    def check(self) -> None:
        """Refuse what a file could hold but no fit leaves behind."""
        check_preparation(self.preparation)
        require(self.task in TASKS, "the task")
        require(self.target is None or isinstance(self.target, str), "the target")
        require(isinstance(self.n_rows, int) and self.n_rows >= 0, "the number of rows")
        if self.rows is not None:
            rows = self.rows
            sound = isinstance(rows, np.ndarray) and rows.ndim == 1 and rows.dtype.kind == "i"
            require(sound, "the rows trained on")
            within = len(rows) and rows.min() >= 0 and rows.max() < self.n_rows
            require(within, "the rows trained on")
        require(self.hold_out is None or isinstance(self.hold_out, Certificate), "the bound")


def check_preparation(preparation: Any) -> None:
    """Refuse attributes that no `fit` leaves behind, before a stored preparation is used."""
    require(isinstance(preparation, Preparation), "the preparation is none")
    require(preparation.layout_ in ("columns", "dense", "sparse"), "the layout of the data")
    names = [*preparation.number_names_, *preparation.category_names_]
    require(all(type(name) is str for name in names), "the names of the columns")
    count = len(preparation.number_names_)
    for values in (preparation.means_, preparation.scales_):
        require(len(finite(values, 1, "the means and scales")) == count, "the means and scales")
    require((preparation.scales_ > 0).all(), "a scale is not positive")
    require(array(preparation.indicated_, np.bool_, 1, "the marks").shape == (count,), "the marks")
    lists = (preparation.categories_, preparation.pooled_, preparation.category_missing_)
    require(all(len(each) == len(preparation.category_names_) for each in lists), "the categories")
    words = [word for values in preparation.categories_ for word in values]
    require(all(type(word) is str for word in words), "the categories")
    sound = all(type(name) is str and way in WAYS for name, way in preparation.dates_)
    require(sound, "the columns of dates")
    if preparation.layout_ == "dense":
        positions = [name[1:] for name in preparation.number_names_]
        sound = all(p.isdecimal() and int(p) < preparation.n_features_in_ for p in positions)
        require(sound, "the columns of the matrix")
