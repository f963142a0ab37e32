"""Run `python -m bench [section ...]`; without arguments every section runs."""

from __future__ import annotations

import sys

from bench import (
    boosted_numbers,
    boosting,
    growth,
    kernel,
    lasso,
    online,
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
    wanted = sys.argv[1:] or list(SECTIONS)
    for name in wanted:
        if name not in SECTIONS:
            sys.exit(f"There is no section {name!r}; there are: {', '.join(SECTIONS)}.")
        print(f"\n## {name}\n")
        SECTIONS[name]()


if __name__ == "__main__":
    main()
