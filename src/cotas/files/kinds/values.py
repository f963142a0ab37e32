"""Losses, kernels, steps, rules to stop, weak learners: what parameters can be.

And the state that a warm start or the next batch goes on from, as plain arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.files.schema import (
    FLOATS,
    LONGEST,
    ArrayField,
    Family,
    Field,
    Flag,
    IntegerField,
    Known,
    ListField,
    Mapped,
    Number,
    Plain,
    Record,
    Text,
    TupleField,
    UnionField,
    require,
)

CODES = 256  # of the categories of a feature, one of them for those never seen
DEEPEST_TREE = 8
LOSS = Family(
    "loss",
    {
        "zero-one": Record("cotas.losses.ZeroOne"),
        "hinge": Record("cotas.losses.Hinge"),
        "squared hinge": Record("cotas.losses.SquaredHinge"),
        "modified Huber": Record("cotas.losses.ModifiedHuber"),
        "squared": Record("cotas.losses.Squared"),
        "exponential": Record("cotas.losses.Exponential"),
        "logistic": Record("cotas.losses.Logistic"),
    },
    ("Loss", "MarginLoss"),
)

_PART = Known("Kernel").at("kernel")
KERNEL: Family = Family(
    "kernel",
    {
        "linear": Record("cotas.kernel.functions.Linear"),
        "constant": Record("cotas.kernel.functions.Constant"),
        "polynomial": Record("cotas.kernel.functions.Polynomial", {"degree": IntegerField(1)}),
        "cosine": Record("cotas.kernel.functions.Cosine"),
        "precomputed": Record("cotas.kernel.functions.Precomputed"),
        "rbf": Record("cotas.kernel.gaussian.RBF"),
        "gaussian": Record("cotas.kernel.gaussian.Gaussian"),
        "sum": Record("cotas.kernel.algebra.Sum"),
        "product": Record("cotas.kernel.algebra.Product"),
        "scaled": Record("cotas.kernel.algebra.Scaled", {"of": _PART}),
        "power": Record("cotas.kernel.algebra.Power", {"of": _PART, "exponent": IntegerField(1)}),
        "exponential": Record("cotas.kernel.algebra.ExponentialOf", {"of": _PART}),
        "normalized": Record("cotas.kernel.algebra.Normalized", {"of": _PART}),
        "on columns": Record(
            "cotas.kernel.algebra.OnColumns",
            {"of": _PART, "columns": ListField(IntegerField(0), tuple)},
        ),
    },
    ("Kernel", "KernelFunction"),
)

STEP = Family(
    "step",
    {
        "constant": Record("cotas.schedules.Constant"),
        "power law": Record("cotas.schedules.PowerLaw"),
    },
)

STOP: Family = Family(
    "stop",
    {
        "any of": Record("cotas.stops.AnyOf"),
        "all of": Record("cotas.stops.AllOf"),
        "change of J": Record("cotas.stops.ChangeOfJ"),
        "change of theta": Record("cotas.stops.ChangeOfTheta"),
        "iterations": Record("cotas.stops.MaxIterations"),
        "time": Record("cotas.stops.MaxTime", finite=False),
        "gap": Record("cotas.stops.Gap"),
    },
    ("Rule",),
)

LEARNER = Family(
    "weak learner",
    {
        "stump": Record("cotas.boosting.weak_learners.Stump"),
        "tree": Record("cotas.boosting.weak_learners.Tree", {"depth": IntegerField(1)}),
        "linear": Record("cotas.boosting.weak_learners.LinearLearner"),
    },
)

# What a parameter of an estimator may be besides numbers, texts, arrays and collections.
VALUES = (LOSS, KERNEL, STEP, STOP, LEARNER)

RISKS = (Record("cotas.problem.RegularizedRisk"), Record("cotas.problem.SoftmaxRisk"))


# ---- trees, lines and their sums: what boosted models are made of --------------------------------
# Compiled loops walk through the trees without a look at their indices, so every entry is limited
# here: the limits of `feature`, `group`, `groups` and `missing_left` are what keeps them inside.


def _tests(features: int | str) -> dict[str, Field]:
    """Return the arrays of t complete trees with v tests each, on so many features."""
    return {
        "feature": ArrayField("t v", "int32", low=-1, below=features),
        "threshold": ArrayField("t v", infinite=True),
        "missing_left": ArrayField("t v", "uint8", high=1),
        "groups": ArrayField(f"g {CODES}", "uint8", high=1),
        "group": ArrayField("t v", "int32", low=-1, below="g"),
        "value": ArrayField("t v+1"),
    }


def _complete(trees: Any) -> None:
    """Check that all levels are full: v = 2^D − 1."""
    nodes = trees.feature.shape[1]
    depth = (nodes + 1).bit_length() - 1
    whole = nodes + 1 == 1 << depth and 1 <= depth <= DEEPEST_TREE
    require(whole, "the number of tests", f"is {nodes}")


def _known_categories(trees: Any) -> None:
    _complete(trees)
    tested = set(np.unique(trees.feature[trees.group >= 0]).tolist())
    known = tested <= set(trees.categories) and all(map(len, trees.categories.values()))
    require(known, "a test of categories", "is on a feature that has none")


TREES = Record(
    "cotas.solvers.trees.Trees", {**_tests("d"), "gain": ArrayField("t v")}, relation=_complete
)
CATEGORIES = Record(
    "cotas.solvers.trees.Categories",
    {
        "values": ArrayField(f"c {CODES}", infinite=True),
        "sizes": ArrayField("c", "int32", low=0, below=CODES),
        "place": ArrayField("d", "int32", low=-1, below="c"),
    },
)
LINE = Record("cotas.solvers.weak_learners.LinearScore", {"coef": ArrayField("d")})


def _categories_fit(ensemble: Any) -> None:
    """Check that trees come with their categories, and test only those of features that have
    some."""
    functions, categories = ensemble.functions, ensemble.categories
    require(len(ensemble.steps) == _count(functions), "the steps", "are not as many as functions")
    if type(functions) is list:
        return
    require(categories is not None, "the categories", "of the trees are missing")
    tested = functions.feature[functions.group >= 0]
    known = (tested >= 0).all() and (categories.place[tested] >= 0).all()
    require(known, "a test of categories", "is on a feature that has none")


def _count(functions: Any) -> int:
    return len(functions if type(functions) is list else functions.feature)


ENSEMBLE = Record(
    "cotas.boosting.ensemble.Ensemble",
    {
        "functions": UnionField((TREES, ListField(LINE))),
        "steps": ArrayField("r"),
        "shrinks": ArrayField("r"),
    },
    relation=_categories_fit,
)

# The same for the checker, with arrays of its own.
PLAIN_TREES = Record(
    "cotas.certificates.theorems.weak_learners.PlainTrees",
    {**_tests(LONGEST), "categories": Mapped(ArrayField("c"), numbered=True)},
    relation=_known_categories,
)
PLAIN_LINES = Record(
    "cotas.certificates.theorems.weak_learners.PlainLinear",
    {"coef": ArrayField("t d"), "intercept": ArrayField("t")},
)


# ---- states of a run -----------------------------------------------------------------------------

_COUNTS = ArrayField("m", "int64", low=0)
RUN = Record(
    "cotas.solvers.run.Run",
    {
        "positive": ArrayField("m", "int16", low=0, below="k"),
        "w": ArrayField("m d"),
        "b": ArrayField("m"),
        "scale": ArrayField("m"),
        "seen": _COUNTS,
        "mistakes": _COUNTS,
        "updates": _COUNTS,
        "ledger": ArrayField("m n", FLOATS, infinite=True, nan=True),
    },
)
AVERAGE = Record(
    "cotas.solvers.run.Average",
    {
        "w": ArrayField("m d"),
        "b": ArrayField("m"),
        "weight": ArrayField("m"),
        "ledger": ArrayField("m a", FLOATS, infinite=True, nan=True),
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
    """Check that the average has a ledger like that of the run, or an empty one."""
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
        "start": ArrayField("m d+1").or_none(),
        "set_aside_before": ArrayField("m d+1").or_none(),
        "signature": UnionField((TupleField(_SETTING), TupleField((*_SETTING, Plain())))),
        "weights": ArrayField("n").or_none(),
    },
    relation=_same_ledgers,
)
ENDING = Record(
    "cotas.linear.dispatch.Ending", {"share": ArrayField("n"), "theta": ArrayField("d")}
)
_MOMENTS = Record(
    "cotas.solvers.moments.Moments",
    {
        "weight": Number(0.0),
        "mean": ArrayField("d"),
        "target_mean": ArrayField("q"),
        "scatter": ArrayField("d d"),
        "cross": ArrayField("d q"),
        "target_scatter": ArrayField("q"),
        "centring_loss": ArrayField("d"),
    },
)
_STREAM = Record(
    "cotas.certificates.streamed.Stream",
    {
        "batches": IntegerField(1),
        "n_rows": IntegerField(1),
        "weight": TupleField((Number(), Number())),
        "centre": ArrayField("c"),
        "gram": ArrayField("g g"),
        "roundings": IntegerField(0),
        "weights": ArrayField("n").or_none(),
    },
)
_DESCENT = Record(
    "cotas.solvers.stochastic_gradient.RunState",
    {"w": ArrayField("q d"), "b": ArrayField("q"), "scale": ArrayField("q")},
)
BATCHES = UnionField((TupleField((_MOMENTS, _STREAM)), TupleField((_DESCENT, IntegerField(0)))))

STAGEWISE_PATH = Record(
    "cotas.regression.stagewise.StagewisePath",
    {
        "scale": ArrayField("d"),
        "x_mean": ArrayField("d"),
        "losses": ArrayField("i", infinite=True, nan=True),
        "lengths": ArrayField("i", infinite=True, nan=True),
        "nonzeros": ArrayField("i", "int64 float64"),
    },
)
