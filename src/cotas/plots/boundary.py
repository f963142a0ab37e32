"""The decision boundary of a linear classifier of two features, with its margins."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import FloatArray

# Blue and orange are told apart by every kind of colour vision, and so are circle and square.
COLOURS = ("#0072B2", "#E69F00")
MARKERS = ("o", "s")


def decision_boundary(model: Any, X: Any, y: Any, ax: Any = None, title: str | None = None) -> Any:
    """Draw θ·x + θ₀ = 0, the margin boundaries at ±1 and the examples.

    Examples that violate their margin, y(θ·x + θ₀) < 1, are ringed, as in Figure 3.4 of document
    000. The margin boundaries lie at a distance 1/‖θ‖ from the decision boundary.

    Parameters
    ----------
    model : a fitted linear classifier of two classes and two features
    X : array of shape (n_samples, 2)
    y : array of shape (n_samples,)
    ax : matplotlib Axes, optional
        Where to draw; a new figure if not given.
    title : str, optional

    Returns
    -------
    matplotlib Axes
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    if X.ndim != 2 or X.shape[1] != 2 or model.coef_.shape != (1, 2):
        raise ValueError("decision_boundary draws models of two features and two classes.")
    if ax is None:
        ax = _new_axes()
    theta, theta0 = model.coef_[0], float(model.intercept_[0])
    negative, positive = model.classes_
    agreement = np.where(y == positive, 1.0, -1.0) * (X @ theta + theta0)
    for label, colour, marker in zip((negative, positive), COLOURS, MARKERS, strict=True):
        rows = X[y == label]
        ax.scatter(*rows.T, s=22, c=colour, marker=marker, alpha=0.8, label=f"y = {label}")
    inside = X[agreement < 1]
    ax.scatter(*inside.T, s=70, facecolors="none", edgecolors="#555555", linewidths=0.8)
    _draw_lines(ax, X, theta, theta0)
    ax.set_title(title or type(model).__name__)
    ax.set_xlabel("$x_1$")
    ax.set_ylabel("$x_2$")
    ax.legend(loc="best", fontsize="small", framealpha=0.9)
    return ax


def _new_axes() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'cotas[plots]'.") from error
    return plt.subplots(figsize=(6, 5), layout="constrained")[1]


def _draw_lines(ax: Any, X: FloatArray, theta: FloatArray, theta0: float) -> None:
    """The three parallel lines, by contour so that a vertical line is no special case."""
    low, high = X.min(axis=0), X.max(axis=0)
    room = 0.08 * np.where(high > low, high - low, 1.0)
    x1, x2 = np.linspace(low - room, high + room, 200).T
    values = theta[0] * x1[None, :] + theta[1] * x2[:, None] + theta0
    ax.contour(x1, x2, values, levels=[0], colors="black", linewidths=1.6)
    ax.contour(x1, x2, values, levels=[-1, 1], colors="black", linewidths=0.9, linestyles="dashed")
    ax.set_xlim(x1[0], x1[-1])
    ax.set_ylim(x2[0], x2[-1])
