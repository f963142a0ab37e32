"""What is counted while rows are predicted, and said of it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, BoolArray
from cotas.cli.saved import Saved, TrainedOn
from cotas.files.tables import Table
from cotas.preparation.columns import ColumnWarning
from cotas.words import say


class PredictionTally:
    """What was counted while the rows went by."""

    def __init__(self, saved: Saved) -> None:
        self.rows = self.certified = self.judged = self.wrong = 0
        self.squares = 0.0
        self.certifies = self.classifies = False
        self.odd: list[str] = []
        # Of all rows, and of those with a target: a fit leaves the others out.
        self._all, self._with_target = saved.seen_before(), saved.seen_before()

    @property
    def trained(self) -> TrainedOn | None:
        """How many of the rows were trained on, if the model tells."""
        alone = self._with_target
        return alone if alone is not None and alone.count else self._all

    def see(self, X: Any, there: BoolArray | None) -> None:
        """Count prepared rows, and compare them with those trained on; `there`: with a target."""
        self.rows += X.shape[0]
        if self._all is not None and self._with_target is not None:
            self._all.add(X)
            self._with_target.add(X if there is None or there.all() else X[there])

    def to_dict(self) -> dict[str, Any]:
        """In plain types."""
        return {
            "rows": self.rows,
            "certified": self.certified if self.certifies else None,
            "test_error": self.error,  # "error" is what went wrong, in every document
            "test_rows": self.judged,
            "odd_cells": self.odd,
            "rows_trained_on": None if self.trained is None else self.trained.count,
            "rows_trained_on_told": self.trained is not None and self.trained.told,
        }

    @property
    def error(self) -> float | None:
        """The share of wrong rows, or the root mean square; None without the truth."""
        if not self.judged:
            return None
        if self.classifies:
            return self.wrong / self.judged
        return float(np.sqrt(self.squares / self.judged))

    def prepared(self, saved: Saved, table: Table) -> Any:
        """What the model takes; cells that are not what it expects are kept for the notes."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ColumnWarning)
            X = saved.input_of(table)
        later = say(" Rows are counted from row {row} on.", row=self.rows + 1) if self.rows else ""
        self.odd += [f"{warning.message}{later}" for warning in caught]
        return X

    def judge(self, predictions: AnyArray, truth: AnyArray) -> None:
        """Compare with what the table says."""
        self.judged += len(truth)
        if self.classifies:
            self.wrong += int((predictions.astype(str) != truth.astype(str)).sum())
        else:
            self.squares += float(((predictions - truth.astype(np.float64)) ** 2).sum())

    def notes(self) -> list[str]:
        """In words."""
        lines = [f"{say('Note')}: {words}" for words in self.odd]
        if self.certifies and self.rows:
            lines.append(
                say(
                    "Certified: {count} of {rows} predictions.",
                    count=self.certified,
                    rows=self.rows,
                )
            )
        if self.error is not None:
            lines.append(self._told_error())
        count = None if self.trained is None else self.trained.count
        if count:
            lines.append(
                say(
                    "{count} of these {rows} rows were trained on: their error says little "
                    "about new ones.",
                    count=count,
                    rows=self.rows,
                )
            )
        if self.trained is not None and not self.trained.told:
            lines.append(
                say(
                    "Whether these rows were trained on cannot be told of sparse rows in several "
                    "batches: hold all in memory (--rows {rows}).",
                    rows=self.rows,
                )
            )
        return lines

    def _told_error(self) -> str:
        if self.judged == self.rows:
            words = (
                "The table has the target: wrong predictions {error:.4g}."
                if self.classifies
                else "The table has the target: root mean square error {error:.4g}."
            )
        else:
            words = (
                "{judged} of these {rows} rows have the target: wrong predictions {error:.4g}."
                if self.classifies
                else "{judged} of these {rows} rows have the target: root mean square error "
                "{error:.4g}."
            )
        return say(words, error=self.error, judged=self.judged, rows=self.rows)
