"""What a commit lacks to be released: a tag, a section of the changelog, a page for those who upgrade."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path


def version_of(root: Path) -> str:
    """The version of the fleet, whose one place is `pyproject.toml`."""
    return str(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def upgrade_page(version: str) -> str:
    """The page on the upgrade to a version: one for all patches of it."""
    return f"docs/upgrades/{version.rpartition('.')[0]}.md"


def lacks(root: Path, version: str) -> Iterator[str]:
    """Everything that is missing in a checkout, each with what to do about it."""
    if said(root, "status", "--porcelain"):
        yield "files differ from the commit: commit them, or put them away"
    tag = f"v{version}"
    if tag not in said(root, "tag", "--points-at", "HEAD").splitlines():
        yield f"the commit has no tag {tag}: git tag -a {tag} -m 'Release {version}'"
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        yield f"CHANGELOG.md has no section: give Unreleased the title [{version}] and the day, and begin a new one"
    if not (root / upgrade_page(version)).exists():
        yield f"{upgrade_page(version)} is missing: write it as docs/upgrades/0.1.md is written"


def said(root: Path, *words: str) -> str:
    """What git says of a checkout; raises `CalledProcessError` where it is none."""
    done = subprocess.run(["git", *words], cwd=root, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603, S607  # git, wherever it is
    return done.stdout
