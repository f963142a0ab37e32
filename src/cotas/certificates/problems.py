"""The losses of classifiers as the core knows them, by name."""

from cotas.certificates.core import margins
from cotas.certificates.core.gap import Hinge

LOSSES = {
    "hinge": Hinge(),
    "squared hinge": margins.SquaredHinge(),
    "modified Huber": margins.ModifiedHuber(),
    "logistic": margins.Logistic(),
    "exponential": margins.Exponential(),
}
