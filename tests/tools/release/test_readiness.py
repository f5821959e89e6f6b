"""A commit that lacks something is not released, and each thing that is missing is named."""

import subprocess
from pathlib import Path

import pytest

from tools.release.readiness import lacks, upgrade_page, version_of

WORDS = {
    "files differ from the commit": "status",
    "the commit has no tag v0.2.0": "tag",
    "CHANGELOG.md has no section": "changes",
    "docs/upgrades/0.2.md is missing": "upgrade",
}


def git(folder: Path, *words: str) -> None:
    """Run git as somebody."""
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)  # noqa: S603, S607  # git, wherever it is


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "Change it")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A commit that can be released."""
    (tmp_path / "docs/upgrades").mkdir(parents=True)
    (tmp_path / "docs/upgrades/0.2.md").write_text("# Upgrade to 0.2\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n\n## [0.2.0] - 2027-01-31\n")
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    git(tmp_path, "tag", "v0.2.0")
    return tmp_path


def missing(checkout: Path) -> set[str]:
    """What is missing, by a word each."""
    return {WORDS[words.partition(":")[0]] for words in lacks(checkout, version_of(checkout))}


def test_a_commit_that_lacks_nothing_is_released(checkout: Path) -> None:
    assert missing(checkout) == set()


def test_a_file_that_differs_is_named(checkout: Path) -> None:
    (checkout / "new.py").write_text("")
    assert missing(checkout) == {"status"}


def test_a_tag_of_another_commit_does_not_count(checkout: Path) -> None:
    (checkout / "new.py").write_text("")
    commit(checkout)
    assert missing(checkout) == {"tag"}


@pytest.mark.parametrize("title", ["[Unreleased]", "[0.2.0]", "[0.2.1] - 2027-01-31", "[0x2.0] - 2027-01-31"])
def test_a_section_without_version_or_day_does_not_count(checkout: Path, title: str) -> None:
    (checkout / "CHANGELOG.md").write_text(f"## {title}\n")
    assert missing(checkout) == {"status", "changes"}


def test_a_release_without_a_page_on_its_upgrade_is_named(checkout: Path) -> None:
    git(checkout, "rm", "-q", "docs/upgrades/0.2.md")
    git(checkout, "commit", "-q", "-m", "Lose it")
    assert missing(checkout) == {"tag", "upgrade"}


def test_all_patches_of_a_version_have_one_page() -> None:
    assert upgrade_page("0.1.0") == upgrade_page("0.1.7") == "docs/upgrades/0.1.md"
