"""The estimators, by their public names, and what each has after a fit.

Letters: d features, k classes, m machines that tell them apart, n training rows, s support vectors,
q targets, w models of a blend.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from cotas.files.kinds.certificates import CERTIFICATE, FEATURES
from cotas.files.kinds.values import BATCHES, ENDING, ENSEMBLE, HISTORY, KERNEL, STAGEWISE_PATH
from cotas.files.schema import (
    LONGEST,
    ArrayField,
    Estimator,
    Family,
    Field,
    Flag,
    IntegerField,
    Known,
    Label,
    Labels,
    ListField,
    Mapped,
    Names,
    Number,
    Record,
    RowsField,
    Sentence,
    Text,
    TupleField,
    UnionField,
    require,
)
from cotas.stops import Stop

_EVERY: dict[str, Field] = {
    "n_features_in": IntegerField(1, LONGEST, letter="d"),
    "feature_names_in": Names("d").maybe(),
    "certificates": ListField(CERTIFICATE).at("_certificates"),
    "seal": Text().at("_seal"),
    "stop": Text(tuple(stop.name for stop in Stop)).at("_stop").maybe(),
    "stop_reason": Sentence().at("_stop_reason").maybe(),
    "n_iter": IntegerField(0).maybe(),
}
_CLASSIFIER: dict[str, Field] = {**_EVERY, "classes": Labels("k", least=2)}
_LINEAR: dict[str, Field] = {**_CLASSIFIER, "coef": ArrayField("m d"), "intercept": ArrayField("m")}

ONLINE: dict[str, Field] = {
    **_LINEAR,
    "mistakes_per_epoch": ArrayField("e m", "int64", low=0),
    "history": HISTORY.at("_history").maybe(),
}

_REGION = Record(
    "cotas.certificates.consequences.prediction.Region",
    {"theta": ArrayField("d"), "radius": Number(0.0), "centre": ArrayField("d").or_none()},
    finite=False,
)
_COUNTED = ArrayField("s", "int64", low=0)
LINEAR_SVM: dict[str, Field] = {
    **_LINEAR,
    "lam": Number(0.0).maybe(),
    "solver": Text(),
    "n_support": ArrayField("m", "int64", low=0).maybe(),  # not of rows that came in blocks
    "margin_width": ArrayField("m", infinite=True),
    "leave_one_out_bound": ArrayField("m", low=0).maybe(),
    "support": UnionField((_COUNTED, ListField(_COUNTED, side="m"))).maybe(),
    "dual_coef": UnionField((ArrayField("s"), ListField(ArrayField("s"), side="m"))).maybe(),
    "regions": ListField(_REGION.or_none(), side="m").at("_regions"),
    "ends": ListField(ENDING).at("_ends").maybe(),
}

LOGISTIC: dict[str, Field] = {**_LINEAR, "lam": Number(0.0), "multiclass": Text(("softmax", "ovr"))}

_KERNEL_REGION = Record(
    "cotas.certificates.kernel.KernelRegion", {"radius": Number(0.0)}, finite=False
)
_SUPPORT: dict[str, Field] = {
    "kernel": KERNEL,
    "intercept": ArrayField("m"),
    "n_rows": IntegerField(1, LONGEST, letter="n").at("_n_rows").maybe(),
    "support": ArrayField("s", "int64", low=0, below="n").maybe(),
    "dual_coef": ArrayField("m s").maybe(),
    "support_vectors": RowsField("v d").maybe(),
    "coef": ArrayField("m f").maybe(),
}
KERNEL_REGRESSOR: dict[str, Field] = {**_EVERY, **_SUPPORT, "lam": Number(0.0)}
_EXPANSION: dict[str, Field] = {
    **_CLASSIFIER,
    **_SUPPORT,
    "n_support": ArrayField("k", "int64", low=0).maybe(),
    "regions": ListField(_KERNEL_REGION.or_none(), side="m").at("_regions").maybe(),
}
KERNEL_ONLINE: dict[str, Field] = {
    **_EXPANSION,
    "mistakes_per_epoch": ArrayField("e m", "int64", low=0),
    "updates_per_epoch": ArrayField("e m", "int64", low=0),
}
KERNEL_SVM: dict[str, Field] = {
    **_EXPANSION,
    "lam": UnionField((Number(0.0), ArrayField("m", low=0))),
    "features": FEATURES.or_none(),
    "pairs": ListField(TupleField((Label().or_none(), Label())), side="m"),
    "votes": Flag().at("_votes"),
}

_TARGETS: dict[str, Field] = {
    **_EVERY,
    "coef": UnionField((ArrayField("d"), ArrayField("q d"))),
    "intercept": UnionField((Number(), ArrayField("q"))),
}
LEAST_SQUARES: dict[str, Field] = {
    **_TARGETS,
    "solver": Text(),
    "condition_number": Number(finite=False).or_none(),
    "history": Mapped(
        UnionField(
            (
                ArrayField("i", "int64 float64", infinite=True, nan=True),
                ArrayField("i a", infinite=True, nan=True),
                ArrayField("i a b", infinite=True, nan=True),
            )
        )
    ),
    "batches": BATCHES.at("_memory").maybe(),
}
LASSO: dict[str, Field] = {
    **_TARGETS,
    "lam": UnionField((Number(), ArrayField("q"))),
    "delta": UnionField((Number(), ArrayField("q"))),
}
ROBUST: dict[str, Field] = {**_TARGETS, "lam": Number(0.0)}
STAGEWISE: dict[str, Field] = {**_TARGETS, "path": STAGEWISE_PATH}

_CATEGORIES: dict[str, Field] = {
    "categories": ListField(ListField(Text()).or_none(), side="d").maybe()
}
_ROUNDS = ArrayField("r", infinite=True, nan=True)
_EACH_ROUND = UnionField((_ROUNDS, ListField(_ROUNDS)))
BOOSTER: dict[str, Field] = {
    **_CLASSIFIER,
    **_CATEGORIES,
    "ensembles": ListField(ENSEMBLE, side="m"),
    "round_errors": _EACH_ROUND,
    "round_edges": _EACH_ROUND,
    "round_losses": _EACH_ROUND,
}
# On columns, or with weak learners: whichever the model has.
LS_BOOST: dict[str, Field] = {
    **_EVERY,
    **_CATEGORIES,
    "coef": ArrayField("d").maybe(),
    "intercept": Number(),
    "path": STAGEWISE_PATH.maybe(),
    "ensembles": ListField(ENSEMBLE).maybe(),
    "round_errors": _ROUNDS.maybe(),
    "round_edges": _ROUNDS.maybe(),
    "round_losses": _ROUNDS.maybe(),
}
VOTED: dict[str, Field] = {**BOOSTER, "voted": Flag().at("_voted")}


def problem_count(model: Any) -> int:
    """Count how many machines tell the classes apart: one for two classes, else one each or a
    pair."""
    k = len(model.classes_)
    if getattr(model, "_votes", False) is True:
        return k * (k - 1) // 2
    return 1 if k == 2 else k


def require_right_count(model: Any) -> None:
    """Check that there are as many machines as the classes need."""
    require(len(model.intercept_) == problem_count(model), "intercept", "is of other classes")


def ends_fit(model: Any) -> None:
    """Check that what all machines ended with is about the same rows."""
    require_right_count(model)
    ends = getattr(model, "_ends", [])
    require(len({len(end.share) for end in ends}) <= 1, "ends", "are of different rows")


def kernels_fit(model: Any) -> None:
    """Check an expansion over support vectors or features, whichever the model has."""
    require_right_count(model)
    if getattr(model, "features_", None) is not None:
        require(hasattr(model, "coef_"), "coef", "is missing")
        require(model.coef_.shape[1] == _width(model.features_), "coef", "is of other features")
        return
    require(hasattr(model, "n_support_"), "n_support", "is missing")
    expansion_fits(model)
    counts = sum(model.n_support_.tolist())
    require(counts == len(model.support_), "support", "and n_support do not fit together")


def expansion_fits(model: Any) -> None:
    """Check the support vectors, each of them once, and what they are in the model."""
    for name in ("support_", "dual_coef_", "support_vectors_", "_n_rows"):
        require(hasattr(model, name), name, "is missing")
    for certificate in model._certificates:
        rows = getattr(certificate.witness, "n_rows", model._n_rows)
        require(rows == model._n_rows, "certificates", "are of other rows")
    support = model.support_
    require(len(support) == len(np.unique(support)), "support", "has a row twice")
    if KERNEL.name_of(model.kernel_) == "precomputed":
        require(model._n_rows == model.n_features_in_, "n_features_in", "is not that of a square")
    else:
        require(len(support) == model.support_vectors_.shape[0], "support_vectors", "are others")


def _width(features: Any) -> int:
    """Tell how many features there are."""
    if hasattr(features, "frequencies"):
        return int(2 * features.frequencies.shape[1])
    return int(features.map._projection.shape[1])


def targets_fit(model: Any) -> None:
    """Check that one target is a vector of coefficients and a number, and its witness names no
    column."""
    single = model.coef_.ndim == 1
    require((np.ndim(model.intercept_) == 0) == single, "intercept", "is of other targets")
    for certificate in model._certificates:
        column = getattr(certificate.witness, "column", None if single else 0)
        require((column is None) == single, "certificates", "are of other targets")
    if hasattr(model, "_memory"):
        _batches_fit(model._memory, model.n_features_in_, 1 if single else len(model.coef_))


def _batches_fit(batches: Any, d: int, q: int) -> None:
    """Check that the batches so far have d features and q targets."""
    state, more = batches
    if hasattr(state, "cross"):
        sides = (len(state.target_mean), len(more.centre), len(more.gram))
        require(sides == (q, d + q, d + 1 + q), "batches", "are of other targets")
    else:
        require(len(state.w) == q, "batches", "are of other targets")


def blends_fit(model: Any) -> None:
    """Check for models of the same data, none a blend itself, and weights that sum to one."""
    first, *others = model.estimators_
    require(abs(model.weights_.sum() - 1) < 1e-9, "weights", "do not sum to one")
    require(len({*model.names_}) == len(model.names_), "names", "are not unique")
    for each in model.estimators_:
        require(hasattr(each, "_certificates"), "estimators", "are blends themselves")
        one = hasattr(each, "classes_") or hasattr(each, "kernel_") or np.ndim(each.intercept_) == 0
        require(one, "estimators", "have several targets")
    for other in others:
        same = other.n_features_in_ == first.n_features_in_
        for name in ("classes_", "feature_names_in_"):
            mine, given = (getattr(one, name, np.empty(0)) for one in (first, other))
            same = same and np.array_equal(mine, given)
        require(same, "estimators", "are of other data")


def columns_or_learners(model: Any) -> None:
    """Check that LS-Boost has coefficients and their path, or one ensemble."""
    if hasattr(model, "ensembles_"):
        require(len(model.ensembles_) == 1, "ensembles", "are of other targets")
        require(not hasattr(model, "coef_"), "coef", "is not of a model with weak learners")
        return
    for name in ("coef_", "path_"):
        require(hasattr(model, name), name, "is missing")
    targets_fit(model)


def boosters_fit(model: Any) -> None:
    """Check for one ensemble for each machine; if they share their votes, all have the same
    tests."""
    ensembles = model.ensembles_
    require(len(ensembles) == problem_count(model), "ensembles", "are of other classes")
    if not getattr(model, "_voted", False):
        return
    first = ensembles[0]
    for other in ensembles:
        same = type(other.functions) is type(first.functions) and len(other) == len(first)
        same = same and np.shape(getattr(other.functions, "value", ())) == np.shape(
            getattr(first.functions, "value", ())
        )
        require(same, "ensembles", "of one vote differ in their rounds")


def _estimator(
    home: str, relation: Callable[[Any], None], place: str, fields: dict[str, Field]
) -> Estimator:
    return Estimator(f"cotas.{home}.{place}", fields, relation=relation)


_linear = partial(_estimator, "linear", require_right_count)
_kernel = partial(_estimator, "kernel", kernels_fit)
_expansion = partial(_estimator, "kernel", expansion_fits)
_regression = partial(_estimator, "regression", targets_fit)
_boosting = partial(_estimator, "boosting", boosters_fit)

# The members have what all models have.
BLEND: dict[str, Field] = {
    "names": ListField(Text(), side="w").at("names_"),
    "weights": ArrayField("w", low=0).at("weights_"),
    "estimators": ListField(Known("Model"), side="w").at("estimators_"),
    "claim": ListField(TupleField((Text(), Number(0.0), Text())), side="w").at("_claim"),
    "seal": Text().at("_seal"),
}

MODEL: Family = Family(
    "model",
    {
        "Perceptron": _linear("perceptron.Perceptron", ONLINE),
        "AveragedPerceptron": _linear("perceptron.AveragedPerceptron", ONLINE),
        "PassiveAggressive": _linear("passive_aggressive.PassiveAggressive", ONLINE),
        "Pegasos": _linear("pegasos.Pegasos", {**ONLINE, "lam": Number(0.0).maybe()}),
        "LinearSVM": Estimator("cotas.linear.svm.LinearSVM", LINEAR_SVM, relation=ends_fit),
        "LogisticRegression": _linear("logistic.LogisticRegression", LOGISTIC),
        "KernelPegasos": _kernel("pegasos.KernelPegasos", {**KERNEL_ONLINE, "lam": Number(0.0)}),
        "KernelPerceptron": _kernel("perceptron.KernelPerceptron", KERNEL_ONLINE),
        "KernelSVM": _kernel("svm.KernelSVM", KERNEL_SVM),
        "KernelRidge": _expansion("regression.KernelRidge", KERNEL_REGRESSOR),
        "KernelSVR": _expansion("regression.KernelSVR", KERNEL_REGRESSOR),
        "LeastSquares": _regression("least_squares.LeastSquares", LEAST_SQUARES),
        "Ridge": _regression("ridge.Ridge", LEAST_SQUARES),
        "Lasso": _regression("lasso.Lasso", LASSO),
        "LinearSVR": _regression("linear_svr.LinearSVR", ROBUST),
        "HuberRegressor": _regression("huber.HuberRegressor", ROBUST),
        "ElasticNet": _regression("elastic_net.ElasticNet", LASSO),
        "LSBoost": Estimator(
            "cotas.regression.ls_boost.LSBoost", LS_BOOST, relation=columns_or_learners
        ),
        "ForwardStagewise": _regression("stagewise.ForwardStagewise", STAGEWISE),
        "RegularizedForwardStagewise": _regression(
            "stagewise.RegularizedForwardStagewise", STAGEWISE
        ),
        "AdaBoost": _boosting("adaboost.AdaBoost", VOTED),
        "RealAdaBoost": _boosting("adaboost.RealAdaBoost", BOOSTER),
        "AnyBoost": _boosting("anyboost.AnyBoost", BOOSTER),
        "ConvexAnyBoost": _boosting("anyboost.ConvexAnyBoost", BOOSTER),
        "GentleBoost": _boosting("gentleboost.GentleBoost", BOOSTER),
        "LogitBoost": _boosting("logitboost.LogitBoost", BOOSTER),
        "Blend": Record(
            "cotas.selection.blend.Blend", BLEND, relation=blends_fit, maker="of_fitted"
        ),
    },
    ("Model",),
)
