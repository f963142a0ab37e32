"""The trusted checker: short, plain NumPy in double precision, independent of every solver.

A solver hands over a model and a *witness*. Everything a `Certificate` says is recomputed here
from the data and the witness; nothing that a solver says about itself is repeated.
"""

from cotas.certificates.certificate import Certificate, conclude, no_certificate
from cotas.certificates.consequences.path import ValidationBound
from cotas.certificates.consequences.prediction import Region, optimum_region, optimum_regions
from cotas.certificates.duality import DualPoint, Expectation, HardMarginPoint
from cotas.certificates.features import FeaturePoint
from cotas.certificates.kernel import KernelDualPoint, KernelRegion, PairPoint
from cotas.certificates.least_squares import DescentBound, SquaredLossPoint
from cotas.certificates.softmax import SoftmaxPoint
from cotas.certificates.theorems.hold_out import HeldOut, hold_out_bound
from cotas.certificates.theorems.kernel_mistakes import KernelPerceptronLedger
from cotas.certificates.theorems.mistakes import PassiveAggressiveLedger, PerceptronLedger
from cotas.certificates.theorems.mixing import PassiveAggressiveMixture, PerceptronMixture
from cotas.certificates.theorems.separation import Separability, SeparationWitness

__all__ = [
    "Certificate",
    "DescentBound",
    "DualPoint",
    "Expectation",
    "FeaturePoint",
    "HardMarginPoint",
    "HeldOut",
    "KernelDualPoint",
    "KernelPerceptronLedger",
    "KernelRegion",
    "PairPoint",
    "PassiveAggressiveLedger",
    "PassiveAggressiveMixture",
    "PerceptronLedger",
    "PerceptronMixture",
    "Region",
    "Separability",
    "SeparationWitness",
    "SoftmaxPoint",
    "SquaredLossPoint",
    "ValidationBound",
    "conclude",
    "hold_out_bound",
    "no_certificate",
    "optimum_region",
    "optimum_regions",
]
