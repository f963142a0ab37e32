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
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv, rel_entr

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.core.rounding import above, gamma, total_up, up
from cotas.certificates.numbers import whole
from cotas.certificates.presentation import at_most
from cotas.certificates.witnesses import Parametric
from cotas.refusals import ParameterError
from cotas.words import in_one, say

# Logarithms of `Decimal` are right to the last of these digits; so much covers all their errors.
SIXTY_DIGITS, SLIGHT = Context(prec=60), Decimal("1e-20")
HALF_LOG_TWO_PI = Decimal("0.9189385332046727417803297364056176398613974736377834128171515405")
MOST_TERMS = 1_000_000
COUNTS = "The number of mistakes and that of rows."
LOSSES = "The losses of these rows, and that none can be larger than said."
HOEFFDING = "Hoeffding 1963, Theorem 1"
WRONG = (
    "With {sure}% confidence the error on future rows is at most {upper}; here {wrong} of {n} rows "
    "are wrong."
)
MEAN_LOSS = (
    "With {sure}% confidence the mean loss on future rows is at most {upper}, if none is above "
    "{most:g}; on these {n} rows it is {measured:.6g}."
)
UNION = "The choice among {tried} is accounted for by a union bound."
PREDICTIONS = "The predictions: neither the model that made them nor X is looked at."

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
    """Bound how often a model errs on future rows, from its mistakes on rows it has not seen.

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
      With 95% confidence the error on future rows is at most 0.07572; here 3 of 100 rows are wrong.
      error on future rows, at most  0.0757108
      error on these rows            0.03
      rows                           100
      confidence                     0.95
      models to choose from          1
      proved in                      Clopper and Pearson 1934
      Taken on trust: The number of mistakes and that of rows.
      Note: It assumes that the rows are independent draws from where future rows come from, and \
that nothing but the choice counted here was decided by looking at them.
    >>> cotas.hold_out_bound(3, 100, tried=20).upper > cotas.hold_out_bound(3, 100).upper
    True
    """
    if not _is_real(confidence) or not 0 < confidence < 1:
        raise ParameterError(
            "confidence", f"confidence must lie between 0 and 1, for example 0.95: {confidence!r}."
        )
    if not whole(tried) or tried < 1:
        raise ParameterError("tried", f"tried must be a whole number from 1 on, not {tried!r}.")
    # confidence is the decimal number that is printed.
    sure, risk = repr(float(confidence)), (1 - Fraction(repr(float(confidence)))) / int(tried)
    if largest is None:
        wrong, n = _counted(errors, n)
        measured = wrong / n
        # With little confidence the bound can be below what was measured.
        upper, most = max(upper_error(wrong, n, risk), measured), 1.0
        said, reference, trusted = WRONG, "Clopper and Pearson 1934", COUNTS
        values = {"upper": at_most(upper, 4), "wrong": wrong, "n": n}
    else:
        losses, most = _losses(errors, n, largest), float(largest)
        n, measured = len(losses), float(losses.mean())
        share = min(1.0, above(total_up(losses) / most / n, 2))
        upper = min(most, above(upper_mean(share, n, risk) * most))
        said, reference, trusted = MEAN_LOSS, HOEFFDING, LOSSES
        values = {"upper": at_most(upper), "most": most, "n": n, "measured": measured}
    statement = say(said, sure=f"{(Decimal(sure) * 100).normalize():f}", **values)
    if tried > 1:
        statement = in_one([statement, say(UNION, tried=tried)])
    return conclude(
        "hold-out",
        measured,
        upper,
        statement=statement,
        reference=reference,
        witness=None,
        sketch=None,
        figures={"rows": n, "confidence": float(sure), "models to choose from": tried},
        remarks=(NOT_ABOUT_OTHERS,),
        trusted=(trusted,),
        vacuous=upper >= most,
    )


@dataclass(frozen=True)
class HeldOut(Parametric):
    """The predictions for the rows that were held out: `check` compares them with the labels."""

    predictions: AnyArray = field(repr=False)
    confidence: float = 0.95
    tried: int = 1
    coef: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False)
    intercept: float = 0.0

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        """Return the bound; X and y are the rows that were held out, in the same order."""
        y = np.asarray(y).ravel()
        if len(y) != len(self.predictions):
            raise ParameterError(
                "y", f"y has {len(y)} labels for {len(self.predictions)} predictions."
            )
        wrong = np.asarray(self.predictions) != y
        found = hold_out_bound(wrong, confidence=self.confidence, tried=self.tried)
        return replace(found, witness=self, trusted=(PREDICTIONS,))


def upper_error(wrong: int, n: int, risk: Fraction) -> float:
    """Return a p with P(k ≤ wrong) ≤ risk, proved, for k mistakes in n draws of probability p.

    It is hardly larger than the smallest such p, which SciPy finds without a proof.
    """
    found = 1.0 if wrong == n else 1.0 - float(betaincinv(n - wrong, wrong + 1, float(risk)))
    limit = _logarithm(risk)
    return _first(found, lambda p: _log_probability(wrong, n, p) <= limit)


def upper_mean(q: float, n: int, risk: Fraction) -> float:
    """Return a p ≥ q with n·kl(q, p) ≥ log(1/risk), proved, hardly larger than the smallest."""
    room = -_logarithm(risk) / n

    def beyond(p: float) -> float:
        return float(rel_entr(q, p) + rel_entr(1.0 - q, 1.0 - p)) - float(room)

    top = 1.0 - 2.0**-50
    if q >= top or beyond(top) <= 0:
        return 1.0
    return _first(float(brentq(beyond, q, top, xtol=1e-15)), lambda p: _divergence(q, p) >= room)


def _first(found: float, proves: Callable[[float], bool]) -> float:
    """Find the first number from `found` on, in growing steps, that is proved; one needs no
    proof."""
    step = 2.0**-46
    while 0.0 <= found < 1.0 and not proves(found):
        found, step = up(found + step * (1.0 - found) * max(found, 2.0**-40)), 4.0 * step
    return min(1.0, found) if found >= 0.0 else 1.0


def _log_probability(wrong: int, n: int, p: float) -> Decimal:
    """Compute log P(k ≤ wrong), rounded up.

    The last term of Σ C(n, k) pᵏ(1−p)ⁿ⁻ᵏ times 1 + r + r r′ + …, the ratios of each term to the one
    before it; they fall, so that what is left out is less than a geometric series.
    """
    k = np.arange(wrong, max(0, wrong - MOST_TERMS), -1, dtype=np.float64)
    ratios = k / (n - k + 1) * ((1.0 - p) / p)
    if len(ratios) < wrong and not ratios[0] < 1.0 - 2.0**-40:
        return Decimal("Infinity")
    with np.errstate(over="ignore", under="ignore"):
        terms = np.cumprod(ratios)
    # Twice, since 1 − r may have lost digits.
    rest = 2.0 * terms[-1] / (1.0 - ratios[0]) if len(terms) < wrong else 0.0
    total = above(1.0 + total_up(terms) + float(rest), 8) * (1.0 + gamma(8 * len(terms) + 8))
    with localcontext(SIXTY_DIGITS):
        likely = Decimal(p).ln() * wrong + (1 - Decimal(p)).ln() * (n - wrong)
        choices = _log_factorial(n) - _log_factorial(wrong) - _log_factorial(n - wrong)
        return likely + choices + Decimal(up(total)).ln() + SLIGHT * (n + 1)


def _log_factorial(m: int) -> Decimal:
    """Compute log m! within `SLIGHT`: Stirling's series errs by less than 1/(1680m⁷)."""
    if m < 1000:
        return Decimal(math.factorial(m)).ln()
    x = Decimal(m)
    tail = 1 / (12 * x) - 1 / (360 * x**3) + 1 / (1260 * x**5)
    return (x + Decimal("0.5")) * x.ln() - x + HALF_LOG_TWO_PI + tail


def _divergence(q: float, p: float) -> Decimal:
    """Compute kl(q, p) = q log(q/p) + (1−q) log((1−q)/(1−p)), rounded down."""
    with localcontext(SIXTY_DIGITS):
        pairs = [(Decimal(q), Decimal(p)), (1 - Decimal(q), 1 - Decimal(p))]
        parts: list[Decimal] = [a * (a / b).ln() for a, b in pairs if a > 0]
        return sum(parts, -SLIGHT)


def _logarithm(risk: Fraction) -> Decimal:
    """Compute log risk, rounded down."""
    with localcontext(SIXTY_DIGITS):
        return (Decimal(risk.numerator) / Decimal(risk.denominator)).ln() - SLIGHT


def _is_real(value: object) -> bool:
    return isinstance(value, Real)


def _counted(errors: Any, n: Any) -> tuple[int, int]:
    """Return the mistakes and the rows, from a count of both or from a mark for each row."""
    if np.ndim(errors) == 1:
        marks = np.asarray(errors)
        if not len(marks) or not np.isin(marks, (0, 1)).all():
            raise ParameterError(
                "errors",
                "errors must tell for each row whether it is a mistake; for losses give `largest`.",
            )
        if n is not None and n != len(marks):
            raise ParameterError("errors", f"errors has {len(marks)} rows, and n={n!r}.")
        return int(marks.sum()), len(marks)
    if not whole(n) or n < 1:
        raise ParameterError(
            "n", f"n, the number of rows, must be a whole number from 1 on, not {n!r}."
        )
    if not whole(errors) or errors > n:
        raise ParameterError(
            "errors", f"errors must be a whole number between 0 and n={n}, not {errors!r}."
        )
    return int(errors), int(n)


def _losses(errors: Any, n: Any, largest: Any) -> FloatArray:
    if not _is_real(largest) or not 0 < largest < math.inf:
        raise ParameterError(
            "largest", f"largest must be a finite number above zero, not {largest!r}."
        )
    losses = np.asarray(errors, dtype=np.float64)
    if losses.ndim != 1 or not len(losses) or (n is not None and n != len(losses)):
        raise ParameterError("errors", "With `largest`, errors must hold the loss of each row.")
    if not (losses >= 0).all() or not (losses <= largest).all():
        raise ParameterError(
            "errors",
            f"Each loss must lie between 0 and largest={largest:g}; they lie between "
            f"{losses.min():g} and {losses.max():g}.",
        )
    return losses
