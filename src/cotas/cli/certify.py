"""cotas certify"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer

import cotas
from cotas.arrays import AnyArray
from cotas.certificates import Certificate
from cotas.certificates.certificate import MEAN
from cotas.cli.big import open_prepared, text_of
from cotas.cli.command import ProofFailedError, UsageError
from cotas.cli.data import open_table
from cotas.cli.options import NO_WISHES, ColumnOptions, Data, Target, TextOptions, refuse
from cotas.cli.outcome import short_of, whole_in_lines
from cotas.cli.predict import Model
from cotas.cli.saved import Saved, open_model
from cotas.cli.session import Session
from cotas.files.table import Table
from cotas.fitting.parameters import check_positive
from cotas.preparation.targets import labels_or_numbers
from cotas.scale.decoding import input_files
from cotas.words import say


def certify(
    session: Session,
    model: Model,
    data: Data,
    target: Target = None,
    tol: Annotated[
        float | None, typer.Option(help="Fail if the relative gap proved is above this.")
    ] = None,
    max_time: Annotated[
        float, typer.Option(help="Seconds to look for a proof, for models of others.")
    ] = 30.0,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Open a pickle, which may run anything.")
    ] = False,
    text: TextOptions = NO_WISHES,
) -> None:
    """Prove a saved model again from its data, trusting nothing that the file says.

    Takes models of cotas, and fitted scikit-learn models in skops files. Exits with 1 when the
    proof fails: the data are others, the model was changed, or nothing can be proved.

    Example: cotas certify model.cotas builtin:breast-cancer
    """
    if tol is not None:
        check_positive(tol, "tol")
    saved = open_model(model, trust_pickle)
    if saved.ours:
        refuse(session, ["max_time"], "is for models of other libraries.")
    if target is None and saved.recipe is not None:
        named = saved.recipe.preparation.layout_ == "columns" or data.startswith("builtin:")
        target = saved.recipe.target if named else None
    text = _with_known_words(text, saved, data)
    if saved.recipe is not None and saved.recipe.rows is None and saved.recipe.n_rows:
        if target != saved.recipe.target:
            known = saved.recipe.target
            words = "the model predicts {known!r}; --target cannot be another column."
            raise UsageError(words, known=known)
        found = _from_pages(saved, data, text)
        _show(session, found, tol, saved.estimator)
        return
    table = open_table(data, target, ColumnOptions(**vars(text)), **_as_it_was_read(saved, data))
    table = table.in_words()  # models of others know no codes
    rows = _training_rows(saved, table)
    y = labels_or_numbers(table, saved.task)[rows]
    _show(session, proofs(saved, table, rows, y, max_time), tol, saved.estimator)


def _show(session: Session, found: Proofs, tol: float | None, estimator: Any) -> None:
    """Say what is proved, and what contradicts it."""
    whole = found.certificate
    for certificate in (whole,) if whole.kind == MEAN else whole.singles:
        session.say(*([f"{certificate.title}:"] if certificate is not whole else []))
        session.say(*whole_in_lines(certificate, estimator))
    if found.objections:
        session.say("", say("What was stored does not agree:"))
        session.say(*(f"  {words}" for words in found.objections))
    _conclude(session, found, tol)


def _from_pages(saved: Saved, data: str, text: TextOptions) -> Proofs:
    """Certify a model that was trained from pages: they are made of the same table once more."""
    recipe, stored = saved.recipe, saved.model.certificate_
    assert recipe is not None
    how: dict[str, Any] = {"text": text_of(text)}
    if recipe.zero_based is None:
        how["without_target"] = "drop"
    given = (input_files(data), recipe.target, recipe.preparation, recipe.seed, False)
    pages = open_prepared(*given, **how)
    pages.feature_names = None
    sizes = {part.sketch.n_rows for part in stored.singles if part.sketch is not None}
    try:
        [trained] = sizes
        training = pages.first(trained)
    except ValueError:
        raise ProofFailedError(
            "the model was trained on rows of a table of {rows}; this one has {here}, or others.",
            rows=recipe.n_rows,
            here=pages.n_rows,
        ) from None
    return Proofs(cotas.certify(saved.estimator, training), stored.discrepancies(training))


def _with_known_words(text: TextOptions, saved: Saved, data: str) -> TextOptions:
    """Add the words for a missing value that the model was trained with, where files are read."""
    if saved.recipe is None or data.startswith("builtin:"):
        return text
    return text.knowing(saved.recipe.missing, saved.recipe.not_missing)


@dataclass(frozen=True)
class Proofs:
    """The certificate, proved from the data, and where the stored one contradicts it."""

    certificate: Certificate
    objections: list[str]


def _as_it_was_read(saved: Saved, data: str) -> dict[str, Any]:
    """Read categories as text, and count a LibSVM file, as for the fit."""
    recipe = saved.recipe
    if recipe is None or data.startswith("builtin:"):
        return {}
    if recipe.zero_based is None:
        return {"categories": recipe.preparation.text_columns_}
    return {"zero_based": recipe.zero_based, "n_features": recipe.preparation.n_features_in_}


def _training_rows(saved: Saved, table: Table) -> AnyArray:
    recipe = saved.recipe
    if recipe is None or recipe.rows is None:
        return np.arange(table.n_rows)
    if table.n_rows == recipe.n_rows:
        return recipe.rows
    if table.n_rows == len(recipe.rows):
        return np.arange(table.n_rows)
    raise ProofFailedError(
        "the model was trained on {count} rows of a table of {n_rows}; this one has {others}.",
        count=len(recipe.rows),
        n_rows=recipe.n_rows,
        others=table.n_rows,
    )


def proofs(saved: Saved, table: Table, rows: AnyArray, y: AnyArray, max_time: float) -> Proofs:
    """Return everything that can be proved about a model from its data."""
    X = saved.input_of(table, rows if len(rows) < table.n_rows else None)
    found = cotas.certify(saved.estimator, X, y, max_time=max_time)
    objections: list[str] = []
    if saved.ours:
        stored = saved.model.certificate_
        if any(one.kind != "none" for one in stored.singles):
            objections = stored.discrepancies(X, y)
    return Proofs(found, list(dict.fromkeys(objections)))


def _conclude(session: Session, found: Proofs, tol: float | None) -> None:
    whole = found.certificate
    failures = [c.objection or c.statement for c in whole.singles if not c.holds]
    failures += found.objections
    for part in whole.singles if tol is not None else ():
        failures += [*short_of(part, tol)]
    session.document(
        {"proved": not failures, "certificate": whole.to_dict(), "objections": failures}
    )
    if failures:
        raise ProofFailedError(f"{say('NOT PROVED.')} {failures[0]}")
    session.result(say("Proved."))
