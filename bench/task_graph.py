"""How long a pass over very many partitions would take: the graph of a Dask pass, simulated.

A pass is a task for each partition and their sums, as `cotas.source.in_groups` adds them. Simulated
are workers with one task at a time each, results that travel to the worker which holds one of the
other summands, and a scheduler that hands out so many tasks a second.

    python -m bench.task_graph --rows 1e12 --workers 1000
"""

from __future__ import annotations

import argparse
import heapq
from collections import deque

from cotas.source import in_groups


class Node:
    """A task: a partition, or the sum of some results."""

    __slots__ = ("left", "missing", "parent", "worker")

    def __init__(self, *left: Node) -> None:
        self.left, self.missing, self.parent = left, len(left), None
        self.worker = -1
        for each in left:
            each.parent = self


def simulate(
    partitions: int, workers: int, block_s: float, result_bytes: float, network: float, rate: float
) -> tuple[float, float]:
    """Seconds of a pass, and the part of the workers' time that went to partitions.

    Parameters
    ----------
    block_s : seconds of a partition on its worker
    result_bytes, network : the size of a result, and the bytes a second that a worker receives
    rate : tasks that the scheduler hands out in a second
    """
    blocks = [Node() for _ in range(partitions)]
    root = in_groups(blocks, lambda some: Node(*some))
    travel = result_bytes / network
    ready, sums = deque(blocks), deque()
    idle, running, now, handed = list(range(workers)), [], 0.0, 0.0
    count = 0
    while True:
        while idle and (sums or ready):
            # Sums first: they free what the workers hold.
            node = sums.popleft() if sums else ready.popleft()
            worker = idle.pop()
            handed = max(handed, now) + 1.0 / rate
            others = len(node.left) - 1
            takes = others * (travel + result_bytes / 5e9) if node.left else block_s
            node.worker = worker
            count += 1
            heapq.heappush(running, (handed + takes, count, node))
        now, _, node = heapq.heappop(running)
        idle.append(node.worker)
        if node is root:
            return now, partitions * block_s / (now * workers)
        parent = node.parent
        parent.missing -= 1
        if not parent.missing:
            sums.append(parent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e12)
    parser.add_argument("--columns", type=int, default=54)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--bytes-a-second", type=float, default=1.07e9, help="of one worker")
    parser.add_argument("--network", type=float, default=1e9, help="bytes a second of a worker")
    parser.add_argument("--tasks-a-second", type=float, default=3000.0, help="of the scheduler")
    given = parser.parse_args()
    whole = given.rows * given.columns * 4
    result = 8 * (given.columns + 1) ** 2 + 8 * given.columns + 24
    ideal = whole / given.workers / given.bytes_a_second
    print(f"{whole / 1e12:.0f} TB, {given.workers} workers, {ideal:.0f} s of a pass at best.\n")
    print("| partition | partitions | seconds of a pass | workers busy with rows |")
    print("|---|---|---|---|")
    for size in (0.128e9, 0.512e9, 2e9, 8e9):
        partitions = max(1, round(whole / size))
        block_s = whole / partitions / given.bytes_a_second
        network, rate = given.network, given.tasks_a_second
        seconds, busy = simulate(partitions, given.workers, block_s, result, network, rate)
        print(f"| {size / 1e9:.3g} GB | {partitions:,} | {seconds:.0f} | {100 * busy:.0f} % |")


if __name__ == "__main__":
    main()
