"""python -m cotas.experiments FIGURE … [--all] [--list] [--report] [--out FOLDER] [--seed N] …"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from cotas.experiments.catalogue import FIGURES
from cotas.experiments.figures import find, ready, reproduce
from cotas.experiments.findings import report, times_report
from cotas.words import LANGUAGES


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the figures asked for; 2 if the call was wrong, 130 after Ctrl-C, 0 otherwise."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.list:
        print(listing(given.lang))
        return 0
    if given.report:
        print(report(), times_report(), sep="\n\n")
        return 0
    names = list(FIGURES) if given.all else given.figures
    if not names:
        parser.error("name a figure, or give --all, --list or --report.")
    try:
        figures = [find(name) for name in names]
        ready(given.out)
        for figure in figures:
            print(reproduce(figure.name, given.out, seed=given.seed, lang=given.lang), flush=True)
    except (ValueError, OSError, ImportError) as error:
        print(f"cotas.experiments: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("cotas.experiments: interrupted; what is listed is saved.", file=sys.stderr)
        return 130
    return 0


def listing(lang: str | None = None) -> str:
    """The names, each with its line."""
    width = max(map(len, FIGURES))
    return "\n".join(
        f"{name:{width}}  {figure.description(lang)}" for name, figure in FIGURES.items()
    )


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a seed is a whole number from 0 on, not {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cotas.experiments",
        description="The figures of the source documents, computed anew and saved as PNG.",
    )
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="a name or number: 001-1.5")
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--list", action="store_true", help="list the names")
    parser.add_argument("--report", action="store_true", help="what the texts say and we find")
    parser.add_argument("--out", default="figures", metavar="FOLDER", help="default: figures")
    parser.add_argument("--seed", type=_seed, default=0, metavar="N", help="default: 0")
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help="default: en")
    return parser


if __name__ == "__main__":
    sys.exit(main())
