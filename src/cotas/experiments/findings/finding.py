"""A finding: what a document says of a figure, what was measured, and whether that agrees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import FloatArray

AGREES, IN_PART, DIFFERS, NO_CLAIM = "agrees", "in part", "differs", "no claim"

Seeds = Sequence[int]


@dataclass(frozen=True)
class Finding:
    """What a document says of one figure or several, what was measured, and the verdict.

    The verdict is "agrees", "in part" or "differs"; or "no claim" where the document has a
    picture only.
    """

    figures: tuple[str, ...]
    says: str
    found: str
    verdict: str


def verdict(holds: bool, otherwise: str = DIFFERS) -> str:
    """Agreement, or something else."""
    return AGREES if holds else otherwise


def mean(values: Iterable[float]) -> float:
    """The mean of some numbers."""
    return float(np.mean(list(values)))


def means(rows: Any) -> FloatArray:
    """The mean of each column, a row for each seed."""
    return np.asarray(np.mean(np.array(rows, dtype=np.float64), axis=0))


def spaced(number: int) -> str:
    """A large number with its thousands apart."""
    return f"{number:,}".replace(",", " ")
