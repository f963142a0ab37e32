"""What mistakes on rows that were held out prove of the mistakes to come.

If n rows are drawn independently of each other and of the model, which errs with probability p,
the number of mistakes is binomial. The upper bound of Clopper and Pearson is the largest p for
which k mistakes or fewer are not rarer than 1 − confidence, a quantile of a beta distribution.

A model that was chosen among m by these rows is the best of m such draws. Each of the m bounds
fails with a probability of at most (1 − confidence)/m, so all of them hold at once with the
confidence asked for, and with them the bound of the one that was chosen.

For a loss between zero and B the mean of n values is q·B, and the bound is the largest p ≥ q with
n·kl(q, p) ≤ log(m/(1 − confidence)), kl(q, p) = q log(q/p) + (1−q) log((1−q)/(1−p)): Hoeffding's
inequality in its sharpest form (1963, Theorem 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv, rel_entr

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.ledger import plain_fields

NOT_ABOUT_OTHERS = (
    "It assumes that the rows are independent draws from where future rows come from, and that "
    "nothing but the choice counted here was decided by looking at them."
)


def hold_out_bound(
    errors: Any,
    n: int | None = None,
    confidence: float = 0.95,
    tried: int = 1,
    *,
    largest: float | None = None,
) -> Certificate:
    """How often a model errs on future rows at most, from its mistakes on rows it has not seen.

    For mistakes it is the exact bound of Clopper and Pearson. For losses between zero and
    `largest` it is Hoeffding's, in its sharpest form; a loss without a largest value has none,
    since a rare enough row could cost any amount. Rows with weights have none either.

    Parameters
    ----------
    errors : int, or array with one entry for each row
        The number of mistakes; or for each row whether it is one; or with `largest` its loss.
    n : int, optional
        The number of rows, where `errors` is their count.
    confidence : float, default=0.95
        The probability, over the draw of these rows, with which the bound holds.
    tried : int, default=1
        Among how many models this one was chosen by its errors on the same rows.
    largest : float, optional
        The largest loss that a row can have.

    Returns
    -------
    Certificate
        Of kind "hold-out": `lower` is what was measured, `upper` the bound.

    Examples
    --------
    >>> import cotas
    >>> print(cotas.hold_out_bound(3, 100))
    Certificate: hold-out, holds
      With 95% confidence the error on future rows is at most 0.0757; here 3 of 100 rows are wrong.
      error on future rows, at most  0.0757108
      error on these rows            0.03
      rows                           100
      confidence                     0.95
      models to choose from          1
      proved in                      Clopper and Pearson 1934
      Note: It assumes that the rows are independent draws from where future rows come from, and \
that nothing but the choice counted here was decided by looking at them.
    >>> cotas.hold_out_bound(3, 100, tried=20).upper > cotas.hold_out_bound(3, 100).upper
    True
    """
    _check(confidence, tried)
    if largest is None:
        wrong, rows = _counted(errors, n)
        return _of_mistakes(wrong, rows, float(confidence), int(tried))
    losses = _losses(errors, n, largest)
    return _of_losses(float(losses.mean()), len(losses), float(confidence), int(tried), largest)


@dataclass(frozen=True)
class HeldOut:
    """The predictions for the rows that were held out: `check` compares them with the labels."""

    predictions: AnyArray = field(repr=False)
    confidence: float = 0.95
    tried: int = 1
    coef: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False)
    intercept: float = 0.0

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        """The bound; X and y are the rows that were held out, in the same order."""
        y = np.asarray(y).ravel()
        if len(y) != len(self.predictions):
            raise ValueError(f"y has {len(y)} labels for {len(self.predictions)} predictions.")
        wrong = np.asarray(self.predictions) != y
        found = hold_out_bound(wrong, confidence=self.confidence, tried=self.tried)
        return replace(found, witness=self)

    def about(self, coef: FloatArray, intercept: Any) -> Self:
        """The predictions are what is counted, whatever parameters they come from."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types."""
        return plain_fields(self)


def upper_error(wrong: int, n: int, risk: float) -> float:
    """The largest p with P(k ≤ wrong) ≥ risk for k mistakes in n draws of probability p."""
    return 1.0 if wrong == n else float(betaincinv(wrong + 1, n - wrong, 1.0 - risk))


def upper_mean(q: float, n: int, risk: float) -> float:
    """The largest p ≥ q with n·kl(q, p) ≤ log(1/risk)."""
    room = math.log(1.0 / risk) / n

    def beyond(p: float) -> float:
        return float(rel_entr(q, p) + rel_entr(1.0 - q, 1.0 - p)) - room

    top = 1.0 - 1e-15
    if q >= top or beyond(top) <= 0:
        return 1.0
    return min(1.0, float(brentq(beyond, q, top, xtol=1e-14)) + 1e-13)


def _of_mistakes(wrong: int, n: int, confidence: float, tried: int) -> Certificate:
    upper = upper_error(wrong, n, (1.0 - confidence) / tried)
    return _certificate(
        wrong / n,
        upper,
        confidence,
        tried,
        n,
        f"With {100 * confidence:g}% confidence the error on future rows is at most {upper:.4f}; "
        f"here {wrong} of {n} rows are wrong.",
        "Clopper and Pearson 1934",
        vacuous=wrong == n,
    )


def _of_losses(mean: float, n: int, confidence: float, tried: int, largest: float) -> Certificate:
    share = upper_mean(min(1.0, mean / largest), n, (1.0 - confidence) / tried)
    return _certificate(
        mean,
        share * largest,
        confidence,
        tried,
        n,
        f"With {100 * confidence:g}% confidence the mean loss on future rows is at most "
        f"{share * largest:.6g}, if none is above {largest:g}; on these {n} rows it is {mean:.6g}.",
        "Hoeffding 1963, Theorem 1",
        vacuous=share >= 1.0,
    )


def _certificate(
    lower: float,
    upper: float,
    confidence: float,
    tried: int,
    n: int,
    statement: str,
    reference: str,
    vacuous: bool,
) -> Certificate:
    chosen = f" The choice among {tried} is accounted for by a union bound." if tried > 1 else ""
    return conclude(
        kind="hold-out",
        lower=lower,
        upper=upper,
        vacuous=vacuous,
        statement=statement + chosen,
        reference=reference,
        figures={"rows": n, "confidence": confidence, "models to choose from": tried},
        remarks=(NOT_ABOUT_OTHERS,),
        charge=1e-9 * upper,
        witness=None,
        sketch=None,
    )


def _is_real(value: Any) -> bool:
    return isinstance(value, Real)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral)


def _check(confidence: Any, tried: Any) -> None:
    if not _is_real(confidence) or not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, for example 0.95: {confidence!r}.")
    if not _is_whole(tried) or tried < 1:
        raise ValueError(f"tried must be a whole number from 1 on, not {tried!r}.")


def _counted(errors: Any, n: Any) -> tuple[int, int]:
    """The mistakes and the rows, from a count of both or from a mark for each row."""
    if np.ndim(errors) == 1:
        marks = np.asarray(errors)
        if not len(marks) or not np.isin(marks, (0, 1)).all():
            raise ValueError(
                "errors must tell for each row whether it is a mistake; for losses give `largest`."
            )
        if n is not None and n != len(marks):
            raise ValueError(f"errors has {len(marks)} rows, and n={n!r}.")
        return int(marks.sum()), len(marks)
    if not _is_whole(n) or n < 1:
        raise ValueError(f"n, the number of rows, must be a whole number from 1 on, not {n!r}.")
    if not _is_whole(errors) or not 0 <= errors <= n:
        raise ValueError(f"errors must be a whole number between 0 and n={n}, not {errors!r}.")
    return int(errors), int(n)


def _losses(errors: Any, n: Any, largest: Any) -> FloatArray:
    if not _is_real(largest) or not 0 < largest < math.inf:
        raise ValueError(f"largest must be a finite number above zero, not {largest!r}.")
    losses = np.asarray(errors, dtype=np.float64)
    if losses.ndim != 1 or not len(losses) or (n is not None and n != len(losses)):
        raise ValueError("With `largest`, errors must hold the loss of each row.")
    if not (losses >= 0).all() or not (losses <= largest).all():
        raise ValueError(
            f"Each loss must lie between 0 and largest={largest:g}; they lie between "
            f"{losses.min():g} and {losses.max():g}."
        )
    return losses
