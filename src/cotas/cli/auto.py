"""`--model auto`: all families that suit the table, tuned by successive halving."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

import cotas
from cotas.arrays import AnyArray
from cotas.boosting.weak_learners import DEEPEST
from cotas.cli.command import UsageError
from cotas.cli.models import MOST_COLUMNS_FOR_TREES, blend_as_typed, build
from cotas.cli.session import Session, command_line, trained_by
from cotas.cli.training import Settings, SplitTable, Trained, train_one
from cotas.preparation.columns import ColumnError
from cotas.preparation.prepared_model import NO_COLUMN
from cotas.preparation.record import AGAIN, OPTIMISTIC, Rival
from cotas.preparation.telling import in_parts, label
from cotas.selection.blend import BLEND
from cotas.selection.halving import Candidate, Halving, Subsample, Trial, interleaved
from cotas.words import say

# Inverse penalties, in powers of ten, and widths of the kernel, in multiples of 1/(d·variance).
WEIGHTS, WIDTHS = (0.01, 0.1, 1.0, 10.0, 100.0), (0.25, 1.0, 4.0)
# Depths and rates of boosted trees; rounds and patience at a rate of one, smaller rates have more.
DEPTHS, RATES, ROUNDS, PATIENCE = (1, 2, 3, 5), (0.1, 0.3), 150, 3
# Half a step of a penalty, and of a width or a rate.
PENALTY_STEP, OTHER_STEP = 10**0.5, 2.0
# Machines take time that grows with the square of the rows, ridge in feature space with the cube.
MOST_ROWS_OF_MACHINES, MOST_ROWS_OF_RIDGE = 20_000, 5_000
# With fewer rows a single validation says little: there are so many folds, and in the finals more.
FEW_ROWS, FOLDS, VALIDATION_FOLDS, REPEATS = 5_000, 4, 5, 5
LEADERS = 10


def train_auto(
    session: Session, rows: SplitTable, settings: Settings
) -> tuple[Trained, list[Rival]]:
    """Choose among all families on the training rows alone, and train the choice on all of them.

    The rows held out play no part in it, so that what they say of the model needs no correction.
    """
    if settings.differs:
        words = "--model auto takes no --lam, --tol, --param or --select: the models differ."
        raise UsageError(words)
    if not settings.time > 0:
        raise UsageError("--time is a number of seconds above 0, not {time:g}.", time=settings.time)
    if settings.trials is not None and settings.trials < 1:
        words = "--trials is a number of settings to try, at least 1, not {trials}."
        raise UsageError(words, trials=settings.trials)
    table, y = rows.take(rows.train)
    X = clone(settings.preparation).fit(table).transform(table)
    if X.shape[1] == 0:
        raise ColumnError(NO_COLUMN)
    wanted = candidates(settings.task, X, y, settings.seed)[: settings.trials]
    limits: dict[str, Any] = {"max_time": settings.time, "tell": partial(_tell, session)}
    limits["blends"] = not settings.single
    if settings.trials is not None:
        limits["beside"] = None
    search = search_of(settings.task, X, y, settings.seed, rows.groups_of_training(), **limits)
    best = search.run(wanted)
    if best.refusal:
        raise UsageError("no setting can be trained on these rows: {why}", why=best.refusal)
    board = _board(search, settings.command)
    members = [name for name, _ in getattr(best.model, "estimators", ())]
    # Who reads this stands where it was typed; the report and the file of the model may travel.
    shown = _board(search, command_line(folders=True))
    others = (rival for rival in shown[LEADERS:] if rival.name in members)
    _show(session, [*shown[:LEADERS], *others], settings)
    if best.candidate.name == BLEND:
        words = "The blend comes first: its squares are smaller by more than a standard error."
        session.note(say(words))
    if search.interrupted:
        session.note(say("Interrupted: the best setting so far is trained on all the rows."))
    one = train_one(session, best.candidate.name, rows, settings, best.settled)
    said = (*one.warnings, *_cut_short(search, wanted, settings.time))
    early = one.interrupted or search.interrupted
    return replace(one, interrupted=early, warnings=said), board


def _board(search: Halving, command: str) -> list[Rival]:
    """Return the lines of the leaderboard, each with what trains it again."""
    return [
        replace(leader_of(trial), command=again(trial, search.trials, command))
        for trial in search.leaderboard()
    ]


def _cut_short(search: Halving, wanted: list[Candidate], seconds: float) -> Iterator[str]:
    """Yield what was not tried because the time was up, or somebody ended the search."""
    known = {trial.candidate.label for trial in search.trials}
    tried, count = len(known & {each.label for each in wanted}), len(wanted)
    if search.interrupted and tried < count:
        words = "The search was ended early: {tried} of the first {count} settings were tried."
        yield say(words, tried=tried, count=count)
    elif search.timed_out:
        words = (
            "The {seconds:g} s for the choice were up: {tried} of the first {count} settings were "
            "tried. The first call of a model compiles it (cotas warmup does so ahead); a longer "
            "--time tries more."
            if tried < count
            else "The {seconds:g} s for the choice were up: all of the first {count} settings were "
            "tried, but not all that was to follow; a longer --time judges them better."
        )
        yield say(words, seconds=seconds, tried=tried, count=count)


def search_of(
    task: str, X: Any, y: AnyArray, seed: int, groups: AnyArray | None = None, **limits: Any
) -> Halving:
    """Return a search on such a table; `limits` are those of `Halving`."""
    parts = parts_of(y, task, seed, groups)
    first = 1 if len(y) >= FEW_ROWS else len(parts) // REPEATS
    given: dict[str, Any] = {"first": first, "beside": partial(beside, y=y, seed=seed), **limits}
    given["groups"] = groups
    return Halving(X, y, parts, **given)


def candidates(task: str, X: Any, y: AnyArray, seed: int) -> list[Candidate]:
    """Return the settings to try, those of different families by turns, the usual ones first."""
    families = _classifiers(X) if task == "classification" else _regressors(X, y)
    rounds_of_trials = itertools.zip_longest(*(list(family) for family in families))
    pairs = (
        pair for round_of_trials in rounds_of_trials for pair in round_of_trials if pair is not None
    )
    return [_candidate(name, given, y, seed) for name, given in pairs]


def beside(candidate: Candidate, y: AnyArray, seed: int) -> list[Candidate]:
    """Return the settings half a step away, in one parameter each."""
    given, found = candidate.given, list[dict[str, Any]]()
    if "lam" in given:
        found += [{"lam": given["lam"] * by} for by in (PENALTY_STEP, 1 / PENALTY_STEP)]
    if "kernel" in given:
        gammas = [given["kernel"].gamma * by for by in (OTHER_STEP, 1 / OTHER_STEP)]
        found += [{"kernel": cotas.kernels.RBF(gamma=gamma)} for gamma in gammas]
    if "weak_learner" in given:
        depth, rate = given["weak_learner"].depth, given["learning_rate"]
        depths = [near for near in (depth - 1, depth + 1) if 1 <= near <= DEEPEST]
        rates = [near for near in (rate / OTHER_STEP, rate * OTHER_STEP) if near <= 1]
        found += [_boosted(near, rate) for near in depths] + [
            _boosted(depth, near) for near in rates
        ]
    return [_candidate(candidate.name, {**given, **other}, y, seed) for other in found]


def _candidate(name: str, given: dict[str, Any], y: AnyArray, seed: int) -> Candidate:
    parameters = in_parts(given)
    if "depth" in parameters:  # the rounds are not known yet
        parameters = {key: parameters[key] for key in ("depth", "learning_rate")}
    return Candidate(name, build(name, y, seed, given)[0], label(name, parameters), given)


def typed(trial: Trial) -> tuple[str, dict[str, Any]]:
    """Return the name of a setting and its parameters, as they are typed to train it again."""
    parameters = in_parts(trial.candidate.given)
    rounds = getattr(trial.settled, "n_estimators", None)
    if rounds is not None:
        parameters = {"depth": parameters["depth"], "learning_rate": parameters["learning_rate"]}
        parameters["n_estimators"] = rounds
    return trial.candidate.name, parameters


def again(trial: Trial, trials: Iterable[Trial], command: str) -> str:
    """Return the command that trains a setting, or a blend of them, without looking for it."""
    if trial.candidate.name != BLEND:
        return trained_by(command, *typed(trial))
    known = {each.label: each for each in trials}
    pairs = zip(trial.model.estimators, trial.model.weights.tolist(), strict=True)
    parts = [(*typed(known[name]), weight) for (name, _), weight in pairs]
    return trained_by(command, blend_as_typed(parts), {})


Family = Iterator[tuple[str, dict[str, Any]]]


def _classifiers(X: Any) -> list[Family]:
    n, d = X.shape
    families = [_by_weight("logistic", 1.0 / n), _by_weight("svm", 1.0 / n)]
    if d <= MOST_COLUMNS_FOR_TREES:
        families.append(_trees("logitboost"))
    if n <= MOST_ROWS_OF_MACHINES:
        families.append(_kernels("kernel-svm", X, 1.0 / n))
    return families


def _regressors(X: Any, y: AnyArray) -> list[Family]:
    n, d = X.shape
    families = [_by_weight("ridge", 1.0), _by_weight("elastic-net", float(np.std(y)) or 1.0)]
    if d <= MOST_COLUMNS_FOR_TREES:
        families.append(_trees("ls-boost"))
    if n <= MOST_ROWS_OF_RIDGE:
        families.append(_kernels("kernel-ridge", X, 1.0 / n))
    return families


def _by_weight(name: str, unit: float) -> Family:
    """Compute λ from a hundred units down to a hundredth, the middle first."""
    for weight in _from_the_middle(WEIGHTS):
        yield name, {"lam": unit / weight * (0.01 if name in ("ridge", "elastic-net") else 1.0)}


def _kernels(name: str, X: Any, unit: float) -> Family:
    square = X.multiply(X).mean() if hasattr(X, "multiply") else np.square(X).mean()
    variance = float(square - X.mean() ** 2) or 1.0
    for width, weight in itertools.product(_from_the_middle(WIDTHS), (10.0, 1.0, 100.0)):
        kernel = cotas.kernels.RBF(gamma=width / (X.shape[1] * variance))
        yield name, {"kernel": kernel, "lam": unit / weight}


def _trees(name: str) -> Family:
    for depth, rate in itertools.product(_from_the_middle(DEPTHS), RATES):
        yield name, _boosted(depth, rate)


def _boosted(depth: int, rate: float) -> dict[str, Any]:
    """Propose boosted trees with as many rounds as early stopping finds; smaller steps have
    more."""
    return {
        "weak_learner": cotas.Tree(depth),
        "learning_rate": rate,
        "n_estimators": round(ROUNDS / rate),
        "early_stopping": True,
        "n_iter_no_change": round(PATIENCE / rate),
    }


def _from_the_middle(values: tuple[Any, ...]) -> list[Any]:
    middle = len(values) // 2
    return sorted(values, key=lambda value: abs(values.index(value) - middle))


def parts_of(y: AnyArray, task: str, seed: int, groups: AnyArray | None = None) -> list[Subsample]:
    """Cut the training rows into folds, several times where there are few; the order is random.

    Each class is in each fold as often as it is in all, as far as it has rows; `groups` stay whole.
    """
    classes = task == "classification"
    strata = np.unique(y, return_inverse=True)[1] if classes else np.zeros(len(y), dtype=np.int64)
    many, random = len(y) >= FEW_ROWS, np.random.RandomState(seed)
    count = min(VALIDATION_FOLDS if many else FOLDS, len(y))
    # Each group goes to one fold, by the class of its first row.
    first, owner = np.arange(len(y)), np.arange(len(y))
    if groups is not None:
        first, owner = np.unique(groups, return_index=True, return_inverse=True)[1:]
    count = min(count, len(first))
    if count < 2:
        raise UsageError("--model auto needs two rows at least, or two groups, to judge by.")
    labels = strata[first]
    kind = StratifiedKFold if classes and np.bincount(labels).max() >= count else KFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds is in some of them
        folds = kind(count, shuffle=True, random_state=random)
        again = range(1 if many else REPEATS)
        cuts = [cut for _ in again for _, cut in folds.split(first, labels)]
    return [
        Subsample(interleaved(np.flatnonzero(~aside), strata, random), np.flatnonzero(aside))
        for aside in (np.isin(owner, cut) for cut in cuts)
    ]


def _tell(session: Session, trial: Trial) -> None:
    """Say what is being tried while it is."""
    words = "{name}: {rows} rows, validation error {error:.4g}, {seconds:.2g} s"
    parameters = {"rows": trial.rows, "error": trial.error, "seconds": trial.seconds}
    session.passing(say(words, name=trial.label, **parameters))


def leader_of(trial: Trial) -> Rival:
    """Return a line of the leaderboard."""
    return Rival(
        trial.label,
        trial.seconds,
        trial.relative_gap,
        trial.holds,
        trial.training_error,
        trial.error,
        trial.refusal or ("" if trial.whole else say("cut short by the time limit")),
        trial.parts,
        trial.rows,
        trial.squares,
    )


def _show(session: Session, board: list[Rival], settings: Settings) -> None:
    classes = settings.task == "classification"
    names = [say(name) for name in ("model", "seconds", "relative gap", "training error")]
    lines = [
        [
            rival.name,
            f"{rival.seconds:.2f}",
            "–" if rival.relative_gap is None else f"{rival.relative_gap:.1e}",
            "–" if rival.training_error is None else f"{rival.training_error:.4g}",
            f"{rival.error:.4g}",
            *[f"{rival.squares:.4g}"] * classes,
            str(rival.folds),
            str(rival.rows),
        ]
        for rival in board
    ]
    names += [say("validation error"), *[say("Brier score")] * classes, say("folds"), say("rows")]
    session.table(names, lines, say("The best settings, judged by parts of the training rows:"))
    session.say(say(OPTIMISTIC), say(AGAIN))
    session.say(*(f"  {rival.command}" for rival in board))
    session.note(*(f"{rival.name}: {rival.note}" for rival in board if rival.note))
