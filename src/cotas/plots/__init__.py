"""Pictures of models and their certificates. Needs matplotlib: pip install 'cotas[plots]'.

Each function takes `ax=` and gives back the Axes it drew on, in one style that colour-blind readers
and printers can tell apart, with labels in English or Spanish. The settings of matplotlib stay as
they are.
"""

from cotas.plots.boosting import boosting_stages, feature_importances, margin_distribution
from cotas.plots.boundary import decision_boundary, lambda_sweep
from cotas.plots.curves import bias_variance, learning_curve, loss_against_c
from cotas.plots.descent import convergence
from cotas.plots.gram import gram_matrix
from cotas.plots.paths import coefficient_path, path
from cotas.plots.proofs import certificate_trace
from cotas.words import lang as language

__all__ = [
    "bias_variance",
    "boosting_stages",
    "certificate_trace",
    "coefficient_path",
    "convergence",
    "decision_boundary",
    "feature_importances",
    "gram_matrix",
    "lambda_sweep",
    "language",
    "learning_curve",
    "loss_against_c",
    "margin_distribution",
    "path",
]
