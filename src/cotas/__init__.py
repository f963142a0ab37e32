"""cotas: supervised learning where every fit carries a certificate.

The names below are loaded when they are first used, so that `import cotas` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cotas import kernels, plots, schedules, stops, tables
    from cotas.boosting.adaboost import AdaBoost, RealAdaBoost
    from cotas.boosting.anyboost import AnyBoost, ConvexAnyBoost
    from cotas.boosting.gentleboost import GentleBoost
    from cotas.boosting.logitboost import LogitBoost
    from cotas.boosting.weak_learners import LinearLearner, Stump, Tree
    from cotas.certificates import (
        Certificate,
        hold_out_bound,
    )
    from cotas.export.onnx import to_onnx
    from cotas.files.models import load
    from cotas.foreign.certify import certify
    from cotas.kernel.pegasos import KernelPegasos
    from cotas.kernel.perceptron import KernelPerceptron
    from cotas.kernel.regression import KernelRidge, KernelSVR
    from cotas.kernel.svm import KernelSVM
    from cotas.linear.logistic import LogisticRegression
    from cotas.linear.passive_aggressive import PassiveAggressive
    from cotas.linear.path import logistic_path, svm_path
    from cotas.linear.pegasos import Pegasos
    from cotas.linear.perceptron import AveragedPerceptron, Perceptron
    from cotas.linear.separability import separability
    from cotas.linear.svm import LinearSVM
    from cotas.regression.elastic_net import ElasticNet
    from cotas.regression.huber import HuberRegressor
    from cotas.regression.lasso import Lasso
    from cotas.regression.lasso_path import lasso_path
    from cotas.regression.least_squares import LeastSquares
    from cotas.regression.linear_svr import LinearSVR
    from cotas.regression.ls_boost import LSBoost
    from cotas.regression.ridge import Ridge
    from cotas.regression.stagewise import ForwardStagewise, RegularizedForwardStagewise
    from cotas.selection.choosing import choose
    from cotas.selection.decomposition import bias_variance
    from cotas.selection.learning import learning_curves
    from cotas.tracing import trace
    from cotas.words import lang

__version__ = "0.1.0"

_HOME = {
    "AdaBoost": "cotas.boosting.adaboost",
    "AnyBoost": "cotas.boosting.anyboost",
    "AveragedPerceptron": "cotas.linear.perceptron",
    "Certificate": "cotas.certificates",
    "ConvexAnyBoost": "cotas.boosting.anyboost",
    "ElasticNet": "cotas.regression.elastic_net",
    "ForwardStagewise": "cotas.regression.stagewise",
    "GentleBoost": "cotas.boosting.gentleboost",
    "HuberRegressor": "cotas.regression.huber",
    "KernelPegasos": "cotas.kernel.pegasos",
    "KernelPerceptron": "cotas.kernel.perceptron",
    "KernelRidge": "cotas.kernel.regression",
    "KernelSVM": "cotas.kernel.svm",
    "KernelSVR": "cotas.kernel.regression",
    "LSBoost": "cotas.regression.ls_boost",
    "Lasso": "cotas.regression.lasso",
    "LeastSquares": "cotas.regression.least_squares",
    "LinearLearner": "cotas.boosting.weak_learners",
    "LinearSVM": "cotas.linear.svm",
    "LinearSVR": "cotas.regression.linear_svr",
    "LogisticRegression": "cotas.linear.logistic",
    "LogitBoost": "cotas.boosting.logitboost",
    "PassiveAggressive": "cotas.linear.passive_aggressive",
    "Pegasos": "cotas.linear.pegasos",
    "Perceptron": "cotas.linear.perceptron",
    "RealAdaBoost": "cotas.boosting.adaboost",
    "RegularizedForwardStagewise": "cotas.regression.stagewise",
    "Ridge": "cotas.regression.ridge",
    "Stump": "cotas.boosting.weak_learners",
    "Tree": "cotas.boosting.weak_learners",
    "bias_variance": "cotas.selection.decomposition",
    "certify": "cotas.foreign.certify",
    "choose": "cotas.selection.choosing",
    "hold_out_bound": "cotas.certificates",
    "lang": "cotas.words",
    "lasso_path": "cotas.regression.lasso_path",
    "learning_curves": "cotas.selection.learning",
    "load": "cotas.files.models",
    "logistic_path": "cotas.linear.path",
    "separability": "cotas.linear.separability",
    "svm_path": "cotas.linear.path",
    "to_onnx": "cotas.export.onnx",
    "trace": "cotas.tracing",
}
# Beside the names below: modules that have a page of their own, and are loaded as well.
_MODULES = ("datasets", "exceptions", "experiments", "lab", "scale", "tracing")

__all__ = [
    "AdaBoost",
    "AnyBoost",
    "AveragedPerceptron",
    "Certificate",
    "ConvexAnyBoost",
    "ElasticNet",
    "ForwardStagewise",
    "GentleBoost",
    "HuberRegressor",
    "KernelPegasos",
    "KernelPerceptron",
    "KernelRidge",
    "KernelSVM",
    "KernelSVR",
    "LSBoost",
    "Lasso",
    "LeastSquares",
    "LinearLearner",
    "LinearSVM",
    "LinearSVR",
    "LogisticRegression",
    "LogitBoost",
    "PassiveAggressive",
    "Pegasos",
    "Perceptron",
    "RealAdaBoost",
    "RegularizedForwardStagewise",
    "Ridge",
    "Stump",
    "Tree",
    "bias_variance",
    "certify",
    "choose",
    "hold_out_bound",
    "kernels",
    "lang",
    "lasso_path",
    "learning_curves",
    "load",
    "logistic_path",
    "plots",
    "schedules",
    "separability",
    "stops",
    "svm_path",
    "tables",
    "to_onnx",
    "trace",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    if name in __all__ or name in _MODULES:
        return import_module(f"cotas.{name}")
    raise AttributeError(f"module 'cotas' has no attribute {name!r}")


def __dir__() -> list[str]:
    special = {name for name in globals() if name.startswith("__")}
    return sorted({*special, *__all__, *_MODULES})
