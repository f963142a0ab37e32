"""cotas separable"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

import cotas
from cotas.arrays import AnyArray
from cotas.cli.command import UsageError
from cotas.cli.data import open_table, preparation_of, target_of
from cotas.cli.options import NO_WISHES, Columns, Data, Target
from cotas.cli.session import Session
from cotas.files.problems import gathered
from cotas.preparation.inspection import inspect_table
from cotas.words import say


def separable(
    session: Session,
    data: Data,
    target: Target = None,
    widest: Annotated[
        bool, typer.Option("--widest", help="Find the separator with the largest margin.")
    ] = False,
    of: Annotated[
        str | None, typer.Option("--class", help="One of several classes, against the rest.")
    ] = None,
    columns: Columns = NO_WISHES,
) -> None:
    """Is there a hyperplane between two classes? The answer is proved, yes or no.

    It exits with 0 in both cases; --json has "separable".

    Example: cotas separable builtin:iris --class setosa
    """
    table = open_table(data, target, columns)
    table, y, task = target_of(table, "classification")
    y = _against_the_rest(y, of)
    preparation = preparation_of(table, columns)
    keep = (*preparation.keep, *preparation.unix_seconds)
    session.remark(*gathered(inspect_table(table, y, task, keep=keep)))
    X = preparation.fit_transform(table.features)
    answer = cotas.separability(X, y, widest=widest)
    session.result(say("separable: {answer}", answer=say("yes" if answer.separable else "no")))
    session.say(str(answer.certificate))
    session.document(
        {"separable": bool(answer.separable), "certificate": answer.certificate.to_dict()}
    )


def _against_the_rest(y: AnyArray, of: str | None) -> AnyArray:
    """Two classes: those there are, or one of several and the rest."""
    labels = y.astype(str)
    known = np.unique(labels)
    if of is None and len(known) == 2:
        return y
    if of not in known:
        there = ", ".join(known[:8])
        text = "no class {of!r}: --class takes one of {there}."
        if of is None:
            text = "which of the classes, against the rest? --class takes one of {there}."
        raise UsageError(text, of=of, there=there)
    return np.where(labels == of, str(of), "the rest")
