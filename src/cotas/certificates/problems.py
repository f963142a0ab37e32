"""The losses of classifiers as the core knows them, by name."""

from cotas.certificates.core import gap

LOSSES = {
    "hinge": gap.Hinge(),
    "squared hinge": gap.SquaredHinge(),
    "modified Huber": gap.ModifiedHuber(),
    "logistic": gap.Logistic(),
    "exponential": gap.Exponential(),
}
