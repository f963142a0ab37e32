"""cotas separable"""

from __future__ import annotations

from typing import Annotated

import typer

import cotas
from cotas.cli.data import open_table, target_of
from cotas.cli.options import Data, Drop, Header, Separator, Target
from cotas.cli.session import Session
from cotas.preparation.preparation import Preparation


def separable(
    session: Session,
    data: Data,
    target: Target = None,
    widest: Annotated[
        bool, typer.Option("--widest", help="Find the separator with the largest margin.")
    ] = False,
    drop: Drop = None,
    separator: Separator = None,
    header: Header = None,
) -> None:
    """Is there a hyperplane between two classes? The answer is proved, yes or no.

    It exits with 0 in both cases; --json has "separable".

    Example: cotas separable builtin:breast-cancer
    """
    table = open_table(data, target, drop, separator=separator, header=header)
    y, _ = target_of(table, "classification")
    answer = cotas.separability(Preparation().fit_transform(table.features), y, widest=widest)
    session.result(f"separable: {'yes' if answer.separable else 'no'}")
    session.say(str(answer.certificate))
    session.document(
        {"separable": bool(answer.separable), "certificate": answer.certificate.to_dict()}
    )
