"""The losses of the documents: value, slope and, where it exists, convex conjugate.

Classification losses are functions of the margin z = y(θ·x + θ₀); the squared loss is a
function of the residual z = y − θ·x − θ₀. The conjugate of ℓ is ℓ*(a) = sup_z a·z − ℓ(z), so
that ℓ(z) + ℓ*(a) ≥ a·z always, with equality at a = ℓ'(z) (Fenchel and Young). Outside its
domain a conjugate is +∞.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, xlogy

from cotas.arrays import FloatArray


class Loss(Protocol):
    """A loss: what every loss can tell."""

    @property
    def name(self) -> str: ...

    def value(self, z: FloatArray) -> FloatArray:
        """Compute ℓ(z)"""
        ...

    def slope(self, z: FloatArray) -> FloatArray:
        """Return a (sub)derivative ℓ'(z)."""
        ...


class ConvexLoss(Loss, Protocol):
    """A loss with a convex conjugate, hence with a dual problem."""

    def conjugate(self, a: FloatArray) -> FloatArray:
        """Compute ℓ*(a)"""
        ...


class MarginLoss(ConvexLoss, Protocol):
    """A convex loss of the margin that never rises: its slopes lie in [−steepest, 0]."""

    @property
    def steepest(self) -> float: ...


@dataclass(frozen=True)
class ZeroOne:
    """The 0-1 loss ⟦z ≤ 0⟧: an example on the boundary counts as a mistake. Not convex, no
    conjugate.

    >>> ZeroOne().value(np.array([-1.0, 0.0, 2.0]))
    array([1., 1., 0.])
    """

    name = "zero-one"

    def value(self, z: FloatArray) -> FloatArray:
        return np.asarray(np.less_equal(z, 0), dtype=np.float64)

    def slope(self, z: FloatArray) -> FloatArray:
        return np.zeros_like(np.asarray(z, dtype=np.float64))


@dataclass(frozen=True)
class Hinge:
    """The hinge loss max(0, 1 − z). Departures: Clasificación lineal prints the case 1 − z for z <
    0; it holds for z < 1.

    >>> Hinge().value(np.array([-1.0, 0.5, 2.0]))
    array([2. , 0.5, 0. ])
    """

    name = "hinge"
    steepest = 1.0

    def value(self, z: FloatArray) -> FloatArray:
        return np.maximum(0.0, 1.0 - z)

    def slope(self, z: FloatArray) -> FloatArray:
        # At the corner z = 1 any number in [−1, 0] would do; Fuentes Cabrera updates there.
        return np.where(np.less_equal(z, 1), -1.0, 0.0)

    def conjugate(self, a: FloatArray) -> FloatArray:
        inside = (np.asarray(a) >= -1) & (np.asarray(a) <= 0)
        return np.where(inside, a, np.inf)


@dataclass(frozen=True)
class SquaredHinge:
    """The squared hinge max(0, 1 − z)², the loss that `LinearSVC` takes unless it is told
    otherwise.

    >>> SquaredHinge().value(np.array([-1.0, 0.5, 2.0]))
    array([4.  , 0.25, 0.  ])
    """

    name = "squared hinge"
    steepest = np.inf

    def value(self, z: FloatArray) -> FloatArray:
        return np.square(np.maximum(0.0, 1.0 - z))

    def slope(self, z: FloatArray) -> FloatArray:
        return -2.0 * np.maximum(0.0, 1.0 - z)

    def conjugate(self, a: FloatArray) -> FloatArray:
        # sup_z a z − (1 − z)² is attained at z = 1 + a/2.
        a = np.asarray(a, dtype=np.float64)
        return np.where(a <= 0, a + np.square(a) / 4, np.inf)


@dataclass(frozen=True)
class ModifiedHuber:
    """The squared hinge, continued from z = −1 on by its tangent −4z (Zhang 2004).

    >>> ModifiedHuber().value(np.array([-3.0, -1.0, 0.5, 2.0]))
    array([12.  ,  4.  ,  0.25,  0.  ])
    """

    name = "modified Huber"
    steepest = 4.0

    def value(self, z: FloatArray) -> FloatArray:
        return np.where(np.less(z, -1), -4.0 * z, np.square(np.clip(1.0 - z, 0.0, 2.0)))

    def slope(self, z: FloatArray) -> FloatArray:
        return -2.0 * np.clip(1.0 - z, 0.0, 2.0)

    def conjugate(self, a: FloatArray) -> FloatArray:
        a = np.asarray(a, dtype=np.float64)
        return np.where((a <= 0) & (a >= -4), a + np.square(a) / 4, np.inf)


@dataclass(frozen=True)
class Squared:
    """The squared loss z²/2, as in section 4.1 of Fuentes Cabrera.

    >>> Squared().value(np.array([-2.0, 1.0]))
    array([2. , 0.5])
    """

    name = "squared"

    def value(self, z: FloatArray) -> FloatArray:
        return 0.5 * np.square(z)

    def slope(self, z: FloatArray) -> FloatArray:
        return np.asarray(z, dtype=np.float64)

    def conjugate(self, a: FloatArray) -> FloatArray:
        return 0.5 * np.square(a)


@dataclass(frozen=True)
class Exponential:
    """The exponential exp(−z), the loss of AdaBoost.

    >>> Exponential().value(np.array([0.0]))
    array([1.])
    """

    name = "exponential"
    steepest = np.inf

    def value(self, z: FloatArray) -> FloatArray:
        return np.exp(-np.asarray(z))

    def slope(self, z: FloatArray) -> FloatArray:
        return -np.exp(-np.asarray(z))

    def conjugate(self, a: FloatArray) -> FloatArray:
        # sup_z a z − e^{−z} is attained at e^{−z} = −a.
        a = np.asarray(a, dtype=np.float64)
        inside = a <= 0
        b = np.where(inside, -a, 0.0)
        return np.where(inside, xlogy(b, b) - b, np.inf)


@dataclass(frozen=True)
class Logistic:
    """The logistic loss log(1 + exp(−z)), computed without overflow.

    >>> Logistic().value(np.array([-1000.0, 1000.0]))
    array([1000.,    0.])
    """

    name = "logistic"
    steepest = 1.0

    def value(self, z: FloatArray) -> FloatArray:
        return np.logaddexp(0.0, -np.asarray(z))

    def slope(self, z: FloatArray) -> FloatArray:
        return np.asarray(-expit(-np.asarray(z)))

    def conjugate(self, a: FloatArray) -> FloatArray:
        # With b = −a in [0, 1]: b log b + (1 − b) log(1 − b), the negative entropy.
        a = np.asarray(a, dtype=np.float64)
        inside = (a >= -1) & (a <= 0)
        b = np.where(inside, -a, 0.0)
        return np.where(inside, xlogy(b, b) + xlogy(1 - b, 1 - b), np.inf)
