"""The certificate of a linear model on features that are computed from the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates.certificate import Certificate
from cotas.certificates.duality import DualPoint
from cotas.certificates.kernel import refuse_another_subject
from cotas.certificates.witnesses import Parametric

REMARKS = {
    "fourier": "The features are random cosines and sines: nothing is said about the exact kernel.",
    "nystroem": (
        "θ is a combination of the landmarks alone: nothing is said about other θ of the feature "
        "space. certify_exact(X, y) does."
    ),
}


class FeatureTransform(Protocol):
    """A map from rows to features, a fixed function of each row."""

    def transform(self, X: Matrix) -> FloatArray: ...


@dataclass(frozen=True)
class FeaturePoint(Parametric):
    """A `DualPoint` about the features of the rows, which are computed again for every check.

    Attributes
    ----------
    features : the map, part of the model
    point : θ, θ₀ and α of the problem on the features
    remark : what the features are, in words
    subject : what it is about, where a model has several parts
    """

    features: FeatureTransform
    point: DualPoint
    remark: str
    subject: str = ""

    @property
    def coef(self) -> FloatArray:
        """Compute θ, one entry for each feature."""
        return self.point.coef

    @property
    def intercept(self) -> float:
        return self.point.intercept

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        if self.remark not in REMARKS.values():
            raise ValueError("The witness describes its features in words that nobody proves.")
        point = self.point
        refuse_another_subject(self.subject, y, point.positive, point.weights)
        return self.check_features(self.features.transform(X), y)

    def check_features(self, Z: FloatArray, y: AnyArray) -> Certificate:
        """Return the same, the features of all the rows being at hand."""
        found = self.point.check(Z, y)
        remarks, label = (self.remark, *found.remarks), self.subject or found.label
        trusted = (*found.trusted, "The features are what the model's own code makes of each row.")
        return replace(found, witness=self, remarks=remarks, trusted=trusted, label=label)

    def about(self, coef: FloatArray, intercept: float) -> FeaturePoint:
        return replace(self, point=self.point.about(coef, intercept))
