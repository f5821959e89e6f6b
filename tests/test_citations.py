"""Every reason that code or SQL cites stands in the documentation: `(docs: gmail.md#drafts)`."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.reading import ROOMS, ROOT, SINGLE_FILES
from tests.written_pages import DOCS, Page

CITATION = re.compile(r"\bdocs: (?P<page>[\w-]+\.md)(?:#(?P<anchor>[\w-]+))?")
BY_PATH = re.compile(r"\bdocs/[\w/-]+\.md\b")
FROM_ELSEWHERE = re.compile(
    r"(?<![\w-])(?:(?:providers|spec|house|style|matrix|findings|peers)\.md"
    r"|spec(?:ification)? section|spec §|SPEC-\d+|seed \d{3})\b",
    re.IGNORECASE,
)
"""References to documents that are not in the repository."""

WRITTEN = ("*.py", "*.sql", "*.toml", "*.yml", "*.yaml", "*.service", "*.env")
HERE = Path(__file__)


def cited_from() -> Iterator[Path]:
    """Every file of code, SQL or configuration that people write."""
    rooms = [ROOT / name for name in (*ROOMS, "deploy", ".ci")]
    yield from (path for room in rooms for pattern in WRITTEN for path in sorted(room.rglob(pattern)) if path != HERE)
    yield from (ROOT / f"{name}.py" for name in SINGLE_FILES)
    yield from (ROOT / name for name in ("Makefile", "pyproject.toml", "docker-compose.yml"))


def pages_by_name() -> dict[str, Page]:
    """Every page of docs/ under its file name, which a citation gives without its folder."""
    return {path.name: Page(path) for path in DOCS.rglob("*.md") if path.name != "README.md"}


def unresolved(text: str, pages: dict[str, Page]) -> Iterator[str]:
    """What is wrong with the citations of a text."""
    for found in CITATION.finditer(text):
        page = pages.get(found["page"])
        if page is None:
            yield f"{found.group()}: docs/ has no page {found['page']}"
        elif found["anchor"] and found["anchor"] not in page.anchors() | page.numbers():
            yield f"{found.group()}: {page.name} has no heading and no row #{found['anchor']}"
    for found in BY_PATH.finditer(text):
        if not (ROOT / found.group()).exists():
            yield f"{found.group()}: there is no such page"
    for found in FROM_ELSEWHERE.finditer(text):
        yield f"{found.group()}: is not in the repository; cite a page of docs/ as (docs: page.md#heading)"


def test_every_citation_resolves() -> None:
    pages = pages_by_name()
    wrong = [
        f"{path.relative_to(ROOT)}: {said}" for path in cited_from() for said in unresolved(path.read_text(), pages)
    ]
    assert not wrong, "\n" + "\n".join(wrong)


def test_there_are_citations_in_python_and_in_sql() -> None:
    citing = {path.suffix for path in cited_from() if CITATION.search(path.read_text())}
    assert citing >= {".py", ".sql"}


def test_no_two_pages_share_a_name() -> None:
    names = [path.name for path in DOCS.rglob("*.md") if path.name != "README.md"]
    assert sorted(names) == sorted(set(names)), "a citation names a page without its folder"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(docs: nowhere.md)", "has no page nowhere.md"),
        ("(docs: gmail.md#nowhere)", "#nowhere"),
        ("(docs: seeds.md#000-999)", "#000-999"),
        ("see docs/explanation/nowhere.md", "there is no such page"),
        ("(providers.md 1.6)", "is not in the repository"),
        ("Spec section 2", "is not in the repository"),
        ("seed 004's default", "is not in the repository"),
        ("as SPEC-026 says", "is not in the repository"),
    ],
)
def test_a_citation_that_leads_nowhere_is_found(text: str, words: str) -> None:
    (complaint,) = unresolved(text, pages_by_name())
    assert words in complaint


def test_a_citation_that_resolves_passes() -> None:
    assert list(unresolved("(docs: gmail.md#drafts; docs: promises.md; docs: seeds.md#000-5)", pages_by_name())) == []
