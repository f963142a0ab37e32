"""python -m cotas.experiments NAME … [--all] [--list] [--out FOLDER] …: as `cotas reproduce`"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from cotas.experiments.figures import FORMATS, ready, reproduce
from cotas.experiments.names import FIGURES, find_all, listing
from cotas.words import LANGUAGES, current


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the figures asked for; 2 if the call was wrong, 130 after Ctrl-C, 0 otherwise."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.list:
        print(listing(given.lang))
        return 0
    if not (given.figures or given.all):
        parser.error("name a figure, or give --all or --list.")
    try:
        wanted = [f.name for name in given.figures for f in find_all(name)]
        ready(given.out)
        for name in [*FIGURES] if given.all else dict.fromkeys(wanted):
            options = {"seed": given.seed, "lang": given.lang, "format": given.format}
            print(reproduce(name, given.out, **options), flush=True)
        return 0
    except (ValueError, OSError, ImportError) as error:
        print(f"cotas.experiments: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("cotas.experiments: interrupted; what is listed is saved.", file=sys.stderr)
        return 130


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a seed is a whole number from 0 on, not {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cotas.experiments",
        description="The figures of the source documents, computed anew.",
    )
    add, spoken = parser.add_argument, "default: that of COTAS_LANG, or en"
    add("figures", nargs="*", metavar="NAME", help="001-1.5, figura-1.5, pegasos, teorema-3.1, 003")
    add("--all", action="store_true", help="all of them")
    add("--list", action="store_true", help="list the names")
    add("--out", default="figures", metavar="FOLDER", help="default: figures")
    add("--format", choices=FORMATS, default="png", help="default: png")
    add("--seed", type=_whole, default=0, metavar="N", help="default: 0")
    add("--lang", choices=LANGUAGES, default=current(), help=spoken)
    return parser


if __name__ == "__main__":
    sys.exit(main())
