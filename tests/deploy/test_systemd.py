"""The systemd units: systemd's own parser takes them, and finds little that their processes could do."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.deployment import DEPLOY, SYSTEMD
from tests.written_pages import DOCS, Page

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
UNITS = DEPLOY / "systemd"
THRESHOLD = 20
"""Tenths of systemd's measure of exposure, from 0 to 100; without hardening these units have 85."""
WELL_KNOWN = "/lib/systemd/system"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The units as on a machine whose environment is the one of the tests."""
    shutil.copytree(UNITS, tmp_path / "units")
    for unit in (tmp_path / "units").glob("*.service"):
        unit.write_text(unit.read_text().replace("/opt/postroom/.venv/bin", str(Path(sys.executable).parent)))
    return tmp_path / "units"


def instances() -> list[str]:
    """The units that the target wishes."""
    target = (UNITS / "postroom.target").read_text()
    return re.findall(r"^Wants=(postroom\S+)$", target, re.MULTILINE)


def analyze(folder: Path, *words: str) -> tuple[int, str]:
    """Status and words of `systemd-analyze`, which knows the units of this folder and systemd's own."""
    environment: Mapping[str, str] = {**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:{WELL_KNOWN}"}
    done = subprocess.run(  # noqa: S603  # words of this module
        ["systemd-analyze", *words],  # noqa: S607  # systemd's own
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_systemd_takes_every_unit(installed: Path) -> None:
    assert analyze(installed, "verify", "postroom.target", *instances()) == (0, "")


def test_a_line_that_systemd_does_not_know_would_be_found(installed: Path) -> None:
    unit = installed / "postroom-gateway.service"
    unit.write_text(unit.read_text().replace("WatchdogSec", "WatchdogSecs"))
    status, said = analyze(installed, "verify", unit.name)
    assert (status, "WatchdogSecs" in said) != (0, False)


@pytest.mark.parametrize("unit", instances())
def test_a_process_may_do_little_beside_its_work(unit: str, installed: Path) -> None:
    status, said = analyze(installed, "security", "--offline=yes", "--no-pager", f"--threshold={THRESHOLD}", unit)
    assert status == 0, said


def test_artifacts_may_lie_in_another_folder_by_the_drop_in_of_the_page(installed: Path) -> None:
    """The hardening closes every folder but the store's own; the page's lines open one more, and nothing else."""
    page = Page(DOCS / "howto" / "run-in-production.md")
    (lines,) = page.code("ini")
    (path,) = re.findall(r"`/etc/systemd/system/(\S+\.d/\S+)`", page.text)
    assert (installed / path).parent == (installed / "postroom-.service.d")
    (installed / path).write_text(lines)
    assert analyze(installed, "verify", "postroom.target", *instances()) == (0, "")
    security = ("security", "--offline=yes", "--no-pager", f"--threshold={THRESHOLD}")
    for unit in ("postroom-gateway.service", "postroom-migrate.service", "postroom-worker@default.service"):
        assert analyze(installed, *security, unit)[0] == 0, unit
    (installed / path).write_text(lines.replace("ReadWritePaths", "ReadWritePath"))
    assert analyze(installed, "verify", "postroom.target", *instances()) != (0, "")


def test_a_unit_that_may_do_much_would_be_found(installed: Path) -> None:
    shutil.rmtree(installed / "postroom-.service.d")
    status, _ = analyze(
        installed, "security", "--offline=yes", "--no-pager", f"--threshold={THRESHOLD}", "postroom-gateway.service"
    )
    assert status != 0


def test_every_file_of_the_folder_is_looked_at() -> None:
    assert {name.partition("@")[0].removesuffix(".service") for name in instances()} | {"postroom"} == {
        unit.stem.rstrip("@") for unit in SYSTEMD
    }
