"""A new job type takes four files that people write: payload, handler, test and golden payload."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house import ROOT
from tests.tools.house_copy import files, make_copy, run
from tools.new_job import begin

GUARDS = (
    "tests/test_house.py",
    "tests/test_house_style.py",
    "tests/test_catalogue.py",
    "tests/test_docs.py",
    "tests/domain/payloads",
)
"""The tests that look at every job type."""
KNOWN = [f"[{path.stem}." for path in sorted((ROOT / "domain/payloads").glob("*.py"))]
"""How the ids begin of tests of the job types that are here already: they are tested beside this one."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_copy(tmp_path_factory.mktemp("copy"))


def test_a_job_type_takes_four_files(copy: Path) -> None:
    before = files(copy)
    run(copy, "tools.new_job", "digests", "count_waiting")
    run(copy, "tools.golden")
    run(copy, "tools.reference")
    changed = {name for name, content in files(copy).items() if before.get(name) != content}
    written = {name for name in changed if not name.startswith("docs/reference/")}
    assert written == {
        "domain/payloads/digests.py",
        "tasks/digests.py",
        "tests/golden/digests.count_waiting.v1.json",
        "tests/tasks/test_digests.py",
    }
    sources = sorted(name for name in written if name.endswith(".py"))
    run(copy, "ruff", "check", *sources)
    run(copy, "ruff", "format", "--check", *sources)
    run(copy, "mypy", *sources)
    # Of its own: at its start pytest closes the shared one to other users, such as the PostgreSQL of tests beside this.
    new = " and ".join(f"not {known}" for known in KNOWN)
    folder = f"--basetemp={copy.parent / 'nested'}"
    run(copy, "pytest", "-q", "-p", "no:cacheprovider", folder, "-k", new, "tests/tasks/test_digests.py", *GUARDS)


def test_a_job_type_of_a_known_family_is_added_to_its_files(copy: Path) -> None:
    begin(copy, "triage", "sum_up")
    sources = ("domain/payloads/triage.py", "tasks/triage.py", "tests/tasks/test_triage.py")
    assert "def classify(" in (copy / "tasks/triage.py").read_text()
    run(copy, "ruff", "check", *sources)
    run(copy, "ruff", "format", "--check", *sources)
    run(copy, "tools.golden")
    assert (copy / "tests/golden/triage.sum_up.v1.json").exists()


@pytest.mark.parametrize(
    ("family", "name", "words"),
    [
        ("triage", "classify", "there is a job type triage.classify"),
        ("triage", "", "J='' is no name"),
        ("Triage", "sum_up", "F='Triage' is no name"),
        ("triage", "sum-up", "J='sum-up' is no name"),
        ("gmail", "accounts", "tasks/gmail.py has the name accounts already"),
        ("gmail", "import", "J=import is a keyword of Python"),
        ("class", "sum_up", "F=class is a keyword of Python"),
        ("digests", "accounts", "accounts is the name of something that the scaffold imports"),
        ("digests", "job", "job is the name of something that the scaffold imports"),
        ("digests", "a" * 93, "has 101 characters; a job type has at most 100"),
        ("mail", "sum_up", "tasks/mail is a package"),
        ("registry", "sum_up", "registry.py holds no payload class"),
        ("broken", "sum_up", "tasks/broken.py, line 1: invalid syntax"),
        ("strange", "sum_up", "tasks/strange.py has the name Done already, which the scaffold imports from elsewhere"),
    ],
)
def test_a_name_that_cannot_be_taken_is_refused_and_nothing_written(
    tmp_path: Path, family: str, name: str, words: str
) -> None:
    for folder in ("tasks/mail", "domain/payloads", "tests/tasks"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tasks" / "gmail.py").write_text("from storage.accounts import accounts\n")
    (tmp_path / "tasks" / "broken.py").write_text("def def\n")
    (tmp_path / "tasks" / "strange.py").write_text("from elsewhere import Done\n")
    shutil.copy(ROOT / "domain/payloads/registry.py", tmp_path / "domain/payloads")
    before = files(tmp_path)
    with pytest.raises(ValueError, match=re.escape(words)):
        begin(tmp_path, family, name)
    assert files(tmp_path) == before


@pytest.mark.parametrize("family", ["payload", "registry", "declaration"])
def test_a_module_of_the_frame_is_no_family(copy: Path, family: str) -> None:
    before = files(copy)
    with pytest.raises(ValueError, match=f"F={family}: .* is no family's"):
        begin(copy, family, "sum_up")
    assert files(copy) == before


def test_the_command_line_says_what_is_wrong(copy: Path) -> None:
    done = subprocess.run(  # our own tool
        [sys.executable, "-m", "tools.new_job", "gmail", "sync"], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "make new-job: there is a job type gmail.sync\n"
