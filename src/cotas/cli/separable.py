"""cotas separable"""

from __future__ import annotations

from typing import Annotated

import typer

import cotas
from cotas.cli.data import open_table, preparation_of, target_of
from cotas.cli.options import NO_WISHES, Columns, Data, Target
from cotas.cli.session import Session


def separable(
    session: Session,
    data: Data,
    target: Target = None,
    widest: Annotated[
        bool, typer.Option("--widest", help="Find the separator with the largest margin.")
    ] = False,
    columns: Columns = NO_WISHES,
) -> None:
    """Is there a hyperplane between two classes? The answer is proved, yes or no.

    It exits with 0 in both cases; --json has "separable".

    Example: cotas separable builtin:breast-cancer
    """
    table = open_table(data, target, columns)
    y, _ = target_of(table, "classification")
    X = preparation_of(table, columns).fit_transform(table.features)
    answer = cotas.separability(X, y, widest=widest)
    session.result(f"separable: {'yes' if answer.separable else 'no'}")
    session.say(str(answer.certificate))
    session.document(
        {"separable": bool(answer.separable), "certificate": answer.certificate.to_dict()}
    )
