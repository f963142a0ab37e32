"""Pictures of models and their certificates. Needs matplotlib: pip install 'cotas[plots]'."""

from cotas.plots.boundary import decision_boundary

__all__ = ["decision_boundary"]
