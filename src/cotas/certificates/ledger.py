"""Witnesses in plain Python types."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np


def plain_fields(witness: Any) -> dict[str, Any]:
    """The fields of a witness in plain Python types, ready for JSON."""
    values = {f.name: getattr(witness, f.name) for f in fields(witness)}
    return {
        name: value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        for name, value in values.items()
    }
