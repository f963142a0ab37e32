"""Pictures of models and their certificates. Needs matplotlib: pip install 'cotas[plots]'."""

from cotas.plots.boundary import decision_boundary, lambda_sweep
from cotas.plots.curves import bias_variance, learning_curve, loss_against_c
from cotas.plots.descent import convergence
from cotas.plots.paths import coefficient_path, path
from cotas.plots.words import language

__all__ = [
    "bias_variance",
    "coefficient_path",
    "convergence",
    "decision_boundary",
    "lambda_sweep",
    "language",
    "learning_curve",
    "loss_against_c",
    "path",
]
