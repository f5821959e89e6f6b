"""The files of a release. They depend on the commit alone: neither folder, nor clock, nor user is in them.

They are built from the commit's files, exported into a folder that is gone afterwards; times are the commit's.
"""

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.release.readiness import said, version_of

PROJECTS = (".", "clients/python")
"""Folders of which each has a wheel and a source archive, where it is there: the fleet and the services' client."""
IMAGE_LOCKS = "deploy/locks"
IMAGE = "full"
"""The lock of the larger image, whose packages the bill of materials lists."""
SUMS = "SHA256SUMS"
RIGHTS = 0o022
"""The mask for new files: a wheel keeps the rights of the files that it is made of."""


def make(root: Path, dist: Path) -> None:
    """Make all files of the checkout's commit in an empty folder; raises `CalledProcessError` where a step fails."""
    moment = int(said(root, "show", "--no-patch", "--format=%ct", "HEAD"))
    dist.mkdir(parents=True)
    with TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        export(root, source)
        for project in PROJECTS:
            if (source / project / "pyproject.toml").exists():
                build(source / project, dist, moment)
        name = f"postroom-{version_of(source)}"
        for lock in sorted((source / IMAGE_LOCKS).glob("*.lock")):
            shutil.copyfile(lock, dist / f"{name}-image-{lock.name}")
        list_materials(source, dist / f"{name}-image-{IMAGE}.cdx.json", moment)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(dist.iterdir())]
    (dist / SUMS).write_text("".join(lines), encoding="utf-8")


def export(root: Path, folder: Path) -> None:
    """Write the commit's files, with the same modes everywhere."""
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=root, check=True, stdout=subprocess.PIPE).stdout  # noqa: S607  # git, wherever it is
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")


def build(source: Path, dist: Path, moment: int) -> None:
    """Build the wheel and the source archive of a project, by the packages of this environment alone."""
    run(source, moment, "build", "--no-isolation", "--wheel", "--sdist", "--outdir", str(dist.resolve()), ".")
    for archive in dist.glob("*.tar.gz"):
        settle(archive, moment)


def list_materials(source: Path, target: Path, moment: int) -> None:
    """Write the bill of materials of the image's Python packages (CycloneDX)."""
    words = ("requirements", f"{IMAGE_LOCKS}/{IMAGE}.lock", "--pyproject", "pyproject.toml", "--output-reproducible")
    run(source, moment, "cyclonedx_py", *words, "--output-format", "JSON", "--output-file", str(target.resolve()))


def run(folder: Path, moment: int, *words: str) -> None:
    """Run a module of this environment with nothing of the caller's but the folder."""
    environment = {"SOURCE_DATE_EPOCH": str(moment), "PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    command = [sys.executable, "-P", "-m", *words]
    quiet = subprocess.DEVNULL
    subprocess.run(command, cwd=folder, env=environment, umask=RIGHTS, check=True, stdout=quiet)  # noqa: S603  # our own words


def settle(packed: Path, moment: int) -> None:
    """Write a source archive anew in one order, without times, owners and modes: setuptools keeps the machine's."""
    with tarfile.open(packed) as archive:
        files = {member.name: archive.extractfile(member) for member in archive}
        contents = [(name, file.read()) for name, file in sorted(files.items()) if file is not None]
    with (
        packed.open("wb") as written,
        gzip.GzipFile("", "wb", fileobj=written, mtime=moment) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as archive,
    ):
        for name, content in contents:
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), moment
            archive.addfile(member, io.BytesIO(content))
