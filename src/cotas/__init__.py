"""cotas: supervised learning where every fit carries a certificate.

The names below are loaded when they are first used, so that `import cotas` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cotas.boosting.adaboost import AdaBoost, RealAdaBoost
    from cotas.boosting.anyboost import AnyBoost, ConvexAnyBoost
    from cotas.boosting.gentleboost import GentleBoost
    from cotas.boosting.logitboost import LogitBoost
    from cotas.boosting.training import RoundReport
    from cotas.boosting.weak_learners import LinearLearner, Stump, Tree
    from cotas.certificates import Certificate, CertificateError, Separability
    from cotas.fitting.reporting import EpochReport
    from cotas.foreign.certify import certify
    from cotas.linear.passive_aggressive import PassiveAggressive
    from cotas.linear.pegasos import Pegasos
    from cotas.linear.perceptron import AveragedPerceptron, Perceptron
    from cotas.linear.separability import separability
    from cotas.linear.svm import LinearSVM, NotSeparableError

__version__ = "0.1.0"

_HOME = {
    "AdaBoost": "cotas.boosting.adaboost",
    "AnyBoost": "cotas.boosting.anyboost",
    "AveragedPerceptron": "cotas.linear.perceptron",
    "Certificate": "cotas.certificates",
    "CertificateError": "cotas.certificates",
    "ConvexAnyBoost": "cotas.boosting.anyboost",
    "EpochReport": "cotas.fitting.reporting",
    "GentleBoost": "cotas.boosting.gentleboost",
    "LinearLearner": "cotas.boosting.weak_learners",
    "LinearSVM": "cotas.linear.svm",
    "LogitBoost": "cotas.boosting.logitboost",
    "NotSeparableError": "cotas.linear.svm",
    "PassiveAggressive": "cotas.linear.passive_aggressive",
    "Pegasos": "cotas.linear.pegasos",
    "Perceptron": "cotas.linear.perceptron",
    "RealAdaBoost": "cotas.boosting.adaboost",
    "RoundReport": "cotas.boosting.training",
    "Separability": "cotas.certificates",
    "Stump": "cotas.boosting.weak_learners",
    "Tree": "cotas.boosting.weak_learners",
    "certify": "cotas.foreign.certify",
    "separability": "cotas.linear.separability",
}

__all__ = [
    "AdaBoost",
    "AnyBoost",
    "AveragedPerceptron",
    "Certificate",
    "CertificateError",
    "ConvexAnyBoost",
    "EpochReport",
    "GentleBoost",
    "LinearLearner",
    "LinearSVM",
    "LogitBoost",
    "NotSeparableError",
    "PassiveAggressive",
    "Pegasos",
    "Perceptron",
    "RealAdaBoost",
    "RoundReport",
    "Separability",
    "Stump",
    "Tree",
    "certify",
    "separability",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'cotas' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
