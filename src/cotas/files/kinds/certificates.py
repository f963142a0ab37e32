"""Certificates and their witnesses: the numbers that prove a model.

A witness is checked by the core when it is used, so here its fields have types and sides only; what
a stranger puts into them can be false, but never harmful.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cotas.files.kinds.values import KERNEL, PLAIN_LINES, PLAIN_TREES
from cotas.files.schema import (
    LONGEST,
    NUMBERS,
    ArrayField,
    Estimator,
    Family,
    Field,
    IntegerField,
    Label,
    Labels,
    ListField,
    Number,
    Record,
    RowsField,
    Sentence,
    UnionField,
    require,
)


def _given(sides: str) -> ArrayField:
    """Return numbers that only the checker looks at."""
    return ArrayField(sides, NUMBERS, infinite=True, nan=True)


# What fields of witnesses are wherever they are arrays or whole numbers, or may be anything.
_USUAL: dict[str, Field] = {
    "positive": Label(),
    **dict.fromkeys(("column", "n_rows", "n_features"), IntegerField(0)),
    "classes": Labels("k"),
    "labels": Labels("k"),
    "factors": _given("k"),
    **dict.fromkeys(("coef", "penalty_scale", "centre", "scale"), _given("p")),
    **dict.fromkeys(
        ("multipliers", "weights", "alpha", "updates", "averaged_updates", "slopes"), _given("n")
    ),
    **dict.fromkeys(("last", "start", "averaged_start", "separator"), _given("e")),
    **dict.fromkeys(("bounds", "measured"), _given("b j")),
    **dict.fromkeys(("holds", "vacuous"), ArrayField("b j", "bool")),
    **dict.fromkeys(("losses", "lengths", "nonzeros"), _given("i")),
    **dict.fromkeys(("biases", "smoothings"), _given("r")),
    "thetas": _given("r p"),
    "omegas": _given("o"),
    "coefficients": _given("t"),
    "categorical": ArrayField("d", "bool"),
}


def _record(
    place: str,
    given: dict[str, Field] | None = None,
    *,
    own: bool = False,
    relation: Callable[[Any], None] | None = None,
) -> Record:
    location = f"cotas.certificates.{place}"
    return Record(location, given or {}, own, relation, usual=_USUAL, finite=False)


FEATURE_MAP = Estimator(
    "cotas.kernel.feature_map.FeatureMap",
    {
        "n_features_in": IntegerField(1, letter="d"),
        "kernel": KERNEL,
        "error": Number(),
        "eigenvalues": ArrayField("q"),
        "rows": RowsField("l d"),
        "projection": ArrayField("l q").at("_projection"),
    },
)
FEATURES = Family(
    "features",
    {
        "fourier": Record(
            "cotas.kernel.approximate.FourierFeatures", {"frequencies": ArrayField("d h")}
        ),
        "nystroem": Record(
            "cotas.kernel.approximate.NystroemFeatures",
            {"landmarks": ArrayField("l", "int32 int64", low=0)},
        ),
    },
    ("FeatureTransform",),
)

# What witnesses are made of.
for _place in (
    "passes.Sketch",
    "duality.Expectation",
    "kernel_regression.KernelRegression",
    "lasso.LassoProblem",
    "least_squares.DescentBound",
):
    _record(_place)
_record(
    "theorems.combinations.Combination",
    {"learners": UnionField((PLAIN_TREES, PLAIN_LINES))},
    own=True,
)
_record(
    "theorems.weak_learners.StumpClass",
    {"thresholds": ListField(ArrayField("g", infinite=True, nan=True), tuple, "d").or_none()},
)
_SUBJECT: dict[str, Field] = {"subject": Sentence()}
_SOFTMAX: dict[str, Field] = {
    "coef": _given("k p"),
    "intercept": _given("k"),
    "reference_coef": _given("k p"),
    "reference_intercept": _given("k"),
}
_MIXTURE: dict[str, Field] = {
    "mistakes": ArrayField("b", "int64"),
    "ends": ArrayField("b", "int64"),
}
# Classes may have weights besides those of the rows, which stay with the source.
_IN_BLOCKS: dict[str, Field] = {"labels": Labels("c").or_none(), "factors": _given("c").or_none()}

WITNESS = Family(
    "witness",
    {
        "dual point": _record("duality.DualPoint"),
        "dual point in a kernel": _record("kernel.KernelDualPoint", _SUBJECT),
        "dual point of a pair": _record(
            "kernel.PairPoint",
            {
                "n_rows": IntegerField(1, LONGEST, letter="w"),
                "rows": ArrayField("r", "int32 int64", low=0, below="w"),
            },
        ),
        "dual point in features": _record("features.FeaturePoint", _SUBJECT),
        "dual point of blocks": _record("block_points.BlockPoint"),
        "hard margin": _record("duality.HardMarginPoint"),
        "perceptron run": _record("theorems.mistakes.PerceptronLedger"),
        "passive-aggressive run": _record("theorems.mistakes.PassiveAggressiveLedger"),
        "kernel perceptron run": _record("theorems.kernel_mistakes.KernelPerceptronLedger"),
        "mixed perceptron runs": _record("theorems.mixing.PerceptronMixture", _MIXTURE),
        "mixed passive-aggressive runs": _record(
            "theorems.mixing.PassiveAggressiveMixture", _MIXTURE
        ),
        "softmax point": _record("softmax.SoftmaxPoint", _SOFTMAX),
        "separation": _record("theorems.separation.SeparationWitness"),
        "squared loss": _record("least_squares.SquaredLossPoint"),
        "lasso": _record("lasso.LassoPoint"),
        "kernel regression": _record("kernel_regression.KernelRegressionPoint"),
        "residual loss": _record("residuals.ResidualPoint"),
        "stagewise run": _record(
            "theorems.stagewise.StagewiseRun",
            {
                "eps": ArrayField("s", infinite=True),
                "coef": ArrayField("d"),
                "chosen": ArrayField("s", "int64", low=0, below="d"),
                "steps": ArrayField("s"),
                "intercept": Number(),
            },
        ),
        "surrogate bound": _record("theorems.surrogates.SurrogateBound"),
        "surrogate bound of blocks": _record(
            "theorems.block_combinations.BlockSurrogate", _IN_BLOCKS
        ),
        "hull": _record("theorems.hull.HullPoint"),
        "sum of functions": _record("theorems.additive.AdditiveFit"),
        "sum of functions of blocks": _record(
            "theorems.block_combinations.BlockAdditive", _IN_BLOCKS
        ),
    },
    ("Witness",),
)


def _single(certificate: Any) -> None:
    require(certificate.parts == (), "a certificate", "is composite; models keep the parts")


_record("theorems.stagewise.Proof", {"iterations": _given("j")})
CERTIFICATE = Family(
    "certificate",
    {
        "single": _record("certificate.Certificate", own=True, relation=_single),
        "stagewise": _record("theorems.stagewise.StagewiseCertificate", own=True, relation=_single),
    },
    ("Certificate",),
)
