"""The kernel support vector machine, solved until a duality gap is proved."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass
from itertools import combinations, pairwise
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from cotas.arrays import AnyArray, BoolArray, FloatArray, Matrix
from cotas.certificates import Certificate, FeaturePoint, KernelDualPoint, no_certificate
from cotas.certificates.certificate import CHANGED
from cotas.device.find import check_device
from cotas.files.state import digest
from cotas.fitting.data import Examples, read_examples, refuse_source
from cotas.fitting.parameters import check_parameters
from cotas.kernel.approximate import FeatureCheck, FourierFeatures, NystroemFeatures
from cotas.kernel.base import Group, KernelClassifier, same_entries
from cotas.kernel.choice import as_kernel, is_precomputed, refuse_indefinite
from cotas.kernel.interface import Kernel
from cotas.kernel.training import (
    BinaryProblem,
    KernelModel,
    KernelSetting,
    Outcome,
    binary_problems,
    facts_of,
    maker_for,
    named,
    outcome,
    solve_all,
    starts_of,
)
from cotas.refusals import ParameterError
from cotas.running import Monitor
from cotas.solvers.working_set import Move
from cotas.source import MatrixLike
from cotas.stops import Reason

# Rows whose scores are computed before they are turned into the answer.
ROWS_AT_A_TIME = 1 << 14
ROWS_FOR_A_DEVICE = 1 << 20  # each time the support vectors travel to it


@dataclass(eq=False, repr=False)
class KernelSVM(KernelClassifier):
    """The soft-margin support vector machine in the feature space of a kernel (Fuentes-Pineda).

    Minimises the objective of the documents, with φ(x) in the place of x,

        mean hinge loss of f(x) = θ·φ(x) + θ₀  +  (λ/2)‖θ‖²,    the bias not penalized,

    until the checker proves, in double precision, a relative gap of at most `tol`.

    Parameters
    ----------
    kernel : Kernel or str, optional
        One of `cotas.kernels` or a combination of them, or one of "rbf", "linear", "poly",
        "cosine" and "precomputed". None stands for "rbf" with γ = 1/(n_features · variance of X),
        as in scikit-learn's `SVC`. With a precomputed kernel X is the Gram matrix.
    lam : float, default=1e-3
        λ, the weight of the penalty.
    C : float, optional
        In the place of `lam`, as `SVC` has it: λ = 1/(C · sum of the weights), the sum over the
        rows of each binary problem.
    fit_intercept : bool, default=True
        Whether to train the free bias θ₀.
    solver : {"smo", "smo-simple"}, default="smo"
        Sequential minimal optimization: with working sets of a thousand rows, or two multipliers
        at a time as the document tells it, slow and short.
    multiclass : {"ovo", "ovr"}, default="ovo"
        With more than two classes: one machine for each pair of classes, which then vote as in
        `SVC`, or one for each class against the rest.
    approximate : {"nystroem", "fourier"}, optional
        Train a linear machine on `n_components` features whose inner products are nearly the
        kernel: the projections on as many random training rows, or random cosines and sines (for
        an RBF only). The certificate is about the problem on these features; for "nystroem"
        `certify_exact` tells how far the model is from the best one for the kernel itself.
    n_components : int, default=300
        Features for `approximate`. They take 8 bytes each for every row.
    tol : float, default=1e-4
        The relative gap to prove: the fit ends when (P − D)/P ≤ tol, so that the best objective is
        lower by at most that share, and warns if it cannot get there.
    max_iter : int, default=100_000
        Working sets, or groups of n updates with "smo-simple", for each binary problem.
    max_time : float, optional
        Seconds after the call of `fit` at which the best model so far is returned.
    cache_mb : float, default=500
        Megabytes for rows of the Gram matrix, and for a copy of X in single precision if it fits
        into half of them. Besides, the fit takes blocks of a few megabytes for each core, a
        matrix of 1024 × 1024, and some numbers for each row.
    shrinking : bool, default=True
        With "smo": leave the rows out that seem to have found their bound. The fit ends when the
        gap over all the rows is proved, so this changes the way there and not the answer.
    warm_start : bool, default=False
        Start from the multipliers of the last fit, on the same rows.
    class_weight : dict, "balanced" or None
        Multiplies the sample weights, class by class.
    random_state : int, RandomState or None
        For the choice of features with `approximate`.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where the fit, its proof and the predictions are computed: "cuda" is a GPU (or "cuda:1", the
        second), which needs `pip install "cotas[gpu]"`, a kernel that is a formula, and the solver
        "smo"; "auto" is one if there is one and the problem is large enough. The proof is the same:
        `certificate_.verify(X, y)` needs no GPU.
    n_jobs : int or None, default=None
        Threads for the fit, its proof and the predictions; None means all cores, but one inside a
        worker of joblib. It does not change the result.
    indefinite : {"refuse", "allow"}, default="refuse"
        What to do with a function of the user that is seen not to be a Mercer kernel. Where it
        is allowed there is no duality gap, and the certificate is about a stationary point.
    progress : bool, optional
        A bar with the gap; None shows one on a terminal if the fit takes more than a second.
    callbacks : callable or list of callables, optional
        Called with a `SolverReport` after each working set, which costs a check each time; True
        ends the fit.

    Attributes
    ----------
    classes_ : array of labels; the later of two counts as +1
    kernel_ : the kernel that was used
    support_ : array of row numbers, class by class
        The rows with a coefficient in at least one of the binary problems.
    support_vectors_ : those rows; none with a precomputed kernel
    n_support_ : array with the number of support vectors of each class
    dual_coef_ : array of shape (n_problems, n_support): yᵢαᵢ/λ
    intercept_ : array of shape (n_problems,)
    lam_ : float, λ; an array with one for each binary problem where `C` makes them differ
    certificate_ : Certificate, with a part for each binary problem where there are several
    pairs_ : list of pairs of labels, one for each binary problem; the second counts as +1
    coef_, features_ : with `approximate`: θ of each binary problem, and the map of the features;
        then there are no support vectors
    n_iter_ : working sets of the longest run
    stop_, stop_reason_ : why the fit ended, as a `cotas.stops.Stop` and in words

    Examples
    --------
    >>> import cotas
    >>> from cotas.kernels import RBF
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [0, 0, 1, 1]
    >>> model = cotas.KernelSVM(kernel=RBF(0.5), lam=0.01, tol=1e-8).fit(X, y)
    >>> model.predict(X)
    array([0, 0, 1, 1])
    >>> model.certificate_.relative_gap <= 1e-8
    True
    """

    kernel: Any = None
    _: KW_ONLY
    lam: float = 1e-3
    C: float | None = None
    fit_intercept: bool = True
    solver: str = "smo"
    multiclass: str = "ovo"
    approximate: str | None = None
    n_components: int = 300
    tol: float = 1e-4
    max_iter: int = 100_000
    max_time: float | None = None
    cache_mb: float = 500
    shrinking: bool = True
    warm_start: bool = False
    class_weight: Any = None
    random_state: Any = None
    device: str = "cpu"
    n_jobs: int | None = None
    indefinite: str = "refuse"
    progress: bool | None = None
    callbacks: Any = None

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on X, y until the gap is proved.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The square Gram matrix with a precomputed kernel.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            Non-negative; an example of weight zero is left out.
        """
        return self._fit(X, y, sample_weight)

    def _fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        watch: list[list[Move]] | None = None,
    ) -> Self:
        """Train; `watch` gets a list of moves for each binary problem."""
        began = time.perf_counter()
        self._check_parameters()
        examples = read_examples(self, X, y, sample_weight, self.class_weight)
        used = examples.used()
        rows = np.arange(examples.n_rows) if used is None else used
        kernel = as_kernel(self.kernel, examples.X, examples.weights)
        refuse_indefinite(kernel, examples.X, rows, self.indefinite)
        # Who wants to see each move sees those of the processor.
        maker = None if watch is not None else maker_for(self, kernel, len(rows))
        problems = binary_problems(examples, self)
        starts = starts_of(self, examples, problems)
        facts = {} if self.approximate else facts_of(examples, problems, self.n_jobs)
        with Monitor(self) as monitor:
            if watch is not None:
                watch.extend([] for _ in problems)
            setting = KernelSetting(self, kernel, examples, facts, monitor, began, watch, maker)
            features = None
            if self.approximate is None:
                found = outcome(solve_all(setting, problems, starts))
            else:
                features, found = self._on_features(setting, problems)
        return self._conclude(examples, kernel, problems, features, *found)

    def _on_features(
        self, setting: KernelSetting, problems: list[BinaryProblem]
    ) -> tuple[Any, Outcome]:
        """Train a linear machine on features that approximate the kernel."""
        kernel, X = setting.kernel, setting.examples.X
        if is_precomputed(kernel):
            raise ParameterError(
                "approximate", "approximate needs the rows themselves, not a precomputed kernel."
            )
        random = check_random_state(self.random_state)
        if self.approximate == "fourier":
            features = FourierFeatures.of(kernel, X.shape[1], int(self.n_components), random)
        else:
            features = NystroemFeatures.of(kernel, X, int(self.n_components), random)
        Z = features.transform(X)
        checks = [FeatureCheck(setting, problem, features, Z) for problem in problems]
        return features, outcome(
            [check.solve(part, len(problems)) for part, check in enumerate(checks)]
        )

    def certify_exact(self, X: Matrix, y: ArrayLike | None) -> Certificate:
        """Prove how far a model with `approximate="nystroem"` is from the best one for the kernel
        itself.

        θ = Σ βᵢφ(xᵢ) over the landmarks lies in the feature space of the kernel, and the
        multipliers of the approximate problem are feasible for the exact one.

        Parameters
        ----------
        X, y : the data of the fit
        """
        refuse_source(self, X)
        check_is_fitted(self)
        if not isinstance(self.features_, NystroemFeatures):
            return no_certificate("Only a model with approximate='nystroem' is one of the kernel.")
        found = []
        parts = zip(self._current_certificates(), self.coef_, self._part_names(0), strict=True)
        for current, theta, name in parts:
            point = cast(FeaturePoint, current.witness).point
            beta = np.zeros(len(point.multipliers))
            beta[self.features_.landmarks] = self.features_.expansion(theta)
            exact = KernelDualPoint(
                point.problem,
                self.kernel_,
                beta,
                point.intercept,
                point.positive,
                point.multipliers,
                weights=point.weights,
                subject=name if len(self.pairs_) > 1 else "",
            )
            fresh = exact.check(X, np.asarray(y))
            found.append(fresh if current.holds else fresh.withdrawn(current.objection))
        return found[0] if len(found) == 1 else Certificate.of_parts(found, self._part_names(0))

    def certified_predict(self, X: MatrixLike) -> tuple[AnyArray, BoolArray]:
        """Predict as every kernel classifier; nothing is claimed of a model with `approximate`."""
        if getattr(self, "features_", None) is None:
            return super().certified_predict(X)
        labels = self.predict(X)
        return labels, np.zeros(len(labels), dtype=np.bool_)

    def _scores(self, X: Matrix) -> FloatArray:
        if self.features_ is None:
            return super()._scores(X)
        parts = [
            X[start : start + ROWS_AT_A_TIME] for start in range(0, X.shape[0], ROWS_AT_A_TIME)
        ]
        scores = [self.features_.transform(part) @ self.coef_.T for part in parts]
        return np.concatenate(scores) + self.intercept_

    def _part_names(self, count: int) -> list[str]:
        return [named(*pair) for pair in self.pairs_]

    def _measured_certificates(self) -> list[Certificate]:
        if getattr(self, "features_", None) is None:
            return super()._measured_certificates()
        now = digest(self.features_)
        found = [
            certificate.about(theta, theta0)
            for certificate, theta, theta0 in zip(
                self._certificates, self.coef_, self.intercept_, strict=True
            )
        ]
        same = [digest(cast(FeaturePoint, c.witness).features) == now for c in found]
        return [c if s else c.withdrawn(CHANGED) for c, s in zip(found, same, strict=True)]

    def _foreign_rows(self, X: Matrix) -> bool:
        if isinstance(self.features_, NystroemFeatures):
            return not same_entries(X[self.features_.landmarks], self.features_.map.rows_)
        return self.features_ is None and super()._foreign_rows(X)

    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Compute f(x) of each row: shape (n_samples,), or (n_samples, n_classes) with more than
        two.

        With one machine for each pair, a class has as its score the votes it gets, and less than
        half a vote more or less by how clear they are, as `SVC` has it. The kernel is computed in
        double precision, in blocks of 512 × 512, one for each core at a time.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        X = self._rows(X)
        step = ROWS_AT_A_TIME if self.device == "cpu" else ROWS_FOR_A_DEVICE
        spans = range(0, X.shape[0], step)
        return np.concatenate(
            [self._decided(self._scores(X[start : start + step])) for start in spans]
        )

    def _decided(self, scores: FloatArray) -> FloatArray:
        if not self._votes:
            return super()._decided(scores)
        return np.asarray(_ovr_decision_function(scores > 0, scores, len(self.classes_)))

    def _of_classes(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the fewest and the most votes that each class can get from the optimum."""
        if not self._votes:
            return low, high
        k = len(self.classes_)
        fewest, most = np.zeros((len(low), k)), np.zeros((len(low), k))
        for pair, (first, second) in enumerate(combinations(range(k), 2)):
            surely_second, surely_first = low[:, pair] > 0, high[:, pair] <= 0
            fewest[:, second] += surely_second
            fewest[:, first] += surely_first
            most[:, second] += ~surely_first
            most[:, first] += ~surely_second
        return fewest, most

    def _check_parameters(self) -> None:
        check_device(self.device)
        approximate = (None, "nystroem", "fourier")
        ways = {"solver": ("smo", "smo-simple"), "multiclass": ("ovo", "ovr")}
        check_parameters(self, **ways, approximate=approximate)

    def _conclude(
        self, examples: Examples, kernel: Kernel, problems: list[BinaryProblem], features: Any,
        models: list[KernelModel], iterations: int, reason: Reason,
    ) -> Self:  # fmt: skip
        """Keep the machines, as support vectors or as θ of their features."""
        self.classes_, self.kernel_, self.features_ = examples.classes, kernel, features
        self.pairs_ = [(problem.negative, problem.positive) for problem in problems]
        lams = [problem.lam for problem in problems]
        self.lam_ = lams[0] if len({*lams}) == 1 else np.array(lams)
        self._votes, self.n_iter_ = problems[0].rows is not None, iterations
        self._certificates = [model.certificate for model in models]
        self._regions = [model.region for model in models]
        coefs, theta0 = [m.coef for m in models], np.array([m.intercept for m in models])
        if features is None:
            self._keep_machines(examples, [problem.rows for problem in problems], coefs, theta0)
        else:
            self.coef_, self.intercept_ = np.array(coefs), theta0
            for name in ("support_", "support_vectors_", "n_support_", "dual_coef_", "_n_rows"):
                self.__dict__.pop(name, None)  # of an earlier fit without features
        return self._conclude_fit(reason, "Raise max_iter, max_time or tol.")

    def _groups(self) -> list[Group]:
        """Return the support vectors class by class, each with the machines it has a part in."""
        edges = np.concatenate([[0], np.cumsum(self.n_support_)])
        groups = []
        for begin, end in pairwise(edges):
            coef = self.dual_coef_[:, begin:end]
            models = np.flatnonzero(coef.any(axis=1))
            if begin < end:
                groups.append(Group(slice(begin, end), models, coef[models].T.copy()))
        return groups
