"""A million problems against exact rational arithmetic, in parallel processes: `make deep`.

Every half minute it prints how far it is; every false claim with the seed that repeats it; and at
the end, which a signal or the clock may bring, how many problems of each family were looked at and
how many claims were false. What is done stands in the file that `JOURNAL` names, first the seed,
then a line for each batch: started again with it, the run goes on with those that are not there.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from laws.exact.cases import FAMILIES
from laws.exact.claims import failures
from laws.exact.more_claims import softmax_failures, squares_failures

BATCH = 250
EVERY = 12
OWN = {"least squares": squares_failures, "softmax": softmax_failures}


def turn(seed: int) -> tuple[str, ...]:
    """Whose turn it is: one in twelve is proved by the core on its own, the rest count families."""
    before, place = divmod(seed, EVERY)
    if place == 0:
        return (tuple(OWN)[before % 2 == 0],)
    return FAMILIES[(before * (EVERY - 1) + place - 1) % len(FAMILIES)]


def look(seed: int) -> list[str]:
    """What is false of the problem of this seed."""
    family = turn(seed)
    return OWN[family[0]](seed) if len(family) == 1 else failures(seed, (family[0], family[1]))


class Batch(NamedTuple):
    """What was found by the seeds from the first on: problems of each family, and what is false."""

    first: int
    families: dict[str, int]
    false: list[str]


def batch(first: int) -> Batch:
    """So many problems, one a seed."""
    families, false = Counter[str](), list[str]()
    for seed in range(first, first + BATCH):
        try:
            false += look(seed)
        except Exception as error:  # a failure of the laws themselves has to be seen too
            false.append(f"seed {seed}: {error!r}")
        families[", ".join(turn(seed))] += 1
    return Batch(first, dict(families), false)


class Journal:
    """All that was found, in memory and in the file, where there is one."""

    def __init__(self, path: str | None, seed: int) -> None:
        self.path, self.seed = None if path is None else Path(path), seed
        self.done: set[int] = set()
        self.families, self.false = Counter[str](), list[str]()
        if self.path is not None and self.path.exists():
            first, *lines = self.path.read_text().splitlines()
            self.seed = int(first)
            for line in lines:
                self._count(Batch(*json.loads(line)))
        else:
            self._write(str(seed))

    def _write(self, line: str) -> None:
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(line + "\n")

    def _count(self, found: Batch) -> None:
        self.done.add(found.first)
        self.families.update(found.families)
        self.false += found.false

    def add(self, found: Batch) -> None:
        """Keep what a batch found; what is false is printed at once."""
        self._count(found)
        for words in found.false:
            print(words, flush=True)
        self._write(json.dumps(found))

    def __str__(self) -> str:
        return f"{self.families.total():,} problems, {len(self.false)} false claims"


class Clock:
    """When to end: after so many seconds, or as soon as a signal asks for it."""

    def __init__(self, seconds: float) -> None:
        self.begin, self.seconds, self.asked = time.monotonic(), seconds, False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._end)

    def _end(self, *_: Any) -> None:
        self.asked = True

    @property
    def passed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.begin

    @property
    def over(self) -> bool:
        """Whether no further batch is to be begun."""
        return self.asked or self.passed > self.seconds


def left_to_parent() -> None:
    """Ctrl-C reaches every process of a terminal: the first one ends all, batch by batch."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def found_in(batches: Iterator[int], workers: int, clock: Clock) -> Iterator[Batch]:
    """The batches as they are finished, none of them begun when the time is over."""
    with ProcessPoolExecutor(workers, initializer=left_to_parent) as pool:
        running: set[Future[Batch]] = {pool.submit(batch, k) for k in islice(batches, 2 * workers)}
        while running:
            finished = next(as_completed(running))
            running.discard(finished)
            yield finished.result()
            if not clock.over and (following := next(batches, None)) is not None:
                running.add(pool.submit(batch, following))


def main() -> int:
    """Look at so many problems, or at as many as fit into so many seconds."""
    count = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6
    clock = Clock(float(sys.argv[2]) if len(sys.argv) > 2 else float("inf"))
    workers = int(os.environ.get("WORKERS", os.cpu_count() or 1))
    fresh = int(os.environ.get("COTAS_SEED", time.time_ns() // 1000 % 10**12))
    journal = Journal(os.environ.get("JOURNAL"), fresh)
    first, said = journal.seed, 0.0
    print(f"COTAS_SEED={first}, {workers} processes, {len(FAMILIES)} families", flush=True)
    print(f"known before: {journal}", flush=True)
    batches = (k for k in range(first, first + count, BATCH) if k not in journal.done)
    died = False
    try:
        for found in found_in(batches, workers, clock):
            journal.add(found)
            if clock.passed > said + 30:
                said = clock.passed
                print(f"{journal} after {said:,.0f} s of this run", flush=True)
    except BrokenProcessPool as error:
        print(f"A process died: {error}")
        died = True
    for family, size in sorted(journal.families.items()):
        print(f"{size:>9,} {family}")
    print(f"{journal} of {len(journal.families)} families", flush=True)
    return 1 if journal.false or died else 0


if __name__ == "__main__":
    sys.exit(main())
