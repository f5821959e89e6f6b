"""A new area takes at most fifteen files; its list and its deed answer, and every test that looks at areas passes."""

import re
import shutil
from pathlib import Path

import pytest

from tests.house import ROOT
from tests.tools.house_copy import files, make_copy, run
from tools.new_area import LINES, begin

MOST_FILES = 15
OWN = ("tests/storage/test_errands.py", "tests/tasks/test_errands.py", "tests/operations/test_errands.py")
GUARDS = (
    "tests/test_house.py",
    "tests/test_house_style.py",
    "tests/test_house_shape.py",
    "tests/test_docs.py",
    "tests/test_catalogue.py",
    "tests/operations/test_operations.py::test_no_cell_of_the_table_of_operations_is_empty",
    "tests/operations/test_operations.py::test_commands_and_routes_of_operations_are_named_once",
    "tests/storage/postgres/test_rights.py",
    "tests/storage/postgres/test_tenancy.py",
    "tests/operations/orgs/test_erasure.py::test_every_table_says_what_becomes_of_its_rows",
    "tests/test_deploy.py::test_each_group_of_commands_is_an_entry_point",
)
"""The tests that look at every area, table or file."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_copy(tmp_path_factory.mktemp("copy"))


def test_an_area_takes_at_most_fifteen_files_and_works(copy: Path) -> None:
    before = files(copy)
    run(copy, "tools.new_area", "errands")
    for tool in ("tools.golden", "tests.storage.postgres.rights_table", "tools.reference"):
        run(copy, tool)
    changed = {name for name, content in files(copy).items() if before.get(name) != content}
    written = {name for name in changed - set(before) if not name.startswith("docs/reference/")}
    assert len(written) <= MOST_FILES
    added_to = {name for name in changed & set(before) if not name.startswith("docs/reference/")}
    assert added_to == {"tests/storage/postgres/rights.txt", *(name for name, _, _ in LINES)}
    sources = sorted(name for name in written if name.endswith(".py"))
    run(copy, "ruff", "check", *sources)
    run(copy, "ruff", "format", "--check", *sources)
    run(copy, "mypy", *sources)
    # Of its own: at its start pytest closes the shared one to other users, such as the PostgreSQL of tests beside this.
    folder = f"--basetemp={copy.parent / 'nested'}"
    run(copy, "pytest", "-q", "-p", "no:cacheprovider", folder, *OWN, *GUARDS)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "N='' is no name"),
        ("Errands", "N='Errands' is no name"),
        ("class", "N='class' is no name"),
        ("a" * 31, "has 31 letters"),
        ("approvals", "is there already"),
    ],
)
def test_a_name_that_cannot_be_taken_is_refused_and_nothing_written(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "operations").mkdir()
    shutil.copy(ROOT / "operations/approvals.py", tmp_path / "operations")
    before = files(tmp_path)
    with pytest.raises(ValueError, match=re.escape(words)):
        begin(tmp_path, name)
    assert files(tmp_path) == before
