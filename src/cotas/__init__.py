"""cotas: supervised learning where every fit carries a certificate.

The names below are loaded when they are first used, so that `import cotas` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cotas import kernels
    from cotas.certificates import Certificate, CertificateError, Separability
    from cotas.fitting.reporting import EpochReport
    from cotas.foreign.certify import certify
    from cotas.kernel.pegasos import KernelPegasos
    from cotas.kernel.perceptron import KernelPerceptron
    from cotas.kernel.svm import KernelSVM
    from cotas.linear.passive_aggressive import PassiveAggressive
    from cotas.linear.pegasos import Pegasos
    from cotas.linear.perceptron import AveragedPerceptron, Perceptron
    from cotas.linear.separability import separability
    from cotas.linear.svm import LinearSVM, NotSeparableError

__version__ = "0.1.0"

_HOME = {
    "AveragedPerceptron": "cotas.linear.perceptron",
    "Certificate": "cotas.certificates",
    "CertificateError": "cotas.certificates",
    "EpochReport": "cotas.fitting.reporting",
    "KernelPegasos": "cotas.kernel.pegasos",
    "KernelPerceptron": "cotas.kernel.perceptron",
    "KernelSVM": "cotas.kernel.svm",
    "LinearSVM": "cotas.linear.svm",
    "NotSeparableError": "cotas.linear.svm",
    "PassiveAggressive": "cotas.linear.passive_aggressive",
    "Pegasos": "cotas.linear.pegasos",
    "Perceptron": "cotas.linear.perceptron",
    "Separability": "cotas.certificates",
    "certify": "cotas.foreign.certify",
    "separability": "cotas.linear.separability",
}

__all__ = [
    "AveragedPerceptron",
    "Certificate",
    "CertificateError",
    "EpochReport",
    "KernelPegasos",
    "KernelPerceptron",
    "KernelSVM",
    "LinearSVM",
    "NotSeparableError",
    "PassiveAggressive",
    "Pegasos",
    "Perceptron",
    "Separability",
    "certify",
    "kernels",
    "separability",
]


def __getattr__(name: str) -> Any:
    if name == "kernels":
        return import_module("cotas.kernels")
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'cotas' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
