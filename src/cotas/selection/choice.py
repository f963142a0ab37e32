"""What comes back from choosing a value by validation."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from cotas.arrays import BoolArray, FloatArray, IntArray
from cotas.certificates import Certificate, ValidationBound
from cotas.certificates.presentation import NO_FORMULAS
from cotas.fitting.path import proved_between
from cotas.words import again, say


def number(value: object, digits: int = 4) -> str:
    """Return a number as a table shows it; "–" where there is none."""
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.{digits}g}"
    return str(value)


def gap_in_words(gap: float) -> str:
    """Return a relative gap, or "–" where there is none."""
    return "–" if math.isnan(gap) else f"{gap:.1e}"


class PrintedResult:
    """A result that shows itself as a table with a title above it and sentences below.

    `_title`, `_table` (the names of the columns, and the rows) and `_conclusions` are its words.
    """

    _title: Callable[[], str]
    _table: Callable[[], tuple[list[str], list[list[str]]]]
    _conclusions: Callable[[], list[str]]

    def __repr__(self) -> str:
        """Show the table, its columns as wide as they need be, numbers to the right."""
        names, rows = self._table()
        widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
        lines = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in [names, *rows]
        ]
        return "\n".join([self._title(), *(f"  {line}" for line in lines + self._conclusions())])

    def _repr_html_(self) -> str:
        names, rows = self._table()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(
            _row(row, k == getattr(self, "best_index", None)) for k, row in enumerate(rows)
        )
        below = "".join(f"<p>{html.escape(line)}</p>" for line in self._conclusions())
        return (
            f"{NO_FORMULAS}<b>{html.escape(self._title())}</b><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{below}</div>"
        )

    def _plain(self, *names: str) -> dict[str, Any]:
        """Return some attributes in plain Python types, None standing for NaN."""
        return {name: _without_nan(getattr(self, name)) for name in names}


def _row(cells: Sequence[str], bold: bool) -> str:
    style = " style='font-weight: bold'" if bold else ""
    inner = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
    return f"<tr{style}>{inner}</tr>"


def _without_nan(found: object) -> Any:
    if isinstance(found, np.ndarray):
        found = found.tolist()
    if isinstance(found, list | tuple):
        return [_without_nan(item) for item in found]
    return None if isinstance(found, float) and not math.isfinite(found) else found


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Evaluation(PrintedResult):
    """An evaluation: what fits made of two kinds of rows, of several values, and what is proved of
    each.

    The attributes are those that `Choice` and `LearningCurves` have in common.
    """

    training_loss: FloatArray
    validation_loss: FloatArray
    training_error: FloatArray
    validation_error: FloatArray
    gaps: FloatArray
    status: tuple[str, ...]
    certificates: tuple[list[Certificate], ...]
    loss: str
    n_validation: int
    interrupted: bool = False

    @property
    def missed(self) -> BoolArray:
        """Tell which values have a fit that did not prove the gap asked for."""
        return np.array([status == "MISSED tol" for status in self.status])

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the models in plain Python types, ready for JSON (NaN as None)."""
        names = ("training_loss", "validation_loss", "training_error", "validation_error", "gaps")
        plain = self._plain(*names, "status", "loss", "n_validation", "interrupted")
        return plain | {"certificates": [[c.to_dict() for c in each] for each in self.certificates]}

    def _figures(self, k: int) -> list[str]:
        """Return the losses and errors of one value, as the table has them."""
        four = (self.training_loss, self.validation_loss, self.training_error)
        return [f"{column[k]:.4f}" for column in (*four, self.validation_error)]


def headings() -> list[str]:
    """Return the headings of the columns with the losses and errors."""
    names = ("training loss", "validation loss", "training error", "validation error")
    return [say(name) for name in names]


UNDER, BEST, OVER, LEVEL = "under", "best", "over", "level"


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Choice(Evaluation):
    """The values that were tried, how each did, and the one that was chosen.

    The arrays have an entry for each value. The values stand from the simplest model to the most
    complex one where it is known which way that is, else as they were given.

    Attributes
    ----------
    over : str
        The parameter.
    values : tuple
    c : array or None
        1/(λn), n being the rows trained on, where λ was chosen.
    training_loss, validation_loss, training_error, validation_error : arrays
        The mean loss; and the share of rows that are wrong, or for numbers the root of the mean
        square. With folds, over the validation rows of all of them.
    fold_losses : array of shape (n_values, n_folds)
        The validation loss of each fold.
    loss_interval, error_interval : arrays of shape (n_values, 2)
        Between which the validation loss and error of the exact optimum lie, proved from the
        gaps; NaN where nothing is known.
    gaps : array
        The largest relative gap of the fits of each value; NaN where they have none.
    status : tuple of str
        "proved" if the gap asked for was proved, "MISSED tol" if not, "gap measured" where none
        was asked for, "holds, no gap", "does not hold" or "no certificate".
    regimes : tuple of str
        "best" for the chosen value, "under" where both losses are larger, "over" where only the
        validation loss is, "level" where that is no larger; empty where the values have no order.
    tightened : array of int
        The level that each value was fitted at in the end: 0 for the tol it was given, and a
        hundredth of it for each level more.
    certificates : tuple with a list for each value
        The certificate of each of its folds.
    best_index : int
    safe : bool or None
        Whether no other exact optimum can have a smaller validation loss; None if not known.
    regret : float
        By how much the validation loss of another exact optimum can be smaller at most, proved
        from the gaps; NaN if not known.
    ranking : str
        The two in words.
    hold_out : Certificate
        Of kind "hold-out": a bound for the error on future rows of the chosen model as it was
        fitted on the training rows, corrected for the choice. Of kind "none" with the reason why,
        if there is no such bound.
    best_model_ : estimator or None
        Fitted with the chosen value on all the data; None with `refit=False` or after Ctrl-C.
    validated_model_ : estimator or None
        The chosen model as it was fitted on the training rows: what `hold_out` is about. None
        with folds.
    between : ValidationBound or None
        What no λ between the values can beat, if it was asked for.
    loss, by : str
        The name of the loss, and whether "loss" or "error" decided.
    n_training, n_validation : int
        Rows; with folds, the mean number trained on, and all that were judged by.
    seconds : array
        Spent on the fits of each value.
    interrupted : bool
        Whether Ctrl-C ended the work early: the values here are those that were finished.
    """

    over: str
    values: tuple[Any, ...]
    c: FloatArray | None
    fold_losses: FloatArray
    loss_interval: FloatArray
    error_interval: FloatArray
    regimes: tuple[str, ...]
    tightened: IntArray
    best_index: int
    safe: bool | None
    ranking: str
    regret: float
    hold_out: Certificate
    by: str
    n_training: int
    seconds: FloatArray
    best_model_: Any = field(default=None)
    validated_model_: Any = field(default=None)
    between: ValidationBound | None = field(default=None)

    @property
    def best_value(self) -> Any:
        """Return the chosen value."""
        return self.values[self.best_index]

    @property
    def best_c(self) -> float | None:
        """Compute ĉ of Clasificación lineal: 1/(λn) of the chosen λ, n being the rows trained
        on."""
        return None if self.c is None else float(self.c[self.best_index])

    @property
    def standard_errors(self) -> FloatArray:
        """Compute how much the mean over the folds scatters, for each value; NaN with one fold."""
        k = self.fold_losses.shape[1]
        if k == 1:
            return np.full(len(self.values), np.nan)
        return np.asarray(self.fold_losses.std(axis=1, ddof=1) / np.sqrt(k))

    @property
    def at_the_end(self) -> bool:
        """Tell whether the chosen value is the first or the last: a better one may lie beyond."""
        return bool(self.regimes) and self.best_index in (0, len(self.values) - 1)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the models in plain Python types, ready for JSON (NaN as None)."""
        values = [v if isinstance(v, Real | str | None) else str(v) for v in self.values]
        names = ("over", "best_index", "best_c", "safe", "ranking", "regret", "regimes", "by")
        arrays = ("c", "fold_losses", "loss_interval", "error_interval", "tightened", "seconds")
        plain = super().to_dict() | self._plain(*names, *arrays, "n_training")
        best = {"values": values, "best_value": values[self.best_index]}
        return plain | best | {"hold_out": self.hold_out.to_dict()}

    def _title(self) -> str:
        chosen = f"{self.over} = {number(self.best_value)}"
        if self.best_c is not None:
            chosen += f" (ĉ = {self.best_c:.4g})"
        return say(
            "Chosen by the {measure}: {chosen}, among {count} values, {training} rows to train on "
            "and {validation} to judge by",
            measure=say("validation loss") if self.by == "loss" else say("validation error"),
            chosen=chosen,
            count=len(self.values),
            training=self.n_training,
            validation=self.n_validation,
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        names = [self.over, *(["c"] if self.c is not None else []), *headings()]
        names += [say("relative gap"), say("certificate")]
        names += [say("regime")] if self.regimes else []
        rows = []
        for k, value in enumerate(self.values):
            row = [number(value), *([number(float(self.c[k]))] if self.c is not None else [])]
            status = [say(self.status[k]), *([say("tightened")] if self.tightened[k] else [])]
            row += [*self._figures(k), gap_in_words(self.gaps[k]), ", ".join(status)]
            rows.append(row + ([say(self.regimes[k])] if self.regimes else []))
        return names, rows

    def _conclusions(self) -> list[str]:
        lines = [say("Loss: {loss}.", loss=say(self.loss)), again(self.ranking)]
        lines.append(self.hold_out.statement)
        if self.missed.any():
            late = ", ".join(number(v) for v, m in zip(self.values, self.missed, strict=True) if m)
            not_proved = "The gap asked for was not proved at {over} = {values}."
            lines.insert(1, say(not_proved, over=self.over, values=late))
        if self.between is not None:
            lines.append(proved_between(self.between))
        if self.at_the_end and len(self.values) > 1:
            lines.append(
                say("The chosen value is the last one on its side: a better one may lie beyond it.")
            )
        if self.interrupted:
            lines.append(say("Interrupted: these are the values that were finished."))
        return lines


def regimes_of(
    best: int, training: FloatArray, validation: FloatArray, ordered: bool
) -> tuple[str, ...]:
    """Find under- and overfitting (Clasificación lineal), known by the losses of values in their
    order.

    Both losses are larger where too little was learned; only that of other data where too much was.
    """
    if not ordered:
        return ()
    found = []
    for k in range(len(training)):
        if k == best or not validation[k] > validation[best]:
            found.append(BEST if k == best else LEVEL)
        elif training[k] == training[best]:
            found.append(UNDER if k < best else OVER)
        else:
            found.append(UNDER if training[k] > training[best] else OVER)
    return tuple(found)
