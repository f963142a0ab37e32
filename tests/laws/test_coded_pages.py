"""Codes that boosters keep beside the pages: they save time, and change nothing else."""

from __future__ import annotations

import errno
import os
import shutil
import warnings

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.datasets import dump_svmlight_file

import cotas
from cotas.design import blocks as blocks_module
from cotas.files.state import digest
from cotas.scale import coded_pages
from cotas.scale.page_files import page_pieces, read_page
from cotas.scale.pages import page_folders, remove_pages
from cotas.solvers.block_binning import Coder
from cotas.source import Source, in_pairs
from in_blocks import TAKE

RNG = np.random.default_rng(5)
N, D = 400, 5
CELLS = RNG.normal(size=(N, D))
CELLS[:, 3] = RNG.integers(4, size=N)
NUMBERS = CELLS[:, 0] + (CELLS[:, 3] == 2) - CELLS[:, 1] * CELLS[:, 2] + 0.1 * RNG.normal(size=N)
WORDS = np.array(["sí", "no", "nunca"])[np.digitize(NUMBERS, [0.0, 1.0])]
GAPS = np.where(RNG.random(CELLS.shape) < 0.1, np.nan, CELLS)
SHARES = np.where(np.arange(N) % 7, RNG.random(N), 0.0)
SPARSE = sparse.random(N, 12, 0.3, "csr", random_state=5)
BOOSTERS = [kind for kind in TAKE if "weak_learner" in kind().get_params()]
LEARNERS = [cotas.Stump(), cotas.Tree(3, categorical_features=[3])]


class AsTheyAre:
    """A preparation that leaves the numbers alone, missing ones too."""

    layout_ = "none"

    def transform(self, frame):
        return frame.to_numpy()

    def get_feature_names_out(self):
        return np.array([f"c{j}" for j in range(D)], dtype=object)


class InMemory(Source):
    """The blocks of another source, of which nothing is kept that is made of them."""

    def __init__(self, source):
        self.n_rows, self.n_features = source.n_rows, source.n_features
        self.feature_names, self.all = source.feature_names, list(source.blocks())

    def blocks(self):
        return iter(self.all)

    def map_reduce(self, function, each=map):
        return in_pairs(each(function, self.all))


def paged(folder, cells, y, weights=None, **given):
    table = pl.DataFrame(cells, schema=[f"c{j}" for j in range(D)]).with_columns(y=pl.Series(y))
    if weights is not None:
        table, given = table.with_columns(w=pl.Series(weights)), {**given, "weights": "w"}
    table.write_parquet(folder / "rows.parquet")
    return cotas.tables.open_pages(folder / "rows.parquet", target="y", page_bytes=2048, **given)


def sparsely_paged(folder, X, y):
    dump_svmlight_file(X, y, str(folder / "rows.svm"))
    return cotas.tables.open_pages(folder / "rows.svm", page_bytes=2048)


def target_of(kind):
    return WORDS if is_classifier(kind()) else NUMBERS


def told(model):
    """All that a fit has found."""
    return digest([model.ensembles_, model.round_losses_]), model.certificate_.to_dict()


def kept(pages):
    """The codes, by the names of their files."""
    return {file.name: file.read_bytes() for file in pages.folder.glob("codes-*.page")}


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def coded(monkeypatch):
    """The sizes of the blocks that have been coded."""
    sizes, plain = [], Coder.codes

    def counted(self, X):
        sizes.append(len(X))
        return plain(self, X)

    monkeypatch.setattr(Coder, "codes", counted)
    return sizes


@pytest.mark.parametrize("weak", LEARNERS, ids=lambda weak: type(weak).__name__)
@pytest.mark.parametrize("kind", BOOSTERS, ids=lambda kind: kind.__name__)
def test_every_page_is_coded_once_and_no_bit_depends_on_it(tmp_path, quiet, coded, kind, weak):
    y = target_of(kind)
    for name, given in {
        "whole": (CELLS, y),
        "single": (CELLS.astype(np.float32), y, SHARES),
        "gaps": (GAPS, y, SHARES),
    }.items():
        (tmp_path / name).mkdir()
        prepared = {"preparation": AsTheyAre()} if name == "gaps" else {}
        pages = paged(tmp_path / name, *given, **prepared)
        expected = told(kind(weak, 3).fit(InMemory(pages)))
        coded.clear()
        assert told(kind(weak, 3).fit(pages)) == expected
        assert sum(coded) == N
        assert len(kept(pages)) == len(pages.pages) > 3
        coded.clear()
        assert told(kind(weak, 3).fit(pages)) == expected
        assert not coded


@pytest.mark.parametrize("kind", BOOSTERS, ids=lambda kind: kind.__name__)
def test_sparse_rows_are_coded_where_that_is_less(tmp_path, quiet, coded, monkeypatch, kind):
    """The sums have the bits of rows that are made dense, and coded, some at a time."""
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 8 * 12 * 10)  # ten rows
    y = (NUMBERS > 0).astype(int) if is_classifier(kind()) else NUMBERS
    pages = sparsely_paged(tmp_path, SPARSE, y)
    with monkeypatch.context() as patch:
        patch.setattr(Coder, "coded", lambda self, X: X)
        expected = told(kind(cotas.Tree(2), 3).fit(pages))
        assert not kept(pages)
    coded.clear()
    assert told(kind(cotas.Tree(2), 3).fit(pages)) == expected
    assert sum(coded) == N
    assert max(coded) <= 10
    assert sum(map(len, kept(pages).values())) < pages.n_bytes
    (tmp_path / "few").mkdir()
    few = sparsely_paged(tmp_path / "few", sparse.random(N, 50, 0.05, "csr", random_state=5), y)
    kind(cotas.Tree(2), 3).fit(few)
    assert not kept(few)


# ---- what may happen to files -------------------------------------------------------------------


def _flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _cut_off(file):
    file.write_bytes(file.read_bytes()[:-1])


def _exchange(file):
    """A page of something else, which is not what the name says."""
    file.write_bytes(b"".join(page_pieces({"rows": np.arange(3)})[0]))


def _block(file):
    file.unlink()
    file.mkdir()


DAMAGES = [_flip, _cut_off, _exchange, os.unlink]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_codes_that_are_damaged_are_made_anew(tmp_path, damage):
    pages = paged(tmp_path, CELLS, WORDS)
    expected, before = told(cotas.AdaBoost("tree", 3).fit(pages)), kept(pages)
    for name in sorted(before)[1:3]:
        damage(pages.folder / name)
    assert told(cotas.AdaBoost("tree", 3).fit(pages)) == expected
    assert kept(pages) == before


def test_codes_that_go_in_the_middle_of_a_fit_change_nothing(tmp_path):
    pages = paged(tmp_path, CELLS, WORDS)
    expected, before = told(cotas.AdaBoost("tree", 3).fit(pages)), kept(pages)

    def spoil(report):
        name = sorted(before)[report.round]
        (_flip if report.round == 1 else os.unlink)(pages.folder / name)

    assert told(cotas.AdaBoost("tree", 3, callbacks=[spoil]).fit(pages)) == expected


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC])
@pytest.mark.parametrize("written", [0, 2])
def test_where_nothing_can_be_kept_blocks_are_coded_anew(tmp_path, monkeypatch, number, written):
    pages, plain, left = paged(tmp_path, CELLS, WORDS), coded_pages.replacing, [written]
    expected = told(cotas.AdaBoost("tree", 3).fit(InMemory(pages)))

    def refused(*given, **how):
        if not left[0]:
            raise OSError(number, os.strerror(number))
        left[0] -= 1
        return plain(*given, **how)

    monkeypatch.setattr(coded_pages, "replacing", refused)
    assert told(cotas.AdaBoost("tree", 3, n_jobs=1).fit(pages)) == expected
    # Nobody is left without room for what could be done without.
    assert len(kept(pages)) == (0 if number == errno.ENOSPC else written)


def test_a_folder_in_the_place_of_a_file_is_left_alone(tmp_path):
    pages = paged(tmp_path, CELLS, WORDS)
    expected = told(cotas.AdaBoost("tree", 3).fit(pages))
    _block(pages.folder / sorted(kept(pages))[0])
    assert told(cotas.AdaBoost("tree", 3).fit(pages)) == expected


def test_one_set_of_codes_is_kept_and_clean_removes_it(tmp_path):
    pages = paged(tmp_path, CELLS, WORDS)
    cotas.AdaBoost("stump", 2).fit(pages)
    first = kept(pages)
    cotas.LogitBoost(cotas.Tree(3), 2).fit(pages)
    assert kept(pages) == first  # the same bins
    cotas.AdaBoost(cotas.Stump(categorical_features=[3]), 2).fit(pages)
    second = kept(pages)
    assert len(second) == len(first)
    assert not first.keys() & second.keys()
    part, _ = pages.split(0.5)
    cotas.AdaBoost("stump", 2).fit(part)
    assert len(kept(pages)) == len(part.pages)
    left = pages.folder / f".{sorted(second)[0][:64]}.0123456789abcdef.tmp"
    left.touch()  # by a process that was killed
    assert page_folders(tmp_path) == [pages.folder]
    cotas.AdaBoost("stump", 2).fit(part)
    assert not left.exists()
    size = sum(file.stat().st_size for file in pages.folder.iterdir())
    assert remove_pages(tmp_path) == (1, size)
    assert not pages.folder.exists()


def test_codes_go_with_the_pages_that_they_were_made_of(tmp_path):
    pages = paged(tmp_path, CELLS, WORDS)
    cotas.AdaBoost("stump", 2).fit(pages)
    assert kept(pages)
    again = paged(tmp_path, CELLS[::-1], WORDS[::-1])
    assert again.folder == pages.folder
    assert not kept(again)


# ---- the proof ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOOSTERS, ids=lambda kind: kind.__name__)
def test_the_proof_does_not_trust_the_codes(tmp_path, quiet, kind):
    """Codes of other rows, with checksums that are right, give a worse model; that is proved."""
    pages = paged(tmp_path, CELLS, target_of(kind))
    good = kind(cotas.Stump(), 3).fit(pages)
    for name in kept(pages):
        file = pages.folder / name
        arrays = read_page(file, file.stat().st_size, None)
        arrays["columns"] = arrays["columns"][:, ::-1]
        pieces, size, checksum = page_pieces(arrays)
        beginning = name.rsplit("-", 2)[0]
        (pages.folder / f"{beginning}-{size:x}-{checksum:08x}.page").write_bytes(b"".join(pieces))
        file.unlink()
    bad = kind(cotas.Stump(), 3).fit(pages)
    assert bad.score(pages) < good.score(pages)
    assert bad.certificate_.discrepancies(pages) == []
    shutil.rmtree(pages.folder)
    again = cotas.tables.open_pages(tmp_path / "rows.parquet", target="y", page_bytes=2048)
    assert bad.certificate_.verify(again)
