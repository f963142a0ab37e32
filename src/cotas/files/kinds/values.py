"""Losses, kernels, steps, rules to stop, weak learners: what parameters can be."""

from __future__ import annotations

from cotas.files.records import Family, Later, Record
from cotas.files.schema import Each, Flag, Number, Plain, Text, Whole

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
)

_PART = Later(lambda: KERNEL)
KERNEL: Family = Family(
    "kernel",
    {
        "linear": Record("cotas.kernel.functions.Linear"),
        "constant": Record("cotas.kernel.functions.Constant", {"value": Number()}),
        "polynomial": Record(
            "cotas.kernel.functions.Polynomial",
            {"degree": Whole(1), "coef0": Number(), "gamma": Number()},
        ),
        "cosine": Record("cotas.kernel.functions.Cosine"),
        "precomputed": Record("cotas.kernel.functions.Precomputed"),
        "rbf": Record(
            "cotas.kernel.gaussian.RBF",
            {"sigma": Number().or_none(), "gamma": Number().or_none()},
        ),
        "gaussian": Record("cotas.kernel.gaussian.Gaussian", {"covariance": Plain()}),
        "sum": Record("cotas.kernel.algebra.Sum", {"parts": Each(_PART, tuple)}),
        "product": Record("cotas.kernel.algebra.Product", {"parts": Each(_PART, tuple)}),
        "scaled": Record(
            "cotas.kernel.algebra.Scaled", {"factor": Number(), "of": _PART.at("kernel")}
        ),
        "power": Record(
            "cotas.kernel.algebra.Power", {"of": _PART.at("kernel"), "exponent": Whole(1)}
        ),
        "exponential": Record("cotas.kernel.algebra.ExponentialOf", {"of": _PART.at("kernel")}),
        "normalized": Record("cotas.kernel.algebra.Normalized", {"of": _PART.at("kernel")}),
        "on columns": Record(
            "cotas.kernel.algebra.OnColumns",
            {"of": _PART.at("kernel"), "columns": Each(Whole(0), tuple)},
        ),
    },
)

STEP = Family(
    "step",
    {
        "constant": Record("cotas.schedules.Constant", {"eta": Number()}),
        "power law": Record(
            "cotas.schedules.PowerLaw", {"eta0": Number(), "power": Number(), "delay": Number()}
        ),
    },
)

_RULE = Later(lambda: STOP)
STOP: Family = Family(
    "stop",
    {
        "any of": Record("cotas.stops.AnyOf", {"first": _RULE, "second": _RULE}),
        "all of": Record("cotas.stops.AllOf", {"first": _RULE, "second": _RULE}),
        "change of J": Record("cotas.stops.ChangeOfJ", {"eps": Number()}),
        "change of theta": Record("cotas.stops.ChangeOfTheta", {"eps": Number()}),
        "iterations": Record("cotas.stops.MaxIterations", {"number": Whole()}),
        "time": Record("cotas.stops.MaxTime", {"seconds": Number(finite=False)}),
        "gap": Record("cotas.stops.Gap", {"tol": Number()}),
    },
)

LEARNER = Family(
    "weak learner",
    {
        "stump": Record(
            "cotas.boosting.weak_learners.Stump",
            {"search": Text(), "criterion": Text(), "categorical_features": Plain()},
        ),
        "tree": Record(
            "cotas.boosting.weak_learners.Tree",
            {"depth": Whole(1), "categorical_features": Plain()},
        ),
        "linear": Record("cotas.boosting.weak_learners.LinearLearner"),
    },
)

# What a parameter of an estimator may be besides numbers, texts, arrays and collections.
VALUES = (LOSS, KERNEL, STEP, STOP, LEARNER)

RISK = Record(
    "cotas.problem.RegularizedRisk",
    {
        "loss": LOSS,
        "lam": Number(),
        "free_bias": Flag(),
        "bias_scale": Number(),
        "l1_ratio": Number().maybe(),
    },
)
SOFTMAX_RISK = Record(
    "cotas.problem.SoftmaxRisk",
    {"lam": Number(), "free_bias": Flag(), "l1_ratio": Number().maybe()},
)
