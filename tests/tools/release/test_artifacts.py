"""A release made twice is the same, and the fleet's wheel has what production runs and nothing else."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
from configparser import ConfigParser
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.house.reading import ROOT, SINGLE_FILES
from tests.test_deploy import SHIPPED
from tests.tools.environments import python_of
from tools.release.readiness import said, version_of

VERSION = version_of(ROOT)
NAME = f"postroom-{VERSION}"
WHEEL = f"{NAME}-py3-none-any.whl"
DATA = f"{NAME}.dist-info"


def make(folder: Path, umask: int, **environment: str) -> Path:
    """Make a draft of this commit in a clone of its own; returns the folder of its files."""
    python = python_of("release")
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True, umask=umask)  # noqa: S603, S607  # git, wherever it is
    done = subprocess.run(  # noqa: S603  # our own tool
        [str(python), "-m", "tools.release", "--draft"],
        cwd=folder,
        env={**os.environ, **environment},
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "dist"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("one") / "postroom", 0o022)


@pytest.fixture(scope="module")
def again(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, later, in another folder, time zone and language, and with another mask of rights."""
    assert dist.exists()
    folder = tmp_path_factory.mktemp("another-folder") / "checkout"
    return make(folder, 0o077, TZ="Asia/Tokyo", LANG="C", SOURCE_DATE_EPOCH="0", PYTHONHASHSEED="7")


@pytest.fixture
def wheel(dist: Path) -> ZipFile:
    return ZipFile(dist / WHEEL)


def test_a_release_is_of_wheel_sources_locks_materials_and_their_sums(dist: Path) -> None:
    of_image = {f"{NAME}-image-{end}" for end in ("full.lock", "plain.lock", "full.cdx.json")}
    clients = {path.name for path in dist.glob("postroom_client-*")}
    assert {path.name for path in dist.iterdir()} - clients == {WHEEL, f"{NAME}.tar.gz", "SHA256SUMS", *of_image}
    assert len(clients) == (2 if (ROOT / "clients/python/pyproject.toml").exists() else 0)


def test_a_release_made_twice_has_the_same_bytes(dist: Path, again: Path) -> None:
    assert sums(dist) == sums(again)
    assert len(sums(dist)) == len(list(dist.iterdir()))


def sums(folder: Path) -> dict[str, str]:
    """The sum of each file."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_the_sums_are_those_of_the_files(dist: Path) -> None:
    lines = (dist / "SHA256SUMS").read_text().splitlines()
    listed = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert listed == {name: digest for name, digest in sums(dist).items() if name != "SHA256SUMS"}


def tracked() -> set[str]:
    """The files of this commit in the rooms that production runs."""
    names = said(ROOT, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    single = {f"{name}.py" for name in SINGLE_FILES}
    return {name for name in names if name in single or name.partition("/")[0] in SHIPPED}


def test_the_wheel_has_each_file_of_those_rooms_and_no_other(wheel: ZipFile) -> None:
    inside = {name for name in wheel.namelist() if not name.startswith(f"{DATA}/")}
    assert inside == tracked()


def test_the_wheel_adds_one_plugin_to_celery_and_it_is_named_as_we_are(wheel: ZipFile) -> None:
    points = ConfigParser()
    points.read_string(wheel.read(f"{DATA}/entry_points.txt").decode())
    assert list(points["celery.commands"]) == ["postroom"]
    assert list(points["console_scripts"]) == ["postroom"]


def test_the_wheel_says_that_it_belongs_in_an_environment_of_its_own(wheel: ZipFile) -> None:
    metadata = wheel.read(f"{DATA}/METADATA").decode()
    (summary,) = re.findall(r"^Summary: (.*)$", metadata, re.MULTILINE)
    assert "in an environment of its own" in summary
    assert f"\nVersion: {VERSION}\n" in metadata


def test_the_fleet_s_command_line_runs_from_the_wheel(dist: Path, tmp_path: Path) -> None:
    place = tmp_path / "installed"
    words = ("install", "--quiet", "--no-deps", "--no-index", "--target", str(place), str(dist / WHEEL))
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)  # noqa: S603  # our own words
    environment = {**os.environ, "PYTHONPATH": str(place)}
    look = "import commands.doctor, tasks, gateway; print(tasks.__file__)"
    for words_of_python in (["-c", look], [str(place / "bin" / "postroom"), "doctor", "--help"]):
        done = subprocess.run(  # noqa: S603  # our own program
            [sys.executable, *words_of_python], env=environment, cwd="/", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert str(place) in done.stdout or "Usage: postroom doctor" in done.stdout


def test_the_sources_have_no_time_but_the_commit_s_and_no_owner(dist: Path) -> None:
    with tarfile.open(dist / f"{NAME}.tar.gz") as archive:
        members = archive.getmembers()
    assert {f"{NAME}/pyproject.toml", f"{NAME}/PKG-INFO", f"{NAME}/tasks/__init__.py"} <= {one.name for one in members}
    assert len({one.mtime for one in members}) == 1
    assert {(one.uid, one.gid, one.uname, one.gname, one.mode) for one in members} == {(0, 0, "", "", 0o644)}


def test_the_materials_are_those_of_the_image(dist: Path) -> None:
    listed = json.loads((dist / f"{NAME}-image-full.cdx.json").read_text())
    pinned = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "deploy/locks/full.lock").read_text(), re.MULTILINE)
    assert listed["bomFormat"] == "CycloneDX"
    assert {(one["name"], one["version"]) for one in listed["components"]} == set(pinned)
    assert all(one["purl"].startswith("pkg:pypi/") for one in listed["components"])
    assert listed["metadata"]["component"]["name"] == "postroom"
