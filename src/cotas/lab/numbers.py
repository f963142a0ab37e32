"""Data for regression: those of the documents, and a file of one's own."""

from __future__ import annotations

import numpy as np

from cotas.experiments.samples import informative_covariates
from cotas.lab.foreign import Data
from cotas.lab.points import read_table
from cotas.lab.state import Refused

SAMPLES = ("document", "diabetes")
MOST_COLUMNS = 100


def sample(name: str) -> Data:
    """The ten covariates of Rugeles Ospina, section 2.3, or the patients with diabetes."""
    if name == "document":
        found = informative_covariates(0)
        code = (
            "from cotas.experiments.samples import informative_covariates\n\n"
            "X, y, _ = informative_covariates(0)"
        )
        names = tuple(f"x{j}" for j in range(1, found.X.shape[1] + 1))
        return Data(found.X, found.y, code, names)
    from sklearn.datasets import load_diabetes

    data = load_diabetes()
    code = "from sklearn.datasets import load_diabetes\n\nX, y = load_diabetes(return_X_y=True)"
    return Data(data.data, data.target, code, tuple(map(str, data.feature_names)))


def from_csv(content: bytes) -> Data:
    """All columns of numbers, the last of them as the target."""
    frame = read_table(content)
    columns = [name for name in frame.columns if frame[name].dtype.is_numeric()]
    if not 2 <= len(columns) <= MOST_COLUMNS + 1 or columns[-1] != frame.columns[-1]:
        raise Refused("no numbers", most=MOST_COLUMNS)
    table = frame.select(columns).to_numpy().astype(np.float64)
    if not np.isfinite(table).all():
        raise Refused("not finite")
    if len(table) < 3:
        raise Refused("too few rows")
    *names, target = columns
    code = f'table = cotas.tables.read_table("data.csv", target={target!r})\n' + (
        f"X = table.features.select({names!r}).to_numpy().astype(float)\ny = table.target"
    )
    return Data(table[:, :-1].copy(), table[:, -1].copy(), code, tuple(n[:40] for n in names))
