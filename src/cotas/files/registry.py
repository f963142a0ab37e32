"""The closed table of the classes that a model file may hold.

A file names a class by its package and its name, such as "linear.LinearSVM". The table says where
that class lives; a name that is not in it is refused, and nothing is ever imported because a file
says so. A class may move to another module of its package without old files noticing.

To make a class storable, add its qualified name to `LOCATIONS`. It must be a dataclass, a
NamedTuple or a scikit-learn estimator whose values the encoder knows. If compiled loops index with
its arrays, give it a check in `cotas.files.checks` as well.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cotas.files.errors import ModelFileError

LOCATIONS = (
    # estimators
    "cotas.linear.perceptron.Perceptron",
    "cotas.linear.perceptron.AveragedPerceptron",
    "cotas.linear.passive_aggressive.PassiveAggressive",
    "cotas.linear.pegasos.Pegasos",
    "cotas.linear.svm.LinearSVM",
    "cotas.kernel.pegasos.KernelPegasos",
    "cotas.kernel.perceptron.KernelPerceptron",
    "cotas.kernel.svm.KernelSVM",
    "cotas.regression.least_squares.LeastSquares",
    "cotas.regression.ridge.Ridge",
    "cotas.regression.lasso.Lasso",
    "cotas.regression.ls_boost.LSBoost",
    "cotas.regression.stagewise.ForwardStagewise",
    "cotas.regression.stagewise.RegularizedForwardStagewise",
    "cotas.boosting.adaboost.AdaBoost",
    "cotas.boosting.adaboost.RealAdaBoost",
    "cotas.boosting.anyboost.AnyBoost",
    "cotas.boosting.anyboost.ConvexAnyBoost",
    "cotas.boosting.gentleboost.GentleBoost",
    "cotas.boosting.logitboost.LogitBoost",
    # what they are made of
    "cotas.linear.history.History",
    "cotas.linear.dispatch.Ending",
    "cotas.solvers.run.Run",
    "cotas.solvers.run.Average",
    "cotas.solvers.perceptron.PerceptronRule",
    "cotas.solvers.passive_aggressive.PassiveAggressiveRule",
    "cotas.solvers.pegasos.PegasosRule",
    "cotas.solvers.moments.Moments",
    "cotas.solvers.stochastic_gradient.RunState",
    "cotas.regression.stagewise_path.StagewisePath",
    "cotas.kernel.approximate.FourierFeatures",
    "cotas.kernel.approximate.NystroemFeatures",
    "cotas.kernel.feature_map.FeatureMap",
    "cotas.boosting.ensemble.Ensemble",
    "cotas.boosting.weak_learners.Stump",
    "cotas.boosting.weak_learners.Tree",
    "cotas.boosting.weak_learners.LinearLearner",
    "cotas.solvers.trees.Trees",
    "cotas.solvers.trees.Categories",
    "cotas.solvers.weak_learners.Linear",
    # kernels
    "cotas.kernel.functions.Linear",
    "cotas.kernel.functions.Constant",
    "cotas.kernel.functions.Polynomial",
    "cotas.kernel.functions.Cosine",
    "cotas.kernel.functions.Precomputed",
    "cotas.kernel.gaussian.RBF",
    "cotas.kernel.gaussian.Gaussian",
    "cotas.kernel.algebra.Sum",
    "cotas.kernel.algebra.Product",
    "cotas.kernel.algebra.Scaled",
    "cotas.kernel.algebra.Power",
    "cotas.kernel.algebra.Exponential",
    "cotas.kernel.algebra.Normalized",
    "cotas.kernel.algebra.OnColumns",
    # parameters that are values
    "cotas.losses.ZeroOne",
    "cotas.losses.Hinge",
    "cotas.losses.SquaredHinge",
    "cotas.losses.ModifiedHuber",
    "cotas.losses.Squared",
    "cotas.losses.Exponential",
    "cotas.losses.Logistic",
    "cotas.problem.RegularizedRisk",
    "cotas.problem.SoftmaxRisk",
    "cotas.schedules.Constant",
    "cotas.schedules.PowerLaw",
    "cotas.stops.AnyOf",
    "cotas.stops.AllOf",
    "cotas.stops.ChangeOfJ",
    "cotas.stops.ChangeOfTheta",
    "cotas.stops.MaxIterations",
    "cotas.stops.MaxTime",
    "cotas.stops.Gap",
    # certificates and witnesses
    "cotas.certificates.certificate.Certificate",
    "cotas.certificates.theorems.stagewise.StagewiseCertificate",
    "cotas.certificates.sweep.Sketch",
    "cotas.certificates.duality.DualPoint",
    "cotas.certificates.duality.Expectation",
    "cotas.certificates.duality.HardMarginPoint",
    "cotas.certificates.theorems.mistakes.PerceptronLedger",
    "cotas.certificates.theorems.mistakes.PassiveAggressiveLedger",
    "cotas.certificates.theorems.mistakes.KernelPerceptronLedger",
    "cotas.certificates.kernel.KernelDualPoint",
    "cotas.certificates.features.FeaturePoint",
    "cotas.certificates.kernel.PairPoint",
    "cotas.certificates.kernel.KernelRegion",
    "cotas.certificates.consequences.prediction.Region",
    "cotas.certificates.softmax.SoftmaxPoint",
    "cotas.certificates.theorems.separation.SeparationWitness",
    "cotas.certificates.theorems.separation.Separability",
    "cotas.certificates.least_squares.Descent",
    "cotas.certificates.least_squares.SquaredLossPoint",
    "cotas.certificates.lasso.LassoProblem",
    "cotas.certificates.lasso.LassoPoint",
    "cotas.certificates.consequences.path.ValidationBound",
    "cotas.certificates.theorems.stagewise.StagewiseRun",
    "cotas.certificates.theorems.stagewise.Proof",
    "cotas.certificates.streamed.Stream",
    "cotas.certificates.theorems.combinations.Combination",
    "cotas.certificates.theorems.surrogates.SurrogateBound",
    "cotas.certificates.theorems.hull.HullPoint",
    "cotas.certificates.theorems.additive.AdditiveFit",
    "cotas.certificates.theorems.weak_learners.PlainTrees",
    "cotas.certificates.theorems.weak_learners.PlainLinear",
    "cotas.certificates.theorems.weak_learners.StumpClass",
    # what prepares a table
    "cotas.preparation.preparation.Preparation",
    "cotas.preparation.recipe.Recipe",
    # the training data
    "cotas.files.fingerprint.Fingerprint",
)


def name_in_files(location: str) -> str:
    """The package and the class, without the modules between.

    >>> name_in_files("cotas.linear.svm.LinearSVM")
    'linear.LinearSVM'
    """
    parts = location.split(".")
    return f"{parts[1]}.{parts[-1]}"


_TABLE: dict[str, str] = {}


def register(location: str) -> None:
    """Add a class of cotas to the table, by its qualified name.

    Parameters
    ----------
    location : str
        Such as "cotas.preparation.scaling.Scaler". Only classes of this package are taken.
    """
    if not location.startswith("cotas.") or location.count(".") < 2:
        raise ValueError(f"Only classes of cotas can be stored, and {location!r} is none.")
    name = name_in_files(location)
    if _TABLE.setdefault(name, location) != location:
        raise ValueError(f"{name!r} already stands for {_TABLE[name]}.")


def class_named(name: Any) -> type[Any]:
    """The class that a file calls by this name."""
    location = _TABLE.get(name) if isinstance(name, str) else None
    if location is None:
        raise ModelFileError(
            f"The file holds an object of the class {name!r}, which this version of cotas does "
            "not know: update cotas, or do not trust the file."
        )
    module, _, attribute = location.rpartition(".")
    found: type[Any] = getattr(import_module(module), attribute)
    return found


def name_of(cls: type[Any]) -> str | None:
    """What files call this class; None if it cannot be stored."""
    location = f"{cls.__module__}.{cls.__qualname__}"
    name = name_in_files(location) if location.count(".") >= 2 else ""
    return name if _TABLE.get(name) == location else None


for _location in LOCATIONS:
    register(_location)
