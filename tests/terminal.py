"""The command line as the tests call it: in this process, with what it printed and its code."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from typer.testing import CliRunner


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """What a program reads."""
        return json.loads(self.out)


def cotas(*words: Any, stdin: bytes | None = None) -> Said:
    """`cotas …`, without a new process."""
    from cotas.cli.app import app

    result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Said(result.exit_code, result.stdout, result.stderr)


def customers(n: int = 160, seed: int = 0) -> pl.DataFrame:
    """A table with numbers, categories, truth values and missing values, and what to predict."""
    rng = np.random.default_rng(seed)
    age, income = rng.normal(40, 12, n).round(1), rng.lognormal(3, 0.5, n).round(2)
    town = rng.choice(["Lugo", "Vigo", "Ourense"], n)
    score = (age - 40) / 12 - 0.5 * (town == "Vigo") + rng.normal(0, 0.7, n)
    return pl.DataFrame(
        {
            "age": age,
            "income": [None if k % 19 == 7 else value for k, value in enumerate(income)],
            "town": town,
            "member": rng.random(n) < 0.4,
            "bought": np.where(score > 0, "yes", "no"),
        }
    )
