"""A million problems against exact rational arithmetic, in parallel processes: `make deep`.

Prints how far it is, every false claim with the seed that repeats it, and at the end both counts.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import islice

from laws.exact.cases import FAMILIES
from laws.exact.claims import failures
from laws.exact.more_claims import softmax_failures, squares_failures

BATCH = 250


def look(seed: int) -> list[str]:
    """The families in turn; one problem in twelve is one that the core proves on its own."""
    if seed % 12 == 0:
        return squares_failures(seed) if seed % 24 else softmax_failures(seed)
    return failures(seed, FAMILIES[(seed + seed // 12) % len(FAMILIES)])


def batch(first: int) -> tuple[int, list[str]]:
    """So many problems, one a seed."""
    found: list[str] = []
    for seed in range(first, first + BATCH):
        try:
            found += look(seed)
        except Exception as error:  # a failure of the laws themselves has to be seen too
            found.append(f"seed {seed}: {error!r}")
    return BATCH, found


def main() -> int:
    """Look at so many problems, or at as many as fit into so many seconds."""
    count = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")
    workers = int(os.environ.get("WORKERS", os.cpu_count() or 1))
    first = int(os.environ.get("COTAS_SEED", time.time_ns() // 1000 % 10**12))
    begin, done, false, said = time.monotonic(), 0, 0, 0.0
    batches = iter(range(first, first + count, BATCH))
    print(f"COTAS_SEED={first}, {workers} processes, {len(FAMILIES)} families", flush=True)
    with ProcessPoolExecutor(workers) as pool:
        running = {pool.submit(batch, seed) for seed in islice(batches, 2 * workers)}
        while running:
            finished = next(as_completed(running))
            running.discard(finished)
            size, found = finished.result()
            done, false = done + size, false + len(found)
            for words in found:
                print(words, flush=True)
            passed = time.monotonic() - begin
            if passed < seconds and (following := next(batches, None)) is not None:
                running.add(pool.submit(batch, following))
            if passed > said + 30:
                said = passed
                print(f"{done:,} problems in {passed:,.0f} s, {false} false", flush=True)
    print(f"{done:,} problems, {false} false claims")
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())
