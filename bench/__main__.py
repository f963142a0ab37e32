"""Run `python -m bench [--write] [section ...]`; without names every section runs.

With `--write` the tables go into docs/speed.md and its Spanish version as well.
"""

from __future__ import annotations

import contextlib
import sys

from bench import (
    boosted_numbers,
    boosting,
    growth,
    kernel,
    lasso,
    online,
    pages,
    quality,
    regression,
    small,
    startup,
    svm,
    tables,
)

SECTIONS = {
    "startup": startup.main,
    "small": small.main,
    "online": online.main,
    "svm": svm.main,
    "kernel": kernel.main,
    "regression": regression.main,
    "lasso": lasso.main,
    "boosting": boosting.main,
    "boosted-numbers": boosted_numbers.main,
    "growth": growth.main,
    "tables": tables.main,
    "quality": quality.main,
}


def main() -> None:
    given = sys.argv[1:]
    wanted = [name for name in given if name != "--write"] or list(SECTIONS)
    for name in wanted:
        if name not in SECTIONS:
            sys.exit(f"There is no section {name!r}; there are: {', '.join(SECTIONS)}.")
        print(f"\n## {name}\n")
        with contextlib.redirect_stdout(pages.Copied()) as copied:
            SECTIONS[name]()
        if "--write" in given:
            pages.write(name, copied.tables())


if __name__ == "__main__":
    main()
