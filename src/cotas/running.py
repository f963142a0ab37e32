"""What surrounds a fit while it runs: the bar, callbacks and Ctrl-C, its threads, and BLAS's."""

from __future__ import annotations

import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import copy_context
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

from cotas.arrays import Each, Matrix

T = TypeVar("T")
# Takes the report of an estimator; a true answer ends the fit.
Callback = Callable[[Any], Any]
# Fewer entries than this are read before a second thread has begun.
WORTH_A_THREAD = 1 << 20
# A task on fewer entries, gone over many times, ends before a thread for it has begun.
WORTH_A_TASK = 1 << 14
# One pass over fewer entries beside other work ends before a thread for it has begun.
WORTH_A_PASS = 1 << 17


# ---- who is told, and who may end it -------------------------------------------------------------


class ProgressBar:
    """A bar on the terminal or in a notebook for work longer than a second.

    `shown=None` shows one if tqdm is installed and someone is there to look at it. Without a
    `total` it counts and shows the speed.
    """

    def __init__(
        self, total: int | None, name: str, shown: bool | None, unit: str = "epoch"
    ) -> None:
        self._bar = None
        if shown is False or (shown is None and not _someone_watches()):
            return
        try:
            with warnings.catch_warnings():
                # In a notebook without ipywidgets it warns, and then shows the bar as text.
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm
        except ImportError as error:
            if shown:
                raise ImportError(
                    "progress=True needs tqdm: pip install 'cotas[progress]', "
                    "or leave progress at None."
                ) from error
            return
        self._bar = tqdm(total=total, desc=name, unit=unit, delay=1.0, leave=False)

    @property
    def is_shown(self) -> bool:
        """Tell whether there is one: figures beside it may take a while to compute."""
        return self._bar is not None

    def step(self, **figures: Any) -> None:
        """Move one unit further, with figures to show beside the bar; without any the last ones
        stay."""
        if self._bar is not None:
            if figures:
                written = {k: f"{v:.1e}" if isinstance(v, float) else v for k, v in figures.items()}
                self._bar.set_postfix(written, refresh=False)
            self._bar.update()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


def _someone_watches() -> bool:
    with suppress(AttributeError, ValueError):
        if sys.stderr.isatty():
            return True
    # In a notebook; that IPython is loaded says nothing.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class Monitor:
    """A monitor that lets one thread at a time speak to the user, and all of them know when to
    stop.

    `model` has the `callbacks` and the `progress` that were asked for; `name` stands at the bar.
    While it is open BLAS has one thread, so that no last digit of a fit depends on how many there
    are.
    """

    def __init__(
        self,
        model: Any,
        unit: str = "iteration",
        total: int | None = None,
        name: str | None = None,
    ) -> None:
        self.callbacks = as_callbacks(model.callbacks)
        self.bar = ProgressBar(total, name or type(model).__name__, model.progress, unit)
        # Whether someone, or a clock, looks at each iterate on the way.
        self.watched = bool(self.callbacks) or getattr(model, "max_time", None) is not None
        # Whether the user, or an error in another part, has put an end to the fit.
        self._lock, self.interrupted = Lock(), False

    def __enter__(self) -> Monitor:
        _USERS.enter()
        return self

    def __exit__(self, *_: object) -> None:
        _USERS.leave()
        self.bar.close()

    def interrupt(self) -> None:
        """End each part with the next iterate of its solver."""
        self.interrupted = True

    def tell(self, report: Any) -> bool:
        """Tell all the callbacks; whether one of them asks to stop."""
        with self._lock:
            return tell_all(self.callbacks, report)

    def show(self, **figures: Any) -> None:
        """Move the bar by one iteration, with figures beside it."""
        with self._lock:
            self.bar.step(**figures)

    def for_each(self, solve: Callable[[T], Any], parts: Sequence[T], threads: int) -> list[Any]:
        """Solve each part, in threads; after Ctrl-C each gives the best that it has."""
        if threads == 1:
            return [solve(part) for part in parts]
        with ThreadPoolExecutor(threads) as pool:
            return self._in_threads(pool, solve, parts)

    def _in_threads(
        self, pool: ThreadPoolExecutor, solve: Callable[[T], Any], parts: Sequence[T]
    ) -> list[Any]:
        tasks: list[Future[Any]] = []
        while True:
            try:
                # Ctrl-C may come before all the parts have been handed out.
                tasks.extend(
                    pool.submit(copy_context().run, solve, part) for part in parts[len(tasks) :]
                )
                return [task.result() for task in tasks]
            except KeyboardInterrupt:
                if self.interrupted:
                    raise  # the user insists
                self.interrupt()
            except BaseException:
                self.interrupt()
                for task in tasks:
                    task.cancel()
                raise


def as_callbacks(callbacks: Callback | Iterable[Callback] | None) -> list[Callback]:
    """Return callbacks as a list: given as None, one function, or several."""
    if callbacks is None:
        return []
    return [callbacks] if callable(callbacks) else list(callbacks)


def tell_all(callbacks: Iterable[Callback], report: Any) -> bool:
    """Tell whether one of them asks to stop; all are told, also after one has asked."""
    answers = [callback(report) for callback in callbacks]
    return any(answers)


# ---- BLAS ----------------------------------------------------------------------------------------


@cache
def _libraries() -> list[Any]:
    """Find the BLAS in memory, once: that takes a millisecond."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


class _OneThreadUsers:
    """Users that want one thread at this moment: the first one says so, the last one takes it
    back."""

    def __init__(self) -> None:
        self.lock, self.count = Lock(), 0
        self.before: list[int] = []

    def enter(self) -> None:
        with self.lock:
            if not self.count:
                self.before = [library.get_num_threads() for library in _libraries()]
                self._set([1] * len(self.before))
            self.count += 1

    def leave(self) -> None:
        with self.lock:
            self.count -= 1
            if not self.count:
                self._set(self.before)

    def _set(self, threads: list[int]) -> None:
        for library, before, count in zip(_libraries(), self.before, threads, strict=True):
            if before != 1:
                library.set_num_threads(count)


_USERS = _OneThreadUsers()


@contextmanager
def one_thread_in_blas() -> Iterator[None]:
    """Hold BLAS at one thread: our own share the cores, and its threads get in their way.

    The blocks of the checker are too small for it, and it then spends its time waiting, above
    all when another process wants the cores too. The last digits of its products depend on how
    many threads it has, so the limit holds until the last of several fits at once has ended.
    """
    _USERS.enter()
    try:
        yield
    finally:
        _USERS.leave()


# ---- threads -------------------------------------------------------------------------------------


@cache
def cpu_count() -> int:
    """Count the cores this process may use; asking the system takes a tenth of a millisecond."""
    return int(joblib.cpu_count())


def entries_of(X: Matrix) -> int:
    """Tell how many entries X has, or stores if it is sparse."""
    return int(X.nnz if hasattr(X, "nnz") else X.size)


def thread_count(n_jobs: int | None, tasks: int | None = None, entries: int = WORTH_A_TASK) -> int:
    """Tell how many threads may work, on so many tasks: all cores for None, all but k − 1 for −k.

    It is one for tasks that go over too few `entries` each.

    Inside a worker of joblib, such as those of `GridSearchCV(n_jobs=-1)`, the cores are taken by
    the other workers: there it is one, unless a number of threads is given.
    """
    if entries < WORTH_A_TASK:
        return 1
    backend, _ = joblib.parallel.get_active_backend()
    cores = 1 if (backend.nesting_level or 0) > 0 else cpu_count()
    wanted = cores if n_jobs is None else n_jobs
    if wanted < 0:
        wanted = cores + 1 + wanted
    return int(max(1, wanted if tasks is None else min(wanted, tasks)))


@contextmanager
def _in_threads(threads: int) -> Iterator[Each]:
    """Make a map that keeps the order, in so many threads, with at most two parts for each under
    way.

    BLAS has one thread in any case: the last digits of its products depend on how many it has.
    """
    if threads == 1:
        with one_thread_in_blas():
            yield map
        return
    with one_thread_in_blas(), ThreadPoolExecutor(threads) as pool:
        yield in_order(pool, threads)


def rows_in_threads(
    X: Matrix, n_jobs: int | None, worth: int | None = None
) -> AbstractContextManager[Each]:
    """Return what goes over parts of X: several threads if it has entries worth them, else
    `map`."""
    few = entries_of(X) < (worth or WORTH_A_THREAD)
    return _in_threads(1 if few else thread_count(n_jobs))


def blocks_in_threads(n_jobs: int | None) -> AbstractContextManager[Each]:
    """Return what goes over the blocks of a source, or of a Gram matrix."""
    return _in_threads(thread_count(n_jobs))


@contextmanager
def aside(
    function: Callable[[Any], T], data: object, n_jobs: int | None, entries: int
) -> Iterator[Future[T]]:
    """Call a function that reads so many entries once, in a thread of its own if worth it."""
    if entries >= WORTH_A_PASS and thread_count(n_jobs) > 1:
        with ThreadPoolExecutor(1) as pool:
            yield pool.submit(function, data)
        return
    found: Future[T] = Future()
    found.set_result(function(data))
    yield found


@contextmanager
def sharing_tasks(n_jobs: int | None, entries: int = WORTH_A_PASS) -> Iterator[tuple[Each, int]]:
    """Make a map for many short tasks, and how many threads take turns at it, this one among them.

    All of them together read so many entries.
    """
    threads = thread_count(n_jobs) if entries >= WORTH_A_PASS else 1
    if threads == 1:
        with one_thread_in_blas():
            yield map, 1
        return
    with one_thread_in_blas(), ThreadPoolExecutor(threads) as pool:
        yield _shared_with(pool, threads - 1), threads


def _shared_with(pool: ThreadPoolExecutor, helpers: int) -> Each:
    """Make a `map` whose items are taken in turn by this thread and by so many threads of the pool.

    A round of boosting shares work that takes a fraction of a millisecond. This thread therefore
    begins at once, and does all of it if no other wakes up in time.
    """

    def each(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        listed = list(items)
        results: list[Any] = [None] * len(listed)
        tasks = iter(range(len(listed)))  # the next number is taken in one step of the interpreter

        def take_tasks() -> None:
            for k in tasks:
                results[k] = function(listed[k])

        called = [pool.submit(take_tasks) for _ in range(min(helpers, len(listed) - 1))]
        try:
            take_tasks()
        finally:
            for future in called:
                if not future.cancel():
                    future.result()
        return results

    return each


def in_order(pool: ThreadPoolExecutor, threads: int) -> Each:
    """Return the map of a pool, with at most two parts for each thread under way.

    `pool.map` begins with all the parts at once: where the results are large and come faster than
    they are taken, they pile up in memory.
    """

    def each(function: Callable[[Any], Any], parts: Iterable[Any]) -> Iterator[Any]:
        under_way: deque[Future[Any]] = deque()
        try:
            for part in parts:
                under_way.append(pool.submit(function, part))
                if len(under_way) == 2 * threads:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:  # after an error, or if no more results are wanted
            for future in under_way:
                future.cancel()

    return each
