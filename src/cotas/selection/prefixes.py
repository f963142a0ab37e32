"""Models that contain all their shorter runs: one fit serves every number of rounds."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from cotas.arrays import AnyArray, Matrix
from cotas.boosting.base import Boosted
from cotas.certificates import Certificate
from cotas.foreign.certify import certify
from cotas.regression.stagewise import StagewiseRegressor
from cotas.selection.parameter import Parameter, final_step


def has_prefixes(model: Any, parameter: Parameter) -> bool:
    """Whether a run with fewer rounds is the beginning of one with more."""
    last = final_step(model)
    if parameter.field is not None or "__" in parameter.path.removeprefix(_last_name(model)):
        return False
    if _has_rounds(last):
        fixed = not (getattr(last, "early_stopping", False) or getattr(last, "warm_start", False))
        return parameter.name == "n_estimators" and fixed and not last.callbacks
    # A sequence of rates is as long as the run.
    plain = callable(getattr(last, "eps", None)) or np.ndim(getattr(last, "eps", 0.0)) == 0
    return isinstance(last, StagewiseRegressor) and parameter.name == "max_iter" and plain


def _has_rounds(model: Any) -> bool:
    """Whether it is made of weak learners; LS-Boost on columns has none."""
    on_columns = isinstance(model, StagewiseRegressor) and getattr(model, "weak_learner", 0) is None
    return isinstance(model, Boosted) and not on_columns


def _last_name(model: Any) -> str:
    return f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""


def prefix(model: Any, k: int) -> Any:
    """The model as it was after k rounds or iterations; it shares what it can with the whole."""
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        short = copy.copy(model)
        short.steps = [*model.steps[:-1], (name, prefix(last, k))]
        return short
    if _has_rounds(model):
        return model[:k]
    short = copy.copy(model)
    m = min(k, len(model.path_) - 1)
    short.max_iter, short.n_iter_ = k, m
    short.coef_, short.intercept_ = model.path_.coef(m), model.path_.intercept(m)
    return short


def certificate_of_prefix(model: Any, whole: Any, X: Matrix, y: AnyArray) -> Certificate:
    """Proved anew for the shorter run; X are the rows as the estimator itself sees them."""
    if _has_rounds(model):
        found = certify(model, X, y)
        model._certificates = list(found.singles)
    else:
        run, m = whole.path_.run, model.n_iter_
        parts = {"eps": run.eps[:m], "chosen": run.chosen[:m], "steps": run.steps[:m]}
        short = replace(run, coef=model.coef_, intercept=model.intercept_, **parts)
        model._certificates = [short.check(X, y)]
    proved: Certificate = model._sealed().certificate_
    return proved
