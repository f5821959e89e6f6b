"""A session's folder is its own while it runs, and is removed after its end, even if it was killed."""

import subprocess
import sys
from pathlib import Path

from tests.house.reading import ROOT
from tests.servers.session_folder import find_fastest_parent, session_folder

SESSION = """
import sys
from pathlib import Path
from tests.servers.session_folder import session_folder
with session_folder(Path(sys.argv[1])) as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_removed_with_all_that_is_in_it(tmp_path: Path) -> None:
    with session_folder(tmp_path) as folder:
        (folder / "data").write_text("rows")
    assert list(tmp_path.iterdir()) == []


def test_a_session_leaves_the_folder_of_a_living_one_and_removes_that_of_a_killed_one(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", SESSION, str(tmp_path)]
    with subprocess.Popen(  # noqa: S603  # our own code
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True
    ) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        with session_folder(tmp_path):
            assert theirs.is_dir()
        other.kill()
    with session_folder(tmp_path):
        assert not theirs.exists()


def test_the_fastest_place_can_be_written_to() -> None:
    with session_folder(find_fastest_parent()) as folder:
        assert folder.is_dir()
