"""What a classifier does to the plane, as lines and areas that Bokeh can draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.plotting.contour import contour_data

from cotas.arrays import BoolArray, FloatArray, IntArray
from cotas.lab.points import Points
from cotas.plots.fitted import axis_of, codes_of, has_margins, leads_of, rows_to_ring, scores_of

# Points of the grid on each side: lines stay smooth, since they are interpolated.
RESOLUTION = 90


@dataclass(frozen=True, eq=False)
class Plane:
    """Areas and lines; `rings` are the rows that are ringed, and `ringed` is what they are called.

    `certified` tells of each training row whether the exact optimum provably agrees; None where
    the model claims nothing of the kind.
    """

    areas: dict[str, list[Any]]
    boundary: dict[str, list[Any]]
    margins: dict[str, list[Any]]
    doubtful: dict[str, list[Any]]
    rings: IntArray
    ringed: str
    certified: BoolArray | None


def plane_of(model: Any, points: Points, certified: bool) -> Plane:
    """Return what the model says of every place in the picture, by its own methods."""
    x1, x2, grid = _grid(points)
    classes, shape = np.asarray(model.classes_), (RESOLUTION, RESOLUTION)
    scores = scores_of(model, grid) if len(classes) == 2 else None
    if scores is not None:
        leads = [-scores, scores]
    else:
        leads = leads_of(model, grid, codes_of(model, grid, classes), len(classes))
    fields = [lead.reshape(shape) for lead in leads]
    ringed = rows_to_ring(model, points.X, points.y, classes, has_margins(model))
    doubtful, sure = _doubtful(model, grid, points, x1, x2) if certified else (no_lines(), None)
    with_margins = scores is not None and has_margins(model)
    return Plane(
        _areas(x1, x2, fields),
        _lines(x1, x2, fields[:1] if scores is not None else fields, [0.0]),
        _lines(x1, x2, fields[:1], [-1.0, 1.0]) if with_margins else no_lines(),
        doubtful,
        ringed[0] if ringed is not None else np.arange(0),
        ringed[1] if ringed is not None else "",
        sure,
    )


def lines_between(predict: Callable[[FloatArray], Any], points: Points) -> dict[str, list[Any]]:
    """Tell where a weak learner changes its mind."""
    x1, x2, grid = _grid(points)
    said = np.asarray(predict(grid), dtype=np.float64).ravel()
    middle = (said.min() + said.max()) / 2
    return _lines(x1, x2, [(said - middle).reshape(RESOLUTION, RESOLUTION)], [0.0])


def _grid(points: Points) -> tuple[FloatArray, FloatArray, FloatArray]:
    x1, x2 = (axis_of(points.X[:, j], RESOLUTION) for j in range(2))
    return x1, x2, np.stack([part.ravel() for part in np.meshgrid(x1, x2)], axis=1)


def _doubtful(
    model: Any, grid: FloatArray, points: Points, x1: FloatArray, x2: FloatArray
) -> tuple[dict[str, list[Any]], BoolArray | None]:
    """Tell where the exact optimum may decide otherwise, if anything is known of it."""
    if not hasattr(model, "certified_predict"):
        return no_lines(), None
    sure = model.certified_predict(grid)[1]
    rows = model.certified_predict(points.X)[1]
    if not sure.any():
        return no_lines(), rows
    mask = np.where(sure, -1.0, 1.0).reshape(RESOLUTION, RESOLUTION)
    found = _areas(x1, x2, [mask])
    return {"xs": found["xs"], "ys": found["ys"]}, rows


def _areas(x1: FloatArray, x2: FloatArray, fields: list[FloatArray]) -> dict[str, list[Any]]:
    """Tell where each field is positive, with the number of the field."""
    xs: list[Any] = []
    ys: list[Any] = []
    owners: list[int] = []
    for number, field in enumerate(fields):
        top = float(field.max())
        if not top > 0:
            continue
        data = contour_data(x1, x2, field, [0.0, 2 * top], want_line=False).fill_data
        xs += data.xs
        ys += data.ys
        owners += [number] * len(data.xs)
    return {"xs": xs, "ys": ys, "owner": owners}


def _lines(
    x1: FloatArray, x2: FloatArray, fields: list[FloatArray], levels: list[float]
) -> dict[str, list[Any]]:
    xs: list[Any] = []
    ys: list[Any] = []
    for field in fields:
        inside = [level for level in levels if field.min() < level < field.max()]
        if inside:
            data = contour_data(x1, x2, field, inside, want_fill=False).line_data
            xs += list(data.xs)
            ys += list(data.ys)
    return {"xs": xs, "ys": ys}


def no_lines() -> dict[str, list[Any]]:
    """Return no line and no area."""
    return {"xs": [], "ys": []}
