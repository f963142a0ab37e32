"""Certificates and their witnesses: the numbers that prove a model.

A witness is checked by the core when it is used, so here its fields have types and sides only; what
a stranger puts into them can be false, but never harmful.
"""

from __future__ import annotations

from typing import Any

from cotas.files.kinds.values import KERNEL, LOSS, PLAIN_LINES, PLAIN_TREES, RISK, SOFTMAX_RISK
from cotas.files.records import Estimator, Family, Record
from cotas.files.schema import (
    LONGEST,
    NUMBERS,
    Array,
    Each,
    Either,
    Field,
    Flag,
    Label,
    Labels,
    Mapped,
    Number,
    RowsField,
    Sentence,
    Text,
    Whole,
    require,
)


def _given(sides: str) -> Array:
    """Numbers that only the checker looks at."""
    return Array(sides, NUMBERS, infinite=True, nan=True)


_NUMBER = Number(finite=False)
_THETA: dict[str, Field] = {"coef": _given("p"), "intercept": _NUMBER}
_WEIGHTS = _given("n").or_none()

SKETCH = Record(
    "cotas.certificates.sweep.Sketch",
    {
        "n_rows": Whole(0),
        "n_features": Whole(0),
        "entries": _NUMBER,
        "labels": _NUMBER,
        "scale": _NUMBER,
        "label_scale": _NUMBER,
    },
)

FEATURE_MAP = Estimator(
    "cotas.kernel.feature_map.FeatureMap",
    {
        "n_features_in": Whole(1, letter="d"),
        "kernel": KERNEL,
        "error": Number(),
        "eigenvalues": Array("q"),
        "rows": RowsField("l d"),
        "projection": Array("l q").at("_projection"),
    },
)
FEATURES = Family(
    "features",
    {
        "fourier": Record(
            "cotas.kernel.approximate.FourierFeatures", {"frequencies": Array("d h")}
        ),
        "nystroem": Record(
            "cotas.kernel.approximate.NystroemFeatures",
            {"map": FEATURE_MAP, "landmarks": Array("l", "int32 int64", low=0)},
        ),
    },
)

_DUAL: dict[str, Field] = {
    "problem": RISK,
    **_THETA,
    "positive": Label(),
    "multipliers": _given("n"),
    "per": _NUMBER,
    "weights": _WEIGHTS,
}
DUAL_POINT = Record(
    "cotas.certificates.duality.DualPoint",
    {
        **_DUAL,
        "expectation": Record(
            "cotas.certificates.duality.Expectation", {"draws": Whole(), "projected": Flag()}
        ).or_none(),
    },
)
KERNEL_DUAL_POINT = Record(
    "cotas.certificates.kernel.KernelDualPoint", {**_DUAL, "kernel": KERNEL, "subject": Sentence()}
)
_KERNEL_REGRESSION = Record(
    "cotas.certificates.kernel_regression.KernelRegression",
    {"lam": _NUMBER, "free_bias": Flag(), "epsilon": _NUMBER.or_none()},
)
_LEDGER: dict[str, Field] = {
    **_THETA,
    "positive": Label(),
    "bias": _NUMBER,
    "updates": _given("n"),
    "mistakes": Whole(),
    "presentations": Whole(),
    "weights": _WEIGHTS,
    "last": _given("e").or_none(),
    "averaged_updates": _given("n").or_none(),
    "start": _given("e").or_none(),
    "averaged_start": _given("e").or_none(),
    "separator": _given("e").or_none(),
}
_SOFTMAX: dict[str, Field] = {
    "problem": SOFTMAX_RISK,
    "classes": Labels("k"),
    "coef": _given("k p"),
    "intercept": _given("k"),
    "reference_coef": _given("k p"),
    "reference_intercept": _given("k"),
}
_MISTAKES = "cotas.certificates.theorems.mistakes"
_MIXTURE: dict[str, Field] = {
    **_THETA,
    "positive": Label(),
    "bias": _NUMBER,
    "mistakes": Array("b", "int64"),
    "ends": Array("b", "int64"),
    "rounds": Whole(),
    "last": _given("e").or_none(),
    "labels": Labels("k").or_none(),
    "factors": _given("k").or_none(),
}
_MIXING = "cotas.certificates.theorems.mixing"

_LASSO = Record(
    "cotas.certificates.lasso.LassoProblem",
    {
        "lam": _NUMBER.or_none(),
        "delta": _NUMBER.or_none(),
        "l1_ratio": _NUMBER,
        "positive": Flag(),
        "standardize": Flag(),
        "free_bias": Flag(),
    },
)
_DESCENT = Record(
    "cotas.certificates.least_squares.Descent",
    {
        "step": _NUMBER,
        "iterations": Whole(),
        "centre": _given("p").or_none(),
        "scale": _given("p").or_none(),
    },
)
_COLUMN: dict[str, Field] = {
    "column": Whole(0).or_none(),
    "weights": _WEIGHTS,
    "penalty_scale": _given("p").or_none(),
}
STAGEWISE_RUN = Record(
    "cotas.certificates.theorems.stagewise.StagewiseRun",
    {
        "algorithm": Text(),
        "eps": Array("s", infinite=True),
        "delta": _NUMBER,
        "coef": Array("d"),
        "chosen": Array("s", "int64", low=0, below="d"),
        "steps": Array("s"),
        "intercept": Number(),
        "weights": _given("n").or_none(),
        "free_bias": Flag(),
    },
)

_SUM = Record(
    "cotas.certificates.theorems.combinations.Combination",
    {"learners": Either((PLAIN_TREES, PLAIN_LINES)), "coefficients": _given("t")},
    own=True,
)
_STUMPS = Record(
    "cotas.certificates.theorems.weak_learners.StumpClass",
    {
        "thresholds": Each(Array("g", infinite=True, nan=True), tuple, "d").or_none(),
        "categorical": Array("d", "bool"),
    },
)
_COMBINED: dict[str, Field] = {"combinations": Each(_SUM, tuple), "weights": _WEIGHTS}
_BOOSTED: dict[str, Field] = {**_COMBINED, "classes": Labels("k")}
_SURROGATE: dict[str, Field] = {
    **_BOOSTED,
    "surrogate": Text(),
    "discrete": Flag(),
    "stumps": _STUMPS.or_none(),
}
_ADDITIVE: dict[str, Field] = {
    **_COMBINED,
    "constant": _NUMBER,
    "loss": Text(),
    "tests": _STUMPS,
}
# Classes may have weights besides those of the rows, which stay with the source.
_IN_BLOCKS: dict[str, Field] = {"labels": Labels("c").or_none(), "factors": _given("c").or_none()}

WITNESS = Family(
    "witness",
    {
        "dual point": DUAL_POINT,
        "dual point in a kernel": KERNEL_DUAL_POINT,
        "dual point of a pair": Record(
            "cotas.certificates.kernel.PairPoint",
            {
                "point": KERNEL_DUAL_POINT,
                "n_rows": Whole(1, LONGEST, letter="w"),
                "rows": Array("r", "int32 int64", low=0, below="w"),
            },
        ),
        "dual point in features": Record(
            "cotas.certificates.features.FeaturePoint",
            {"features": FEATURES, "point": DUAL_POINT, "remark": Text(), "subject": Sentence()},
        ),
        "dual point of blocks": Record(
            "cotas.certificates.blocks.BlockPoint",
            {
                "problem": RISK,
                **_THETA,
                "positive": Label(),
                "thetas": _given("r p"),
                "biases": _given("r"),
                "smoothings": _given("r"),
                "labels": Labels("k").or_none(),
                "factors": _given("k").or_none(),
            },
        ),
        "hard margin": Record(
            "cotas.certificates.duality.HardMarginPoint",
            {**_THETA, "positive": Label(), "free_bias": Flag(), "alpha": _given("n")},
        ),
        "perceptron run": Record(f"{_MISTAKES}.PerceptronLedger", _LEDGER),
        "passive-aggressive run": Record(
            f"{_MISTAKES}.PassiveAggressiveLedger", {**_LEDGER, "lam": _NUMBER}
        ),
        "kernel perceptron run": Record(
            f"{_MISTAKES}.KernelPerceptronLedger", {**_LEDGER, "kernel": KERNEL}
        ),
        "mixed perceptron runs": Record(f"{_MIXING}.PerceptronMixture", _MIXTURE),
        "mixed passive-aggressive runs": Record(
            f"{_MIXING}.PassiveAggressiveMixture", {**_MIXTURE, "lam": _NUMBER}
        ),
        "softmax point": Record(
            "cotas.certificates.softmax.SoftmaxPoint",
            {**_SOFTMAX, "weights": _given("n")},
        ),
        "softmax point of blocks": Record(
            "cotas.certificates.softmax_blocks.SoftmaxInBlocks",
            {**_SOFTMAX, "factors": _given("k").or_none()},
        ),
        "separation": Record(
            "cotas.certificates.theorems.separation.SeparationWitness",
            {**_THETA, "positive": Label(), "bias": _NUMBER, "alpha": _given("n").or_none()},
        ),
        "squared loss": Record(
            "cotas.certificates.least_squares.SquaredLossPoint",
            {
                **_THETA,
                "lam": _NUMBER,
                "free_bias": Flag(),
                **_COLUMN,
                "descent": _DESCENT.or_none(),
            },
        ),
        "lasso": Record(
            "cotas.certificates.lasso.LassoPoint", {"problem": _LASSO, **_THETA, **_COLUMN}
        ),
        "kernel regression": Record(
            "cotas.certificates.kernel_regression.KernelRegressionPoint",
            {"problem": _KERNEL_REGRESSION, "kernel": KERNEL, **_THETA, "weights": _WEIGHTS},
        ),
        "residual loss": Record(
            "cotas.certificates.residuals.ResidualPoint",
            {
                "loss": Text(),
                "threshold": _NUMBER,
                "lam": _NUMBER,
                "free_bias": Flag(),
                **_THETA,
                "slopes": _given("n").or_none(),
                "weights": _WEIGHTS,
                "column": Whole(0).or_none(),
            },
        ),
        "stagewise run": STAGEWISE_RUN,
        "surrogate bound": Record(
            "cotas.certificates.theorems.surrogates.SurrogateBound", _SURROGATE
        ),
        "surrogate bound of blocks": Record(
            "cotas.certificates.theorems.block_combinations.BlockSurrogate",
            {**_SURROGATE, **_IN_BLOCKS},
        ),
        "hull": Record(
            "cotas.certificates.theorems.hull.HullPoint",
            {**_BOOSTED, "cost": LOSS, "stumps": _STUMPS, "radius": _NUMBER.or_none()},
        ),
        "sum of functions": Record("cotas.certificates.theorems.additive.AdditiveFit", _ADDITIVE),
        "sum of functions of blocks": Record(
            "cotas.certificates.theorems.block_combinations.BlockAdditive",
            {**_ADDITIVE, **_IN_BLOCKS},
        ),
    },
)


def _single(certificate: Any) -> None:
    require(certificate.parts == (), "a certificate", "is composite; models keep the parts")


_WORDS, _SENTENCES = Each(Text(), tuple), Each(Sentence(), tuple)
_SAID: dict[str, Field] = {
    "kind": Text(),
    "lower": _NUMBER,
    "upper": _NUMBER,
    "holds": Flag(),
    "statement": Sentence(),
    "reference": Sentence(),
    "figures": Mapped(_NUMBER),
    "remarks": _SENTENCES,
    "vacuous": Flag(),
    "objection": Sentence(),
    "trusted": _SENTENCES,
    "notes": _SENTENCES,
    "zero_objective": _NUMBER.or_none(),
    "label": Sentence(),
    "witness": WITNESS.or_none(),
    "sketch": SKETCH.or_none(),
}
_PROOF = Record(
    "cotas.certificates.theorems.stagewise.Proof",
    {
        "names": _WORDS,
        "bounds": _given("b j"),
        "measured": _given("b j"),
        "holds": Array("b j", "bool"),
        "vacuous": Array("b j", "bool"),
        "iterations": _given("j"),
        "losses": _given("i"),
        "lengths": _given("i"),
        "nonzeros": _given("i"),
        "omegas": _given("o"),
    },
)
CERTIFICATE = Family(
    "certificate",
    {
        "single": Record(
            "cotas.certificates.certificate.Certificate", _SAID, own=True, relation=_single
        ),
        "stagewise": Record(
            "cotas.certificates.theorems.stagewise.StagewiseCertificate",
            {**_SAID, "proof": _PROOF},
            own=True,
            relation=_single,
        ),
    },
)
