"""f(x) = Σ aᵢ k(xᵢ, x) for many rows and several machines, on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from cotas.arrays import FloatArray, Matrix
from cotas.device.rows import DeviceRows, mean_of


def expand_on(device: Any, spec: Any, vectors: Matrix, coef: FloatArray, A: Matrix) -> FloatArray:
    """Compute Σ aᵢ k(xᵢ, x) for each row x of A, in double precision, one column for each machine.

    The support vectors stay on the device; the rows of A travel there piece by piece.
    """
    centre = mean_of(vectors, device)
    kept = DeviceRows(spec, vectors, device, torch.float64, centre, 1 << 62)
    right = kept.take(slice(None))
    left = DeviceRows(spec, A, device, torch.float64, centre, 0)
    return np.asarray(left.times(right, torch.tensor(coef, device=device)).cpu().numpy())
