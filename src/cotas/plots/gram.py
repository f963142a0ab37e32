"""What a kernel sees: how alike the examples are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from cotas.kernel.choice import as_kernel
from cotas.kernel.gram_matrix import gram
from cotas.plots.style import INK, drawing
from cotas.refusals import ParameterError
from cotas.source import MatrixLike
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Numbers of a matrix that a picture can still show.
MOST_ROWS = 2000


def gram_matrix(
    kernel: Any,
    X: MatrixLike,
    y: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    lang: str | None = None,
) -> Axes:
    """Compute k(xᵢ, xⱼ) of all pairs, the rows ordered by class.

    A kernel that suits the task shows a square of high values for each class.

    Parameters
    ----------
    kernel : Kernel, str, or a fitted kernel machine
        One of `cotas.kernels`, a combination, or "rbf", "linear", "poly" and "cosine".
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,), optional
        The classes; without them the rows stay in their order.
    ax, title, lang : as in `decision_boundary`

    Returns
    -------
    matplotlib Axes
    """
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if len(X) > MOST_ROWS:
        raise ParameterError(
            "X", f"X has {len(X)} rows; a picture shows at most {MOST_ROWS}: take a part."
        )
    kernel = as_kernel(getattr(kernel, "kernel_", kernel), X)
    labels = np.zeros(len(X)) if y is None else np.asarray(y).ravel()
    if len(labels) != len(X):
        raise ParameterError("y", f"X has {len(X)} rows and y has {len(labels)}; they must agree.")
    order = np.argsort(labels, kind="stable")
    classes, counts = np.unique(labels, return_counts=True)
    K = gram(kernel, X[order])
    with drawing(ax, lang, (5.4, 4.6)) as ax:
        image = ax.imshow(K, cmap="cividis", interpolation="nearest", rasterized=True)
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.85)
        bar.set_label("k(x, x′)")
        bar.ax.tick_params(labelsize=8)
        ends = np.cumsum(counts)
        for end in ends[:-1]:
            for line in (ax.axhline, ax.axvline):
                line(end - 0.5, color="white", linewidth=1.6)
                line(end - 0.5, color=INK, linewidth=0.6)
        if y is None:
            ax.set(xticks=[], yticks=[])
        else:
            middles, marks = ends - counts / 2 - 0.5, [f"y = {label}" for label in classes]
            ax.set_xticks(middles, marks)
            ax.set_yticks(middles, marks, rotation=90, va="center")
            ax.set_xlabel(say("rows, class by class"))
        ax.grid(False)
        ax.set_title(say("Gram matrix of {name}", name=str(kernel)) if title is None else title)
    return ax
