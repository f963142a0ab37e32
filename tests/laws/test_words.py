"""One catalogue: every text in both languages, none too many, and one place for the language."""

import ast
import copy
import inspect
import pickle
import re
import sys
import threading
import warnings
from contextvars import copy_context
from pathlib import Path

import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Lasso, SGDClassifier

import cotas
from cotas.exceptions import DataFileError, ModelFileError
from cotas.preparation.preparation import Preparation
from cotas.source import Arrays
from cotas.stops import Stop
from cotas.words import FIELD, JOINED, Said, Spoken, current, english, lang, say, spanish
from estimators import every_estimator, problems_of

HOME = Path(cotas.__file__).parent
SOURCES = [path for path in HOME.rglob("*.py") if path.parent.name != "words"]
# Where every text is for people.
FOR_PEOPLE = ("report", "plots", "cli", "lab")
# Errors, and what stands for no proof, take a text and say it themselves.
SAYING = ("DataFileError", "ColumnError", "UnusedWishError", "unproved", "Refused")
# So do those of the command line, which may also be told what others have said.
TELLING = ("UsageError", "ProofFailedError", "InterruptedEarlyError", "ModelFileError")


def texts_in(node):
    """The texts that an expression may be: a literal, or one of the sides of a condition."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return texts_in(node.body) + texts_in(node.orelse)
    return []


def said_in(path):
    """Every literal text that a module says, itself or as an error that says it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
            "say",
            "remark",
            "_must",
            *TELLING,
            *SAYING,
        ):
            yield from texts_in(node.args[0])


def literals(path):
    tree = ast.parse(path.read_text("utf-8"))
    found = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)} - {None}
    # The help of a command is the documentation of its function.
    return found | {inspect.cleandoc(text) for text in found if isinstance(text, str)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(HOME)))
def test_whatever_is_said_can_be_said_in_spanish(path):
    assert {text for text in said_in(path) if FIELD.sub("", text).strip()} <= set(spanish())


def test_both_languages_have_the_same_values():
    for text, translated in spanish().items():
        fields = [{name for name, _ in FIELD.findall(each)} for each in (text, translated)]
        assert fields[0] == fields[1], text
        assert translated or not text


def test_no_text_is_translated_in_vain():
    used = set().union(*map(literals, SOURCES))
    assert not [text for text in spanish() if text and text not in used]


SENTENCE = re.compile(r"[A-Za-z]{2,},? [a-zA-Z]{2,},? [a-zA-Z]{2,}")
# What a programmer is told of a wrong argument is English.
FOR_PROGRAMMERS = (
    "ValueError",
    "TypeError",
    "ParameterError",
    "ParameterTypeError",
    "ImportError",
    "OSError",
    "NotFittedError",
    "legend",
)
# Programs, and a name in the links of the lab.
NO_WORDS = re.compile(r"\n|\bimport\b|share of delta")


def sentences(path):
    """Every literal of a module that a reader would take for words, but for the documentation."""
    tree = ast.parse(path.read_text("utf-8"))
    kept = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in FOR_PROGRAMMERS:
                kept |= set(ast.walk(node))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            kept.add(node.value)
    for node in ast.walk(tree):
        if node in kept:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [v.value if isinstance(v, ast.Constant) else "{}" for v in node.values]
            yield "".join(parts)
            kept |= {v for v in node.values if isinstance(v, ast.Constant)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_what_people_read_is_in_the_catalogue():
    found = []
    for room in FOR_PEOPLE:
        for path in (HOME / room).glob("*.py"):
            if path.name in ("style.py", "__init__.py"):
                continue  # style sheets
            plain = {t for t in sentences(path) if "<" not in t and not NO_WORDS.search(t)}
            found += [(path.name, t) for t in plain if SENTENCE.search(t) and t not in spanish()]
    assert not found


def test_no_entry_is_there_twice():
    entries = re.findall(r"^msgid (.*)$", (HOME / "words" / "es.po").read_text("utf-8"), re.M)
    assert len(entries) == len(set(entries))


# ---- the language --------------------------------------------------------------------------------


def test_the_language_is_set_in_one_place_and_taken_back():
    assert current() == "en"
    with lang("es"):
        assert (current(), say("mean")) == ("es", "media")
        with lang("en"):
            assert say("mean") == "mean"
        assert say("mean") == "media"
    assert (current(), say("mean")) == ("en", "mean")


def test_without_a_block_it_lasts_as_long_as_the_context():
    def inside():
        cotas.lang("es")
        return say("mean")

    assert copy_context().run(inside) == "media"
    assert say("mean") == "mean"


def test_tables_are_said_in_the_language_of_the_moment():
    X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]] * 5, [0, 0, 1, 0, 1, 1] * 5
    tables = (
        cotas.choose(cotas.LinearSVM(), X, y, "lam", [0.1, 1.0], random_state=0),
        cotas.learning_curves(cotas.LinearSVM(), X, y, sizes=[10, 20], random_state=0),
        cotas.bias_variance(cotas.Ridge(lam=0.1), (X, y), "lam", [0.1, 1.0], repeats=2),
        cotas.svm_path(X, y, [1.0, 0.1], validation=(X, y)),
        cotas.kernels.is_mercer(cotas.kernels.RBF(), X),
    )
    english_words = re.compile(r"\b(?:the|and|on|of|loss|gap|proved|validation|is)\b")
    for table in tables:
        assert english_words.search(str(table))
        with lang("es"):
            assert not english_words.search(str(table))


def test_other_threads_keep_their_own_language():
    heard = []
    with lang("es"):
        thread = threading.Thread(target=lambda: heard.append(current()))
        thread.start()
        thread.join()
    inherits = getattr(sys.flags, "thread_inherit_context", False)  # as Python hands contexts on
    assert heard == ["es" if inherits else "en"]
    assert current() == "en"


def test_a_language_can_be_taken_up_again():
    taken_up = lang("es")
    for _ in range(2):
        with taken_up:
            assert current() == "es"
        assert current() == "en"


@pytest.mark.parametrize("stop", Stop)
def test_every_reason_to_stop_has_spanish(stop):
    assert stop.value in spanish()


@pytest.mark.parametrize("wrong", ["fr", "", None, 3, "ES"])
def test_an_unknown_language_is_refused(wrong):
    with pytest.raises(ValueError, match="lang"):
        lang(wrong)
    assert current() == "en"


def test_a_text_is_said_again_in_another_language_and_survives_copies():
    text = say("{one}, and {other}", one=say("interrupted"), other=say("max_time reached"))
    for again in (text, pickle.loads(pickle.dumps(text)), copy.deepcopy(text)):
        assert isinstance(again, Said)
        assert again == english(again) == "interrupted, and max_time reached"
        with lang("es"):
            assert again.again() == "interrumpido, y se alcanzó max_time"
            assert english(again.again()) == text


def test_values_are_never_read_as_texts():
    hostile = "{one} {other!r} {0} {{x}}"
    with lang("es"):
        assert say("{one} against {other}", one=hostile, other="b") == f"{hostile} contra b"
        assert say(hostile) == hostile


class Spoke:
    said = Spoken("")


def test_an_attribute_speaks_the_language_of_the_reader():
    spoke = Spoke()
    spoke.said = "holds"
    assert spoke.said == "holds"
    with lang("es"):
        assert spoke.said == "se cumple"


# ---- certificates --------------------------------------------------------------------------------

WORD = re.compile(r"[^\W\d_]{4,}")
# Names of classes, of solvers and of code are no words.
NAMES = {"no", "perhaps", "yes", "DecisionTreeClassifier", "interior-point"}


def texts_of(certificate):
    """Everything that a certificate says, with the names of its figures."""
    for part in (certificate, *certificate.parts):
        yield from (part.statement, part.reference, part.objection, part.label)
        yield from (*part.remarks, *part.trusted, *part.notes, part.kind, *part.figures)


def unknown(text):
    """What of a text is in no catalogue."""
    if isinstance(text, Said) and text.values:
        for value in text.values.values():
            yield from unknown(value)
    plain = text.text if isinstance(text, Said) else text
    if plain not in spanish() and WORD.search(FIELD.sub("", plain)):
        yield plain


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            (repr(model), clone(model).fit(*data), data)
            for model in every_estimator()
            for data in problems_of(model)
        ]


def test_every_certificate_can_be_read_in_spanish(fitted):
    for name, model, _ in fitted:
        certificate = model.certificate_
        found = {each for text in texts_of(certificate) for each in unknown(text)} - NAMES
        assert not {text for text in found if not text.startswith("k(x, x′) = ")}, name
        with lang("es"):
            shown = str(certificate)
        assert not {"than", "this", "holds", "proved", "bound"} & set(WORD.findall(shown)), shown
        assert str(certificate) != shown


def test_every_certificate_of_rows_in_blocks_can_be_read_in_spanish(fitted):
    for name, model, (X, y, *_) in fitted:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                again = clone(model).fit(Arrays(X, y, block_rows=-(-len(y) // 3)))
        except ValueError:  # it says that it needs arrays, which others look after
            continue
        texts = texts_of(again.certificate_)
        assert not {each for text in texts for each in unknown(text)} - NAMES, name


def test_the_language_changes_no_verdict(fitted):
    for name, model, data in fitted:
        certificate = model.certificate_
        with lang("es"):
            assert certificate.discrepancies(*data) == [], name
            fresh = pickle.loads(pickle.dumps(certificate))
        assert fresh.discrepancies(*data) == [], name
        assert fresh.statement == certificate.statement


def test_a_file_keeps_both_languages(fitted, tmp_path):
    for name, model, data in fitted:
        if "DecisionTree" in name:
            continue  # of another library
        with lang("es"):
            model.save(tmp_path / "model.cotas")
            shown = str(model.certificate_)
        again = cotas.load(tmp_path / "model.cotas")
        assert str(again.certificate_) == str(model.certificate_), name
        assert again.certificate_.discrepancies(*data) == [], name
        with lang("es"):
            assert str(again.certificate_) == shown, name


def test_a_file_with_texts_of_another_version_is_read_in_english(fitted, tmp_path):
    from cotas.files.schema import Scope, Sentence

    stored = {"english": "It is 3.", "text": "It is {n} now.", "values": {"n": "3"}}
    with lang("es"):
        assert Sentence().read(stored, None, Scope(), "here") == "It is 3."
        known = {"english": "", "text": "{one} against {other}", "values": {"one": "a"}}
        assert Sentence().read(known, None, Scope(), "here") == ""


# ---- errors of files -----------------------------------------------------------------------------

# The text of a file that cannot be used, and its name.
BAD_TABLES = {
    "empty.csv": b"",
    "no_rows.csv": b"a,b\n",
    "ragged.csv": b"a,b,c\n1,2,3\n1,2\n",
    "left_open.csv": b'a,b\n1,2\n3,"4\n',
    "stray.csv": b'a,b\n1,2"2\n3,4\n',
    "binary.csv": b"a\0b\0c",
    "pickle.csv": b"\x80\x04K\x01.",
    "broken.json": b'[{"a": 1}, {"a": ',
    "cut.csv.gz": b"\x1f\x8b\x08\x00\x00\x00",
    "cut.parquet": b"PAR1 and no more",
    "label.svm": b"x 1:2\n1 1:3\n",
    "colon.svm": b"1 1:2\n1 3\n",
    "order.svm": b"1 1:2\n1 3:1 2:1\n",
    "value.svm": b"1 1:2\n1 3:z\n",
    "ranked.svm": b"1 qid:1 1:2\n",
    "words.csv": b"a,b\n" + b"".join(b"%d,1\n" % k for k in range(60)) + b"x1,1\nx2,1\nx3,1\n" * 20,
}
BAD_MODELS = {
    "short.cotas": b"ab",
    "table.cotas": b"a,b\n1,2\n3,4\n",
    "cut.cotas": b"\xff" * 100,
    "json.cotas": b"\x04\0\0\0\0\0\0\0[1,]",
}


def english_in(text, name=""):
    """What of an error is neither in the catalogue nor a value, such as the name of a file."""
    if not isinstance(text, Said):
        data = name in ("error", "known", "names")  # what another library says of it, and lists
        return [text] if SENTENCE.search(text) and not data else []
    own = [] if text.text in spanish() or JOINED.fullmatch(text.text) else [text.text]
    return own + [each for name, value in text.values.items() for each in english_in(value, name)]


def refusals(tmp_path):
    """What is done with files that cannot be used, each by its name."""
    read = cotas.tables.read_table
    for name, content in BAD_TABLES.items():
        (tmp_path / name).write_bytes(content)
        yield name, lambda name=name: read(tmp_path / name)
    for name, content in BAD_MODELS.items():
        (tmp_path / name).write_bytes(content)
        yield name, lambda name=name: cotas.load(tmp_path / name)
    good = tmp_path / "good.csv"
    good.write_text("a,b\n" + "1,x\n2,y\n" * 9, "utf-8")
    table = read(good, target="b")
    prepared = Preparation().fit(table.features)
    yield "nothing there", lambda: read(tmp_path / "nothing.csv")
    yield "no such pattern", lambda: read(str(tmp_path / "nothing*.csv"))
    yield "a folder", lambda: read(tmp_path)
    yield "no such column", lambda: read(good, target="c")
    yield "no such encoding", lambda: read(good, encoding="utf-9")
    yield "no such separator", lambda: read(good, separator="ab")
    yield "another format", lambda: read(good, format="parquet")
    yield "too many columns", lambda: read(good, max_columns=1)
    yield "too much memory", lambda: read(good, max_memory=1)
    yield "no part", lambda: read(f"{good}::part")
    yield "a column less", lambda: prepared.transform(table.features.rename({"a": "z"}))
    yield "a matrix", lambda: prepared.transform([[1.0]])


def test_errors_of_files_are_said_in_spanish(tmp_path):
    for name, refused in refusals(tmp_path):
        with lang("es"), pytest.raises(ValueError) as caught:
            refused()
        assert isinstance(caught.value, (DataFileError, ModelFileError)), (name, caught.value)
        assert isinstance(caught.value.args[0], Said), (name, caught.value)
        assert not english_in(caught.value.args[0]), (name, caught.value)


@pytest.mark.parametrize("home", ["files", "preparation", "scale", "cli"])
def test_every_error_of_a_table_is_said(home):
    for path in (HOME / home).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if name in SAYING:
                assert not isinstance(node.args[0], ast.JoinedStr), (path, node.lineno)


def test_where_there_is_no_certificate_it_is_said_why_in_spanish():
    forest, X, y = RandomForestClassifier(2, random_state=0), [[0.0], [1.0], [2.0]], [1, 0, 1]
    models = (
        forest,
        SGDClassifier(loss="huber"),
        SGDClassifier(penalty=None, max_iter=5),
        Lasso(0),
    )
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            certificate = cotas.certify(model.fit(X, y), X, y)
        assert certificate.kind != "none" or not english_in(certificate.statement), model


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(HOME)))
def test_every_reason_why_there_is_no_certificate_is_in_the_catalogue(path):
    tree = ast.parse(path.read_text("utf-8"))
    named = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "no_certificate":
            reason = node.args[0]
            text = getattr(reason, "value", None) if isinstance(reason, ast.Constant) else None
            text = named.get(reason.id) if isinstance(reason, ast.Name) else text
            assert not SENTENCE.search(text or "") or text in spanish(), text


def test_an_option_to_copy_is_written_as_a_shell_reads_it():
    assert not [text for text in spanish().values() if re.search(r"--[a-z-]+ «", text)]
