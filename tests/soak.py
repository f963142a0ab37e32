"""Fits, predictions, saves and loads at once, in threads of processes that are killed at random.

    python tests/soak.py MINUTES

Four processes of eight threads each work on the same files under a memory limit. Every answer is
compared with the one that this process computed alone, bit by bit. A process that says nothing for
a while hangs; one whose memory keeps growing leaks. The figures are printed as JSON, and the exit
code is 1 if an answer was wrong, an error was raised, or a process hung or leaked.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from pathlib import Path

PROCESSES, THREADS = 4, 8
MEMORY = 3 << 30  # bytes of data for each process
SILENCE = 180.0  # seconds after which a process hangs
KILL_EVERY = (10.0, 30.0)  # seconds between kills
# A process has loaded all that it uses after so many tasks; what it grows from then on it keeps.
WARM, LEAK = 400, 200 << 20


def models():
    """What is fitted: one estimator of each family, by name, and whether y is numbers."""
    import cotas

    return {
        "svm": (cotas.LinearSVM(lam=0.01), False),
        "kernel": (cotas.KernelSVM(lam=0.05), False),
        "logistic": (cotas.LogisticRegression(lam=0.01), False),
        "pegasos": (cotas.Pegasos(lam=0.05, max_iter=5, random_state=0), False),
        "adaboost": (cotas.AdaBoost(n_estimators=8), False),
        "ridge": (cotas.Ridge(lam=0.1), True),
        "lasso": (cotas.Lasso(lam=0.05), True),
        "lsboost": (cotas.LSBoost(max_iter=30), True),
    }


def data(number: int):
    """The data set of this number: the rows, the labels and the numbers."""
    import numpy as np

    rng = np.random.default_rng(number)
    X = rng.normal(size=(150, 5))
    scores = X @ rng.normal(size=5) + 0.3 * rng.normal(size=150)
    return X, np.where(scores > 0, 1, -1), scores


SETS = range(3)


def answers() -> dict[str, str]:
    """The predictions of every model on every data set, as bytes in hexadecimal."""
    return {f"{name}-{k}": answer(fitted(name, k), k) for name in models() for k in SETS}


def fitted(name: str, k: int):
    estimator, numbers = models()[name]
    X, y, scores = data(k)
    return estimator.fit(X, scores if numbers else y)


def answer(model, k: int) -> str:
    import numpy as np

    return np.ascontiguousarray(model.predict(data(k)[0])).tobytes().hex()


# ---- a process that works ------------------------------------------------------------------------


def task(chance: random.Random, folder: Path, known: dict[str, str]) -> str:
    """One of the things that are done; what it was, and an error if the answer is another."""
    import cotas

    name, k = chance.choice(list(models())), chance.choice(SETS)
    key, what = f"{name}-{k}", chance.choice(["fit", "save", "load", "load"])
    path = folder / f"{key}.cotas"
    if what == "load" and path.exists():
        model = cotas.load(path)
    else:
        model, what = fitted(name, k), "fit" if what == "load" else what
    if what == "save":
        model.save(path)
    if answer(model, k) != known[key]:
        raise AssertionError(f"{what} {key}: another answer")
    if chance.random() < 0.1:
        X, y, scores = data(k)
        if not model.certificate_.verify(X, scores if models()[name][1] else y):
            raise AssertionError(f"{what} {key}: its certificate does not verify")
    return what


def work(seed: int, folder: Path) -> None:
    """Do tasks in threads until killed or told to end; each is written to a log as it is done."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    known = json.loads((folder / "answers.json").read_text())
    log, lock = (folder / f"log-{seed}").open("a", buffering=1), threading.Lock()

    def many(thread: int) -> None:
        chance = random.Random(1000 * seed + thread)
        while not (folder / "end").exists():
            try:
                said = task(chance, folder, known)
            except BaseException:
                said = "error " + traceback.format_exc().replace("\n", "\\n")
            with lock:
                log.write(f"{said} {resident()}\n")

    threads = [threading.Thread(target=many, args=(t,)) for t in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def resident() -> int:
    """Bytes of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


# ---- the process that watches --------------------------------------------------------------------


def start(seed: int, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, "work", str(seed), str(folder)])


def watch(minutes: float, folder: Path) -> dict[str, object]:
    """Start the processes, kill some of them, and sum up what all of them wrote."""
    chance, began = random.Random(0), time.monotonic()
    running = {seed: start(seed, folder) for seed in range(PROCESSES)}
    kills = hangs = died = 0
    next_seed, next_kill = PROCESSES, began + chance.uniform(*KILL_EVERY)
    while time.monotonic() - began < 60 * minutes:
        time.sleep(0.2)
        for seed, process in list(running.items()):
            silent = seed in running and _silence(folder / f"log-{seed}", process) > SILENCE
            due = time.monotonic() > next_kill and seed == chance.choice(list(running))
            gone = process.poll() is not None
            if not (silent or due or gone):
                continue
            hangs, kills, died = hangs + silent, kills + (due and not gone), died + gone
            if due:
                next_kill = time.monotonic() + chance.uniform(*KILL_EVERY)
            process.send_signal(signal.SIGKILL)
            process.wait()
            del running[seed]
            running[next_seed] = start(next_seed, folder)
            next_seed += 1
    (folder / "end").touch()
    for process in running.values():
        try:
            died += process.wait(SILENCE) != 0
        except subprocess.TimeoutExpired:
            hangs += 1
            process.kill()
    left = len(list(folder.glob("*.tmp")))
    return {"minutes": minutes, "kills": kills, "hangs": hangs, "died": died, "tmp left": left}


def _silence(log: Path, process: subprocess.Popen[bytes]) -> float:
    """Seconds since a process wrote anything; it began to when its folder entry was made."""
    since = getattr(process, "since", None)
    if since is None:
        process.since = since = time.time()
    return time.time() - max(since, log.stat().st_mtime if log.exists() else 0.0)


def summed(folder: Path) -> dict[str, object]:
    """How often each task was done, the first errors, and the most that a process grew."""
    counts: dict[str, int] = {}
    errors, growth = [], 0
    for log in folder.glob("log-*"):
        lines = [line for line in log.read_text().splitlines() if line]
        for line in lines:
            what = line.partition(" ")[0]
            counts[what] = counts.get(what, 0) + 1
            errors += [line] if what == "error" else []
        sizes = [int(line.rpartition(" ")[2]) for line in lines if not line.startswith("error")]
        if len(sizes) > WARM:
            growth = max(growth, max(sizes[-50:]) - max(sizes[WARM - 50 : WARM]))
    return {"tasks": counts, "errors": errors[:5], "growth": growth}


def main() -> int:
    if sys.argv[1] == "work":
        work(int(sys.argv[2]), Path(sys.argv[3]))
        return 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        warnings.simplefilter("ignore")
        (folder / "answers.json").write_text(json.dumps(answers()))
        figures = watch(float(sys.argv[1]), folder) | summed(folder)
    print(json.dumps(figures, indent=1))
    bad = figures["hangs"] or figures["died"] or figures["errors"] or figures["growth"] > LEAK
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
