"""What a new job type and a new area begin with keeps every rule of the house, in as few files as the house promises.

Both are begun in one copy of the repository, and looked at together: the tests that look at every file, table, job type
or area take a minute of CPU.
"""

import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from tests.house.reading import ROOMS, ROOT
from tests.house.test_shape import crowded
from tests.tools.house_copy import files, make_copy, run
from tools import new_job

OF_JOB = {
    "domain/payloads/digests.py",
    "tasks/notifications/digests.py",
    "tests/tasks/notifications/test_digests.py",
    "tests/golden/digests.count_waiting.v1.json",
}
"""The files that a job type of a new family takes."""
MOST_OF_AREA = 10
"""Files that a person reads and fills in."""

RIGHTS, GOLDEN = "tests/storage/postgres/rights.txt", "tests/golden/errands.finish.v1.json"
PAGES = {"docs/explanation/notifications.md", "docs/explanation/planning.md"}
"""What tools write for a person to read, beside the reference."""

OWN = (
    "tests/tasks/notifications/test_digests.py",
    "tests/tasks/planning/test_errands.py",
    "tests/operations/planning/test_errands.py",
)
GUARDS = (
    "tests/house/test_rooms.py",
    "tests/house/test_style.py",
    "tests/house/test_shape.py",
    "tests/test_docs.py",
    "tests/test_catalogue.py",
    "tests/domain/payloads",
    "tests/operations/test_operations.py::test_no_cell_of_the_table_of_operations_is_empty",
    "tests/operations/test_operations.py::test_commands_and_routes_of_operations_are_named_once",
    "tests/storage/postgres/test_rights.py",
    "tests/storage/postgres/test_tenancy.py",
    "tests/operations/orgs/test_erasure.py::test_every_table_says_what_becomes_of_its_rows",
    "tests/gateway/console/test_derived.py::test_every_operation_has_a_page_for_an_admin",
)
"""The tests that look at every file, job type, area or table."""
FREE_FOLDERS = "test_no_folder_is_crowded"
"""A folder may have room for one of the two."""
KNOWN = [f"[{path.stem}." for path in sorted((ROOT / "domain/payloads").glob("*.py"))]
"""How the ids begin of tests of the job types that are here already: they are tested beside this one."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_copy(tmp_path_factory.mktemp("copy"))


def test_a_job_type_takes_four_files_an_area_ten_and_both_keep_every_rule(copy: Path) -> None:
    before = files(copy)
    run(copy, "tools.new_job", "digests", "count_waiting", "notifications")
    with_job = files(copy)
    run(copy, "tools.new_area", "errands", "planning")
    for tool in ("tools.golden", "tests.storage.postgres.rights_table", "tools.reference", "tools.system_pages"):
        run(copy, tool)
    after = files(copy)

    changed = {name for name, content in after.items() if before.get(name) != content}
    by_hand = {name for name in changed if not name.startswith("docs/reference/")}
    of_area = by_hand - OF_JOB - {RIGHTS, GOLDEN} - PAGES
    assert by_hand >= OF_JOB
    assert {name for name, content in with_job.items() if before.get(name) != content} <= OF_JOB
    assert len(of_area) <= MOST_OF_AREA
    assert by_hand & set(before) == {RIGHTS, *PAGES}
    for begun in (OF_JOB, of_area):
        assert crowded(modules({*before, *begun})) == []
    check(copy, sorted(name for name in OF_JOB | of_area if name.endswith(".py")))


def modules(names: Collection[str]) -> list[Path]:
    """The files of the rooms, and the statements beside them."""
    wanted = [path for path in map(Path, names) if path.suffix == ".py" and path.parts[0] in ROOMS]
    return wanted + [path for path in map(Path, names) if path.suffix == ".sql" and path.parts[0] == "storage"]


def check(copy: Path, sources: list[str]) -> None:
    run(copy, "ruff", "check", *sources)
    run(copy, "ruff", "format", "--check", *sources)
    run(copy, "mypy", *sources)
    # Of its own: at its start pytest closes the shared one to other users, such as the PostgreSQL of tests beside this.
    folder = f"--basetemp={copy.parent / 'nested'}"
    new = " and ".join(f"not {known}" for known in [*KNOWN, FREE_FOLDERS])
    run(copy, "pytest", "-q", "-p", "no:cacheprovider", folder, "-k", new, *OWN, *GUARDS)


def test_a_job_type_of_a_known_family_is_added_to_its_files(copy: Path) -> None:
    new_job.begin(copy, "triage", "sum_up")
    sources = ("domain/payloads/triage.py", "tasks/mail/triage.py", "tests/tasks/mail/test_triage.py")
    assert "def classify(" in (copy / "tasks/mail/triage.py").read_text()
    run(copy, "ruff", "check", *sources)
    run(copy, "ruff", "format", "--check", *sources)
    run(copy, "tools.golden")
    assert (copy / "tests/golden/triage.sum_up.v1.json").exists()


@pytest.mark.parametrize("family", ["payload", "registry", "declaration"])
def test_a_module_of_the_frame_is_no_family(copy: Path, family: str) -> None:
    before = files(copy)
    with pytest.raises(ValueError, match=f"F={family}: .* is no family's"):
        new_job.begin(copy, family, "sum_up", "mail")
    assert files(copy) == before


def test_the_command_line_says_what_is_wrong(copy: Path) -> None:
    done = subprocess.run(  # our own tool
        [sys.executable, "-m", "tools.new_job", "gmail", "sync"], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "make new-job: there is a job type gmail.sync\n"
