"""Structural and estimation error: bias and variance over training sets (Fuentes Cabrera, §4.1).

For a row with the number y = t + noise, and predictions f₁ … f_R of models trained on R samples,

    mean (y − fᵣ)² = (y − f̄)² + mean (fᵣ − f̄)²,      y − f̄ = (y − t) + (t − f̄),

f̄ being their mean. So, averaged over the rows, exactly

    error = noise + bias² + variance + 2·mean (y − t)(t − f̄),

and the last term, which is zero on average over the noise, is what the simulation leaves open.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.fitting.parameters import check_jobs
from cotas.refusals import ParameterError, ParameterTypeError
from cotas.running import thread_count
from cotas.selection.choice import PrintedResult, gap_in_words, number
from cotas.selection.fits import Fit, FitMonitor, Fitter, gather, proof_of, seen_by_last, tol_of
from cotas.selection.parameter import (
    Parameter,
    check_estimator,
    final_step,
    find_parameter,
    is_whole,
    read_values,
)
from cotas.selection.ranking import Standing
from cotas.selection.splits import DataSplit, take
from cotas.selection.yardstick import Counted, Yardstick
from cotas.stops import InterruptedWarning
from cotas.words import say

Draw = Callable[[np.random.Generator], tuple[Matrix, Any]]
HELD_OUT = 0.3
NO_PARAMETER = Parameter("model", "")
NOT_MEASURED = Counted(np.nan, np.nan, 0.0)


@dataclass(frozen=True, repr=False, eq=False)
class BiasVariance(PrintedResult):
    """A decomposition of the expected squared error of a model for each value of a parameter.

    Attributes
    ----------
    over, values : the parameter and its values, as they were given
    bias_squared : array
        mean (t − f̄)², the structural error; it is larger by variance/repeats on average than it
        would be with infinitely many samples. Without the truth t it contains the noise.
    variance : array
        mean (fᵣ − f̄)², the estimation error.
    noise : float
        mean (y − t)² of the test rows, which no model can avoid; NaN without the truth.
    error : array
        mean (y − fᵣ)², over the test rows and the samples.
    remainder : array
        error − noise − bias² − variance: what the simulation leaves open; 0 without the truth.
    gaps, status
        The largest relative gap and the least that is proved among the fits of each value.
    repeats, n_test : int
        Training samples, and test rows.
    interrupted : bool
        Whether Ctrl-C ended it early: `repeats` is then what was finished.
    """

    over: str
    values: tuple[Any, ...]
    bias_squared: FloatArray
    variance: FloatArray
    noise: float
    error: FloatArray
    remainder: FloatArray
    gaps: FloatArray
    status: tuple[str, ...]
    repeats: int
    n_test: int
    interrupted: bool = False

    @property
    def best_index(self) -> int:
        """Return the value with the smallest error."""
        return int(np.argmin(self.error))

    @property
    def best_value(self) -> Any:
        """Return the value with the best balance of bias and variance."""
        return self.values[self.best_index]

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain Python types, ready for JSON (NaN as None)."""
        arrays = ("bias_squared", "variance", "error", "remainder", "gaps", "noise", "status")
        values = [v if isinstance(v, int | float | str) else str(v) for v in self.values]
        plain = self._plain("over", *arrays, "repeats", "n_test", "interrupted")
        return plain | {"values": values}

    def _title(self) -> str:
        return say(
            "Bias and variance over {repeats} samples, on {rows} test rows",
            repeats=self.repeats,
            rows=self.n_test,
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        known = not np.isnan(self.noise)
        names = [self.over, say("bias²") if known else say("bias² + noise"), say("variance")]
        names += [*([say("noise"), say("remainder")] if known else []), say("error")]
        rows = []
        for k, value in enumerate(self.values):
            figures = [self.bias_squared[k], self.variance[k]]
            figures += [*([self.noise, self.remainder[k]] if known else []), self.error[k]]
            row = [number(value), *(number(float(figure)) for figure in figures)]
            rows.append([*row, gap_in_words(self.gaps[k]), say(self.status[k])])
        return [*names, say("relative gap"), say("certificate")], rows

    def _conclusions(self) -> list[str]:
        best = number(self.best_value)
        said = [say("The smallest error: {over} = {best}.", over=self.over, best=best)]
        if np.isnan(self.noise):
            said.append(say("Without the truth, bias and noise cannot be told apart."))
        if self.interrupted:
            said.append(say("Interrupted: these are the samples that were finished."))
        return said


def bias_variance(
    model: Any,
    draw: Draw | tuple[Matrix, Any],
    over: str | None = None,
    values: Any = None,
    *,
    truth: Callable[[Matrix], Any] | None = None,
    test: tuple[Matrix, Any] | None = None,
    repeats: int = 100,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    progress: bool | None = None,
) -> BiasVariance:
    """Estimate bias and variance of a regression, by training it on many samples.

    Parameters
    ----------
    model : regressor of cotas or scikit-learn, or a pipeline
    draw : function of a numpy Generator that returns a training sample (X, y); or data (X, y)
        Of data, bootstrap samples are taken, and three tenths of the rows are kept for the test.
    over, values : the parameter to vary and its values, as in `choose`; none for the model as it is
        All values see the same samples.
    truth : function of X, optional
        The mean of y for each row, so that bias and noise can be told apart.
    test : (X, y), optional
        The rows to measure on; by default one more draw.
    repeats : int, default=100
        Training samples, at least two.
    n_jobs, progress : as in `choose`
    random_state : int, RandomState or None
        For the samples.

    Returns
    -------
    BiasVariance
        After Ctrl-C, over the samples that were finished.

    Examples
    --------
    >>> import cotas, numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> def wave(X):
    ...     return np.sin(3 * X[:, 0])
    >>> def draw(rng):
    ...     X = rng.uniform(-1, 1, size=(25, 1))
    ...     return X, wave(X) + 0.3 * rng.normal(size=25)
    >>> model = make_pipeline(PolynomialFeatures(), cotas.LeastSquares())
    >>> found = cotas.bias_variance(model, draw, "polynomialfeatures__degree", [1, 3, 7],
    ...                             truth=wave, repeats=40, random_state=0)
    >>> bool(found.bias_squared[0] > found.bias_squared[1])  # a line is too simple
    True
    >>> bool(found.variance[2] > found.variance[1])  # and degree 7 follows the noise
    True
    """
    _check(model, draw, repeats, n_jobs)
    parameter = NO_PARAMETER if over is None else find_parameter(model, over)
    if over is not None and values is None:
        raise ParameterError("values", f"values must be given for over={over!r}.")
    wanted = [None] if over is None else read_values(values, parameter)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    sample, (X_test, y_test) = _source(draw, test, seed)
    threads = thread_count(n_jobs, repeats)
    fitter = Fitter(model, parameter, Yardstick("squared", False), alone=threads == 1)
    watch = FitMonitor("bias_variance", progress, repeats, "sample")

    def work(r: int) -> tuple[FloatArray, list[Fit]]:
        X, y = sample(np.random.default_rng([seed, r + 1]))
        part = DataSplit(X, np.asarray(y, dtype=np.float64), None, X_test, y_test, None)
        fits = [_fit(fitter, value, part) for value in wanted]
        return np.array([np.asarray(fit.model.predict(X_test)).ravel() for fit in fits]), fits

    found, interrupted = gather(work, range(repeats), threads, watch), watch.interrupted
    if len(found) < 2:
        raise KeyboardInterrupt("Interrupted before two samples were finished.")
    if interrupted:
        words = say("Interrupted: {count} samples were finished.", count=len(found))
        warnings.warn(words, InterruptedWarning, stacklevel=2)
    target = None if truth is None else np.asarray(truth(X_test), dtype=np.float64).ravel()
    names = ("model", (type(model).__name__,)) if over is None else (over, tuple(wanted))
    return _decomposed(names, [found[r] for r in sorted(found)], y_test, target, interrupted)


def _fit(fitter: Fitter, value: object, part: DataSplit) -> Fit:
    """Return one value on one sample, with its certificates; how well it does is measured later."""
    model = fitter.fresh()
    if value is not None:
        fitter.parameter.set(model, value)
    fitter.train(model, value, part)
    last = final_step(model)
    proved = proof_of(last, seen_by_last(model, part.X), part)
    return Fit(value, model, NOT_MEASURED, NOT_MEASURED, proved, None, tol_of(last), 0.0)


def _decomposed(
    names: tuple[str, tuple[Any, ...]],
    runs: list[tuple[FloatArray, list[Fit]]],
    y: FloatArray,
    truth: FloatArray | None,
    interrupted: bool,
) -> BiasVariance:
    predictions = np.stack([found for found, _ in runs])  # repeats, values, rows
    centre = predictions.mean(axis=0)
    error = np.square(y - predictions).mean(axis=(0, 2))
    variance = np.square(predictions - centre).mean(axis=(0, 2))
    bias = np.square((y if truth is None else truth) - centre).mean(axis=1)
    noise = np.nan if truth is None else float(np.square(y - truth).mean())
    known = bias + variance + (0.0 if truth is None else noise)
    standings = [Standing(v, tuple(f[k] for _, f in runs)) for k, v in enumerate(names[1])]
    return BiasVariance(
        over=names[0],
        values=names[1],
        bias_squared=bias,
        variance=variance,
        noise=noise,
        error=error,
        remainder=np.zeros(len(bias)) if truth is None else error - known,
        gaps=np.array([standing.gap for standing in standings]),
        status=tuple(standing.status for standing in standings),
        repeats=len(runs),
        n_test=len(y),
        interrupted=interrupted,
    )


def _source(
    draw: Any, test: tuple[Matrix, Any] | None, seed: int
) -> tuple[Draw, tuple[Matrix, FloatArray]]:
    """Return what gives the training samples, and the rows to measure on."""
    if callable(draw):
        rows = draw(np.random.default_rng([seed, 0])) if test is None else test
        return draw, (rows[0], np.asarray(rows[1], dtype=np.float64).ravel())
    X, y = draw[0], np.asarray(draw[1], dtype=np.float64).ravel()
    X = X if hasattr(X, "shape") else np.asarray(X)
    if test is None:
        parts = train_test_split(X, y, test_size=HELD_OUT, random_state=seed)
        X, test, y = parts[0], (parts[1], parts[3]), parts[2]
    fixed: tuple[Matrix, AnyArray] = (X, y)

    def bootstrap(rng: np.random.Generator) -> tuple[Matrix, Any]:
        rows = rng.integers(len(fixed[1]), size=len(fixed[1]))
        return take(fixed[0], rows), fixed[1][rows]

    return bootstrap, (test[0], np.asarray(test[1], dtype=np.float64).ravel())


def _check(model: Any, draw: Any, repeats: Any, n_jobs: Any) -> None:
    check_estimator(model)
    clone(model)
    if is_classifier(model):
        raise ParameterError(
            "model", "bias_variance splits a squared error, which classes do not have."
        )
    if not callable(draw) and not (isinstance(draw, tuple | list) and len(draw) == 2):
        raise ParameterTypeError(
            "draw", "draw must be a function of a Generator that returns (X, y), or data (X, y)."
        )
    if not is_whole(repeats) or repeats < 2:
        raise ParameterError(
            "repeats", f"repeats must be a whole number from 2 on, not {repeats!r}."
        )
    check_jobs(n_jobs)
