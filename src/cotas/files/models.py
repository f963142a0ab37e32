"""Model files: a fitted model with its certificate, as safetensors with JSON, without pickle."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import platform
import warnings
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from cotas.arrays import AnyArray
from cotas.certificates import Certificate
from cotas.files.atomic import write_atomically
from cotas.files.container import Contents, pack, parse, unpack
from cotas.files.encoding import ValueDecoder, ValueEncoder
from cotas.files.fingerprint import Fingerprint
from cotas.files.kinds import PARTS, VALUES
from cotas.files.kinds.certificates import WITNESS
from cotas.files.problems import ModelFileError
from cotas.files.schema import Scope, require
from cotas.words import lang, say

WIDEST_DENSE_ROW = 1 << 20
ASKED = ("predict", "decision_function", "predict_proba", "certified_predict")
FORMAT_VERSION = 4
PACKAGES = ("cotas", "numpy", "scipy", "scikit-learn")


def try_out(model: Any, preparation: Any = None) -> None:
    """Ask the model all it can answer about a row; what does not fit together shows here.

    Parameters
    ----------
    model : as read from a file
    preparation : what makes its rows, if there is something
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The rows have no names, and those of the model are for the user's.
        names = vars(model).pop("feature_names_in_", None)
        for X in _rows(model):
            _ask(model, X)
        certificate = model.certificate_
        require(bool(str(certificate)), "the certificate", "is empty")
        if hasattr(preparation, "try_out"):
            preparation.try_out(model)
    if names is not None:
        model.feature_names_in_ = names


def _ask(model: Any, X: Any) -> None:
    for name in ASKED:
        if hasattr(model, name):
            answer = getattr(model, name)(X)
            answer = answer[0] if isinstance(answer, tuple) else answer
            require(len(answer) == X.shape[0], "the model", "does not predict")


def _rows(model: Any) -> Iterator[Any]:
    """Yield rows that the model must be able to predict."""
    d = model.n_features_in_
    vectors = getattr(model, "support_vectors_", None)
    if vectors is not None and vectors.shape[0] and vectors.shape[1] == d:
        yield vectors[:1]
    elif d > WIDEST_DENSE_ROW:
        yield sparse.csr_matrix((1, d))
    else:
        yield np.zeros((1, d))
        if model.__sklearn_tags__().input_tags.allow_nan:
            yield np.full((1, d), np.nan)


class ModelFile(NamedTuple):
    """Contents of a model file holds.

    Attributes
    ----------
    model : the fitted model
    preparation : what turns raw data into the rows the model expects; None if nothing does
    data : the fingerprint of the training data, if it was stored
    versions : by name, the versions of what wrote the file
    """

    model: Any
    preparation: Any
    data: Fingerprint | None
    versions: dict[str, str]


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    data: tuple[Any, Any] | None = None,
    preparation: Any = None,
    witness: bool = True,
) -> None:
    """Store a fitted model and its certificate in a file, without pickle.

    The file is written whole or not at all: if anything fails, what was there before stays.

    Parameters
    ----------
    model : a fitted model of cotas
    path : str or path
        By custom with the ending `.cotas`.
    data : (X, y), optional
        The training data, of which a fingerprint is stored.
    preparation : optional
        What turns raw data into the rows that the model expects, an object of cotas.
    witness : bool, default=True
        Whether to store what proves the certificates, about one number for each training row and
        class. Without it the file is small and has the hash of the witness in its place; nothing
        can be verified, so the certificates do not hold, and no training can go on from it.

    Examples
    --------
    >>> import tempfile, os, cotas
    >>> model = cotas.LinearSVM().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.cotas")
    ...     model.save(path)
    ...     again = cotas.load(path)
    >>> again.predict([[0.5], [2.5]])
    array([0, 1])
    >>> again.certificate_.verify([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    True
    """
    check_is_fitted(model)
    encoder = ValueEncoder(VALUES)
    stored = model if witness else _without_witness(model)
    fingerprint = None if data is None else Fingerprint.of(*data)
    parts = {
        name: PARTS[name].write(part, encoder, Scope(), type(part).__name__)
        for name, part in (("model", stored), ("preparation", preparation), ("data", fingerprint))
        if part is not None
    }
    with lang("en"):  # whoever reads the file
        summary = stored.certificate_.to_dict()
    metadata = {
        "format": "cotas",
        "format_version": str(FORMAT_VERSION),
        "versions": _as_json(versions()),
        "certificate": _as_json(ValueEncoder().encode(summary, "certificate")),
        **{name: _as_json(part) for name, part in parts.items()},
    }
    try:
        metadata["checksum"] = checksum(encoder.tensors, metadata)
        chunks = pack(encoder.tensors, metadata)
    except UnicodeEncodeError as error:
        raise ModelFileError("A text of the model is not Unicode: {error}.", error=error) from error
    write_atomically(path, chunks)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model of a file that `model.save(path)` or `cotas fit --out` wrote.

    One that was saved with the preparation of its tables comes back as a
    `cotas.tables.PreparedModel`, and predicts tables as they are.

    Nothing in the file is run, and a file that is not sound is refused. What the stored
    certificate says is a claim of whoever wrote the file: `certificate_.verify(X, y)` checks it.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    ModelFileError
        If the file is damaged, of a newer version, or no model file at all.

    Examples
    --------
    >>> import os, tempfile, cotas
    >>> shop = {"town": ["Lugo", "Vigo", "Lugo", "Vigo"], "age": [20, 30, None, 50]}
    >>> model = cotas.tables.PreparedModel(cotas.LinearSVM())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "shop.cotas")
    ...     model.fit(shop, ["no", "yes", "no", "yes"]).save(path)
    ...     again = cotas.load(path)
    >>> again.predict({"town": ["Vigo"], "age": [41]}).tolist()
    ['yes']
    """
    found = read_model_file(path)
    if found.preparation is None:
        return found.model
    if hasattr(found.preparation, "around"):
        return found.preparation.around(found.model)
    words = (
        "The file also holds a preparation of the data, and the model expects prepared rows: "
        "`read_model_file(path).preparation` makes them."
    )
    warnings.warn(say(words), stacklevel=2)
    return found.model


def read_model_file(path: str | os.PathLike[str]) -> ModelFile:
    """Return everything a model file holds; see `load`."""
    contents = unpack(path)
    _check_version(contents.metadata)
    _check_sum(contents)
    try:
        return _decoded(contents)
    except Exception as error:
        # The net under the checks: whatever a file makes fail is the fault of the file.
        raise ModelFileError("The file is not sound: {error}", error=error) from error


def _decoded(contents: Contents) -> ModelFile:
    decoder = ValueDecoder(contents.tensors, VALUES)
    parts = {
        name: part.read(
            parse(contents.metadata[name], say("The part {name!r}", name=name)),
            decoder,
            Scope(),
            name,
        )
        for name, part in PARTS.items()
        if name in contents.metadata
    }
    require("model" in parts, "the model", "is missing")
    preparation = parts.get("preparation")
    try_out(parts["model"], preparation)
    versions = _versions_of(contents.metadata)
    return ModelFile(parts["model"], preparation, parts.get("data"), versions)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that a model depends on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def checksum(tensors: Mapping[str, AnyArray], metadata: Mapping[str, str]) -> str:
    """Compute a sum over everything but itself. It finds damage; who wants to deceive can compute
    it too."""
    found = hashlib.blake2b(digest_size=32)
    for name in sorted(set(metadata) - {"checksum"}):
        found.update(f"{name}\0{len(metadata[name])}\0{metadata[name]}".encode())
    for name in sorted(tensors):
        array = tensors[name]
        found.update(f"{name}\0{array.dtype.str}\0{array.shape}".encode())
        if array.size:
            found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def witness_hash(certificate: Certificate) -> str:
    """Return the hash that a file without the witness of this certificate has in its place."""
    encoder = ValueEncoder(VALUES)
    text = _as_json(WITNESS.or_none().write(certificate.witness, encoder, Scope(), "witness"))
    return checksum(encoder.tensors, {"witness": text})


def _without_witness(model: Any) -> Any:
    """Return the model as it is, with less to prove it: what depends on each training row is left
    out."""
    light = copy.copy(model)
    if not hasattr(model, "_certificates"):  # it has those of its members
        light.estimators_ = [_without_witness(one) for one in model.estimators_]
        return light
    light._certificates = [
        certificate.objected(
            f"The witness, of hash {witness_hash(certificate)}, is not in the file.", None
        )
        for certificate in model._current_certificates()
    ]
    for name in ("_history", "_ends"):
        vars(light).pop(name, None)
    return light


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (UnicodeError, ValueError) as error:
        raise ModelFileError("The model cannot be written down: {error}.", error=error) from error


def _check_version(metadata: Mapping[str, str]) -> None:
    if metadata.get("format") != "cotas":
        raise ModelFileError("This is no model file of cotas.")
    stated = metadata.get("format_version", "")
    if not (stated.isascii() and stated.isdigit() and len(stated) < 9 and int(stated) >= 1):
        raise ModelFileError("{stated} is no version of the file format.", stated=repr(stated))
    if int(stated) != FORMAT_VERSION:
        raise ModelFileError(
            "The file has version {stated} of the format, from before the first "
            "release, and this cotas reads version {known}: fit the model again."
            if int(stated) < FORMAT_VERSION
            else "The file has version {stated} of the format, and this cotas reads "
            "version {known}: update cotas.",
            stated=stated,
            known=FORMAT_VERSION,
        )


def _check_sum(contents: Contents) -> None:
    try:
        sound = contents.metadata.get("checksum") == checksum(*contents)
    except UnicodeError:
        sound = False
    if not sound:
        raise ModelFileError("The file is damaged: its checksum is not the one it states.")


def _versions_of(metadata: Mapping[str, str]) -> dict[str, str]:
    found = parse(metadata.get("versions", "{}"), say("The part {name!r}", name="versions"))
    require(isinstance(found, dict), "the versions", "are none")
    return {str(name): str(stated) for name, stated in found.items()}
