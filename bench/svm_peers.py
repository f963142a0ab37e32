"""The problem of the support vector machine without bias, and the libraries that solve it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from sklearn.svm import LinearSVC

import cotas

PEER_TOLS = (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6, 1e-7)
FIRST_SWEEPS, MORE_SWEEPS, PEER_SWEEPS = 10, 3, 100_000
UNTOLD_SWEEPS = 3000  # of a library that does not tell how many it made


@dataclass(frozen=True)
class Problem:
    """Mean hinge loss + (λ/2)‖θ‖² without bias, which all of them solve as it stands.

    More than two classes are one problem each, one class against the rest; the objective is then
    the mean of theirs.
    """

    name: str
    X: Any
    y: np.ndarray
    lam: float

    @property
    def positives(self) -> np.ndarray:
        """The labels that are trained against the rest."""
        labels = np.unique(self.y)
        return labels[1:] if len(labels) == 2 else labels

    @property
    def cost(self) -> float:
        """λ in the convention of LIBLINEAR, which adds the losses up: C = 1/(λn)."""
        return 1.0 / (self.lam * len(self.y))

    def objective(self, thetas: np.ndarray) -> float:
        values = []
        for label, theta in zip(self.positives, thetas, strict=True):
            signs = np.where(self.y == label, 1.0, -1.0)
            losses = np.maximum(0.0, 1.0 - signs * (self.X @ theta))
            values.append(losses.mean() + 0.5 * self.lam * theta @ theta)
        return float(np.mean(values))

    def ours(self, tol: float, max_time: float) -> cotas.LinearSVM:
        return cotas.LinearSVM(
            lam=self.lam,
            fit_intercept=False,
            tol=tol,
            max_iter=100_000,
            max_time=max_time,
            random_state=0,
        )


# θ for each class, and the sweeps it took if the library tells, from a tol and a limit of sweeps.
Peer: TypeAlias = Callable[[Problem, float, int], tuple[np.ndarray, int]]


def linear_svc(problem: Problem, tol: float, sweeps: int) -> tuple[np.ndarray, int]:
    """LIBLINEAR as scikit-learn has it."""
    model = LinearSVC(
        loss="hinge",
        C=problem.cost,
        fit_intercept=False,
        tol=tol,
        max_iter=sweeps,
        random_state=0,
    ).fit(problem.X, problem.y)
    return model.coef_, int(model.n_iter_)


def other_peers() -> Iterator[tuple[str, Peer]]:
    """Those that are installed, for two classes; none of them can be limited in time."""
    for name, make in (
        ("liblinear-official", _liblinear),
        ("rehline", _rehline),
        ("snapml", _snapml),
    ):
        try:
            yield name, make()
        except ImportError:
            print(f"({name} is not installed)")


def _signs(problem: Problem) -> np.ndarray:
    return np.where(problem.y == problem.positives[0], 1.0, -1.0)


def _liblinear() -> Peer:
    from liblinear.liblinearutil import train

    def fit(problem: Problem, tol: float, sweeps: int) -> tuple[np.ndarray, int]:
        options = f"-s 3 -B -1 -c {problem.cost!r} -e {tol!r} -q"
        model = train(_signs(problem), problem.X, options)
        d = problem.X.shape[1]
        theta = np.zeros(d)
        theta[: model.nr_feature] = np.ctypeslib.as_array(model.w, shape=(model.nr_feature,))
        return (theta * (1.0 if model.get_labels()[0] == 1 else -1.0))[None], 0

    return fit


def _rehline() -> Peer:
    from rehline import plqERM_Ridge

    def fit(problem: Problem, tol: float, sweeps: int) -> tuple[np.ndarray, int]:
        model = plqERM_Ridge({"name": "svm"}, C=problem.cost, tol=tol, max_iter=sweeps)
        model.fit(X=problem.X, y=_signs(problem))
        return np.asarray(model.coef_)[None], int(model.n_iter_)

    return fit


def _snapml() -> Peer:
    from snapml import SupportVectorMachine

    def fit(problem: Problem, tol: float, sweeps: int) -> tuple[np.ndarray, int]:
        strength = problem.lam * len(problem.y)
        model = SupportVectorMachine(
            regularizer=strength, tol=tol, max_iter=UNTOLD_SWEEPS, n_jobs=2, random_state=0
        ).fit(problem.X, _signs(problem))
        return np.asarray(model.coef_).reshape(1, -1), 0

    return fit


@dataclass(frozen=True)
class Setting:
    """A tol and a limit of sweeps that got a peer near enough, and what that fit took."""

    tol: float
    sweeps: int
    seconds: float
    objective: float


@dataclass
class Settings:
    """What a peer needs for each gap; the longest of the fits that did not get there."""

    enough: dict[float, Setting] = field(default_factory=dict)
    longest: float = 0.0
    lowest: float = np.inf


def settings(
    peer: Peer, problem: Problem, lower: float, gaps: tuple[float, ...], allowance: float
) -> Settings:
    """The largest tol, and the first limit of sweeps, that suffice for each gap.

    Most peers cannot be stopped: their sweeps are limited by what the last fit took, and the
    search ends when one more fit would not go into the seconds that are left.
    """
    found, sweeps, left = Settings(), FIRST_SWEEPS, allowance
    for tol in PEER_TOLS:
        while True:
            began = time.perf_counter()
            thetas, used = peer(problem, tol, sweeps)
            seconds = time.perf_counter() - began
            left -= seconds
            value = problem.objective(thetas)
            found.lowest = min(found.lowest, value)
            for gap in gaps:
                if gap not in found.enough and value - lower <= gap * value:
                    found.enough[gap] = Setting(tol, sweeps, seconds, value)
            if len(found.enough) == len(gaps):
                return found
            found.longest = max(found.longest, seconds)
            if seconds > left:
                return found
            most = int(max(1, used) * left / seconds)
            if used < sweeps:
                sweeps = min(sweeps, most) if used else sweeps
                break  # it believes to be done: a smaller tol
            if sweeps == PEER_SWEEPS:
                return found
            sweeps = min(PEER_SWEEPS, MORE_SWEEPS * sweeps, most)
    return found
