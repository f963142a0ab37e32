"""What was proved, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates.theorems.stagewise import StagewiseCertificate
from cotas.certificates.theorems.stagewise_bounds import (
    COEFFICIENTS,
    CORRELATION,
    GRADIENT,
    LENGTH,
    PREDICTIONS,
    SPARSITY,
    TRAINING,
)
from cotas.plots.fitted import require_fitted
from cotas.plots.style import COLOURS, drawing, legend, line_style
from cotas.refusals import ParameterError
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of a longer run so many iterations are drawn, evenly in the logarithm.
MOST_POINTS = 300
# The items of the theorems, as axes name them.
ITEMS = {
    TRAINING: "training error above the best",
    COEFFICIENTS: "distance of the coefficients",
    PREDICTIONS: "distance of the predictions",
    GRADIENT: "gradient",
    CORRELATION: "correlation with the residual",
    LENGTH: "‖β‖₁",
    SPARSITY: "coefficients that are not zero",
}


def certificate_trace(
    records: Any,
    *,
    against: str = "seconds",
    item: str = "training error",
    ax: Axes | None = None,
    title: str | None = None,
    lang: str | None = None,
) -> Axes:
    """Return the gap while a fit ran, or the bound of a theorem next to what was measured.

    Parameters
    ----------
    records : list of reports, or a fitted stagewise model
        The reports that a callback of `LinearSVM` or `KernelSVM` was given: keep them with
        `callbacks=records.append`. Or an `LSBoost`, `ForwardStagewise` or
        `RegularizedForwardStagewise`, or its certificate: then each iteration k is drawn as
        `certificate_.at(k)` has it.
    against : "seconds" or "iteration"
        The horizontal axis of the gap.
    item : str, default="training error"
        Which item of the theorem, by its name in `certificate_.at(k)`.
    ax, title, lang : as in `decision_boundary`

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import cotas
    >>> from cotas.plots import certificate_trace
    >>> records = []
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.5]], [1, 1, -1, -1]
    >>> model = cotas.LinearSVM(tol=1e-8, callbacks=records.append).fit(X, y)
    >>> certificate_trace(records, against="iteration").get_yscale()
    'log'
    """
    certificate = _stagewise(records)
    with drawing(ax, lang) as ax:
        if certificate is not None:
            given = _draw_theorem(ax, certificate, item)
        else:
            given = _draw_gaps(ax, list(records), against)
        ax.set_yscale("log")
        ax.set_title(given if title is None else title)
        legend(ax)
    return ax


def _stagewise(records: Any) -> StagewiseCertificate | None:
    if isinstance(records, StagewiseCertificate):
        return records
    if not hasattr(records, "get_params"):
        return None
    require_fitted(records, "certificate_trace")
    certificate = getattr(records, "certificate_", None)
    if isinstance(certificate, StagewiseCertificate):
        return certificate
    raise ParameterError(
        "records",
        f"{type(records).__name__} keeps no trace of its certificate. Give the reports of a "
        "callback: fit with callbacks=records.append, records being a list.",
    )


def _draw_gaps(ax: Axes, records: list[Any], against: str) -> str:
    """Return the gap at each report, and the best so far, which is what the fit keeps.

    Each class has a clock of its own.
    """
    if against not in ("seconds", "iteration"):
        raise ParameterError(
            "against", f"against must be 'seconds' or 'iteration', not {against!r}."
        )
    if not records or not all(hasattr(r, "certificate") and hasattr(r, against) for r in records):
        raise ParameterError(
            "records",
            "There is no gap in these records. Fit LinearSVM or KernelSVM with "
            "callbacks=records.append, records being an empty list, and hand that over.",
        )
    labels = list(dict.fromkeys(str(record.label) for record in records))
    for k, label in enumerate(labels):
        own = [record for record in records if str(record.label) == label]
        x = np.array([getattr(record, against) for record in own], dtype=np.float64)
        gaps = np.array([record.certificate.relative_gap for record in own])
        usable = np.isfinite(gaps) & (gaps > 0)
        name = say("class {label}", label=label) if len(labels) > 1 else say("best so far")
        how = line_style(k, points=True)
        ax.plot(x[usable], gaps[usable], **{**how, "linestyle": "", "alpha": 0.45}, gid="gaps")
        best = np.minimum.accumulate(gaps[usable])
        how.pop("marker")
        ax.plot(x[usable], best, drawstyle="steps-post", label=name, **how)
    ax.set(xlabel=say(against), ylabel=say("relative gap proved"))
    return say("The gap while it runs")


def _draw_theorem(ax: Axes, certificate: StagewiseCertificate, item: str) -> str:
    names = [found.name for found in certificate.at(0)]
    if item not in names:
        raise ParameterError("item", f"item must be one of {names}, not {item!r}.")
    last = certificate.proof.last
    ks = np.unique(np.geomspace(1, max(1, last), MOST_POINTS).round().astype(np.int64))
    ks = ks[ks <= last]
    found = [certificate.at(int(k))[names.index(item)] for k in ks]
    measured = _visible([entry.measured for entry in found])
    bound = _visible([entry.bound for entry in found])
    ax.plot(ks, bound, color=COLOURS[3], linestyle="--", label=say("allowed by the theorem"))
    ax.plot(ks, measured, color=COLOURS[0], label=say("measured"))
    in_words = say(ITEMS[item])
    ax.set(xlabel=say("iteration"), ylabel=in_words, xscale="log")
    return say("Theorem and run: {item}", item=in_words)


def _visible(values: list[float]) -> FloatArray:
    """Return what a logarithmic axis can show."""
    found = np.array(values, dtype=np.float64)
    return np.where(np.isfinite(found) & (found > 0), found, np.nan)
