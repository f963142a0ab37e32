"""What a release needs, as far as it can be told without building an environment."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import release

# Neither is among the oldest packages that are tested.
yaml = pytest.importorskip("yaml")
wheels = pytest.importorskip("hatchling.builders.wheel")
ROOT = release.ROOT
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[0-9]*.yml"))
# A word for each that is not written out, so that this file does not name what it looks for.
REGISTRIES = re.compile(r"\b(py" r"pi|python" r"hosted|ana" r"conda|npm" r"js)\.(org|com)\b")
PLACES = re.compile(r"(^|[\s\"'(=])/(work|home|Users|root)/")


def tracked():
    """The texts of the repository, but for what is checked in as data."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("this is no checkout")
    for name in done.stdout.splitlines():
        path = ROOT / name
        if path.is_file() and path.suffix not in (".png", ".svg", ".cotas", ".woff2"):
            yield name, path.read_text("utf-8", errors="replace")


def test_the_words_agree():
    release.check_words()


@pytest.mark.parametrize("name", ["version", "date-released", "license", "repository-code"])
def test_a_citation_of_something_else_is_told(name, monkeypatch):
    other = {**release.citation(), name: "something else"}
    monkeypatch.setattr(release, "citation", lambda: other)
    with pytest.raises(release.NotReadyError, match="CITATION"):
        release.check_words()


def test_a_version_that_the_change_log_does_not_know_is_told(monkeypatch):
    monkeypatch.setattr(release, "version", lambda: "99.0.0")
    with pytest.raises(release.NotReadyError):
        release.check_words()


def test_a_tag_of_another_version_is_told(monkeypatch):
    for kind, name in (("branch", "main"), ("tag", f"v{release.version()}")):
        monkeypatch.setenv("GITHUB_REF_TYPE", kind)
        monkeypatch.setenv("GITHUB_REF_NAME", name)
        release.check_tag()
    for other in (f"v{release.version()}.1", release.version(), "v99.0.0"):
        monkeypatch.setenv("GITHUB_REF_NAME", other)
        with pytest.raises(release.NotReadyError, match=re.escape(other)):
            release.check_tag()


def test_the_version_stands_in_one_place():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert settings["project"]["dynamic"] == ["version"]
    assert settings["tool"]["hatch"]["version"]["path"] == "src/cotas/__init__.py"


def test_a_wheel_holds_the_whole_package(tmp_path):
    """Every file, also those that are no Python: the catalogue, the mark of types, style sheets."""
    builder = wheels.WheelBuilder(str(ROOT))
    wheel = Path(next(builder.build(directory=str(tmp_path), versions=["standard"])))
    release.check_wheel(wheel)
    assert any(not name.endswith(".py") for name in release.source_files())


def test_a_wheel_that_lacks_a_file_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(release, "source_files", lambda: {"cotas/words/es.po"})
    wheel = tmp_path / "cotas.whl"
    with release.zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("cotas/__init__.py", "")
    with pytest.raises(release.NotReadyError, match=re.escape("es.po")):
        release.check_wheel(wheel)


def started(code):
    """A process that runs some code, as the lab is started."""
    return subprocess.Popen(
        [sys.executable, "-c", code], env=release.outside(), stdout=subprocess.PIPE, text=True
    )


def test_a_program_that_says_nothing_is_not_waited_for():
    with started("import time; print('here', flush=True); time.sleep(600)") as speaks:
        assert release.first_line(speaks) == "here"
        assert speaks.poll() is None
        speaks.kill()
    with started("import time; time.sleep(600)") as silent:
        assert release.first_line(silent, 0.1) == ""


def test_what_is_checked_knows_nothing_of_this_folder(monkeypatch):
    for name in ("PYTHONPATH", "NUMBA_CACHE_DIR"):
        monkeypatch.setenv(name, str(ROOT / "src"))
    with started("import os; print(sorted(os.environ.values()))") as process:
        assert str(ROOT / "src") not in process.stdout.read()


def test_one_address():
    """All addresses of the project begin as pyproject.toml says."""
    address = release.project()["urls"]["Source"]
    owner = address.rsplit("/", 1)[0]
    for path in (*ROOT.glob("*.md"), ROOT / "CITATION.cff", *(ROOT / ".github").rglob("*.*")):
        for found in re.findall(rf"{owner}[^\s)\"]*", path.read_text("utf-8")):
            assert found == address or found.startswith(f"{address}/"), path


def test_no_file_names_a_registry_or_a_place_of_one_machine():
    named = [name for name, text in tracked() if REGISTRIES.search(text) or PLACES.search(text)]
    assert named == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_ask_for_what_there_is(path):
    """Targets of the Makefile, files, and the oldest Python that is allowed."""
    content = yaml.safe_load(path.read_text("utf-8"))
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for job in content["jobs"].values():
        assert job["timeout-minutes"] <= 360
        matrix = job.get("strategy", {}).get("matrix", {})
        targets = [entry["target"] for entry in matrix.get("include", ()) if "target" in entry]
        for run in (step["run"] for step in job["steps"] if "run" in step):
            words = run.split()
            targets += [
                w for w in words[1:] if words[0] == "make" and re.fullmatch("[a-z][a-z-]*", w)
            ]
            for name in re.findall(r"(?:^|python )([.\w]+/\w[\w./]*)", run):
                assert (ROOT / name).is_file()
        for target in targets:
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_oldest_python_and_three_systems_are_tested():
    content = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text("utf-8"))
    matrix = content["jobs"]["systems"]["strategy"]["matrix"]
    assert release.project()["requires-python"] == f">={matrix['python'][0]}"
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_every_test_is_in_one_part_of_the_whole():
    """`make test` runs the tests in parts, and the last of its lines names them all."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    parts = re.findall(r"^(test-[a-z-]+):.*\n\t\$\(PYTEST\) (.*)$", makefile, re.MULTILINE)
    assert [name for name, _ in parts] == re.findall(r"^PARTS := (.*)$", makefile, re.M)[0].split()
    # None of them is left out because another target fails.
    assert set(re.findall(r"^test-[a-z-]+: *(.*)$", makefile, re.MULTILINE)) == {"$(READY)"}
    found = []
    for _, words in parts:
        for word in words.split():
            for path in ROOT.glob(word):
                found += path.rglob("test_*.py") if path.is_dir() else [path]
    assert sorted(found) == sorted((ROOT / "tests").rglob("test_*.py"))
    assert "src/cotas" in dict(parts)["test-others"]  # for the examples of the docstrings


def test_what_is_run_here_is_what_is_run_there():
    """What it asks for are targets that have a name, and no files."""
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert "make test" in script.splitlines()
    makefile = (ROOT / "Makefile").read_text("utf-8")
    named = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split()
    assert set(re.findall(r"\bmake (\S+?)[;\s]", script)) <= set(named)


def test_issues_are_asked_for_in_both_languages():
    names = {path.name for path in TEMPLATES}
    english = {name for name in names if not name.endswith(".es.yml")}
    assert english
    assert names == english | {name.replace(".yml", ".es.yml") for name in english}
    for name in english:
        pair = [
            yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE" / each).read_text("utf-8"))["body"]
            for each in (name, name.replace(".yml", ".es.yml"))
        ]
        asked = [[(part["type"], part.get("id")) for part in body] for body in pair]
        assert asked[0] == asked[1]
