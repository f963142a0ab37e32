"""What a warm start or the next batch goes on from: the state of a run as plain arrays."""

from __future__ import annotations

from typing import Any

from cotas.files.records import Family, Record
from cotas.files.schema import (
    FLOATS,
    Array,
    Either,
    Field,
    Flag,
    Number,
    Plain,
    Text,
    Together,
    Whole,
    require,
)

_COUNTS = Array("m", "int64", low=0)
RUN = Record(
    "cotas.solvers.run.Run",
    {
        "positive": Array("m", "int16", low=0, below="k"),
        "w": Array("m d"),
        "b": Array("m"),
        "scale": Array("m"),
        "seen": _COUNTS,
        "mistakes": _COUNTS,
        "updates": _COUNTS,
        "ledger": Array("m n", FLOATS, infinite=True, nan=True),
    },
)
AVERAGE = Record(
    "cotas.solvers.run.Average",
    {
        "w": Array("m d"),
        "b": Array("m"),
        "weight": Array("m"),
        "ledger": Array("m a", FLOATS, infinite=True, nan=True),
    },
)
_RADIUS: dict[str, Field] = {"radius": Number(finite=False)}
RULE = Family(
    "rule",
    {
        "perceptron": Record("cotas.solvers.perceptron.PerceptronRule"),
        "passive-aggressive": Record("cotas.solvers.passive_aggressive.PassiveAggressiveRule"),
        "pegasos": Record("cotas.solvers.pegasos.PegasosRule", _RADIUS),
        "subgradient": Record("cotas.solvers.subgradient_descent.SubgradientRule", _RADIUS),
    },
)


def _same_ledgers(history: Any) -> None:
    """The average has a ledger like that of the run, or an empty one."""
    run, average = history.run, history.average
    if average is not None:
        same = average.ledger.dtype == run.ledger.dtype
        width = average.ledger.shape[1]
        require(same and width in (0, run.ledger.shape[1]), "the averaged ledger", "is another")


_SETTING = (RULE, Text(), Flag())
HISTORY = Record(
    "cotas.linear.history.History",
    {
        "seen_before": _COUNTS,
        "start": Array("m d+1").or_none(),
        "set_aside_before": Array("m d+1").or_none(),
        "signature": Either((Together(_SETTING), Together((*_SETTING, Plain())))),
        "weights": Array("n").or_none(),
    },
    relation=_same_ledgers,
)
ENDING = Record("cotas.linear.dispatch.Ending", {"share": Array("n"), "theta": Array("d")})
_MOMENTS = Record(
    "cotas.solvers.moments.Moments",
    {
        "weight": Number(0.0),
        "mean": Array("d"),
        "target_mean": Array("q"),
        "scatter": Array("d d"),
        "cross": Array("d q"),
        "target_scatter": Array("q"),
        "centring_loss": Array("d"),
    },
)
_STREAM = Record(
    "cotas.certificates.streamed.Stream",
    {
        "batches": Whole(1),
        "n_rows": Whole(1),
        "weight": Together((Number(), Number())),
        "centre": Array("c"),
        "gram": Array("g g"),
        "roundings": Whole(0),
        "weights": Array("n").or_none(),
    },
)
_DESCENT = Record(
    "cotas.solvers.stochastic_gradient.RunState",
    {"w": Array("q d"), "b": Array("q"), "scale": Array("q")},
)
BATCHES = Either((Together((_MOMENTS, _STREAM)), Together((_DESCENT, Whole(0)))))

STAGEWISE_PATH = Record(
    "cotas.regression.stagewise.StagewisePath",
    {
        "scale": Array("d"),
        "x_mean": Array("d"),
        "losses": Array("i", infinite=True, nan=True),
        "lengths": Array("i", infinite=True, nan=True),
        "nonzeros": Array("i", "int64 float64"),
    },
)
