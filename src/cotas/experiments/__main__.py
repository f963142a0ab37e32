"""python -m cotas.experiments NAME … [--all] [--list] [--report] [--page FILE] [--out FOLDER] …"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from cotas.experiments.figures import FORMATS, ready, reproduce
from cotas.experiments.findings import SEEDS, filled, report
from cotas.experiments.names import FIGURES, find_all, listing
from cotas.words import LANGUAGES, current


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the figures asked for; 2 if the call was wrong, 130 after Ctrl-C, 0 otherwise."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.list:
        print(listing(given.lang))
        return 0
    if not (given.figures or given.all or given.report or given.page):
        parser.error("name a figure, or give --all, --list, --report or --page.")
    try:
        return _make(given)
    except (ValueError, OSError, ImportError) as error:
        print(f"cotas.experiments: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("cotas.experiments: interrupted; what is listed is saved.", file=sys.stderr)
        return 130


def _make(given: argparse.Namespace) -> int:
    """The report, the page or the figures."""
    if given.report or given.page:
        seeds = tuple(range(given.seed, given.seed + given.seeds))
        if given.report:
            print(report(seeds))
        if given.page:
            text = given.page.read_text("utf-8")
            given.page.write_text(filled(text, seeds), "utf-8")
        return 0
    wanted = [*FIGURES] if given.all else [f.name for name in given.figures for f in find_all(name)]
    ready(given.out)
    options = {"seed": given.seed, "lang": given.lang, "format": given.format}
    for name in dict.fromkeys(wanted):
        print(reproduce(name, given.out, **options), flush=True)
    return 0


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a seed is a whole number from 0 on, not {text!r}")
    return int(text)


def _many(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number of seeds is 1 or more, not {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cotas.experiments",
        description="The figures of the source documents, computed anew.",
    )
    parser.add_argument(
        "figures", nargs="*", metavar="NAME", help="001-1.5, figura-1.5, pegasos, teorema-3.1, 003"
    )
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--list", action="store_true", help="list the names")
    parser.add_argument("--report", action="store_true", help="what the texts say and we find")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="write the report into docs/reproduction.md"
    )
    parser.add_argument("--out", default="figures", metavar="FOLDER", help="default: figures")
    parser.add_argument("--format", choices=FORMATS, default="png", help="default: png")
    parser.add_argument("--seed", type=_whole, default=0, metavar="N", help="default: 0")
    parser.add_argument(
        "--seeds",
        type=_many,
        default=len(SEEDS),
        metavar="K",
        help=f"of the report and the page: so many from --seed on; default: {len(SEEDS)}",
    )
    parser.add_argument(
        "--lang", choices=LANGUAGES, default=current(), help="default: that of COTAS_LANG, or en"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
