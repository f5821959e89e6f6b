"""The site's navigation, read off the index `docs/README.md`: its headings, and the pages to which each links."""

import re
from collections.abc import Iterator

INDEX = "README.md"
SECTION = re.compile(r"^## (?P<title>.+)\n(?P<text>(?:(?!## ).*\n?)*)", re.MULTILINE)
PART = re.compile(r"^### (?P<title>.+)$", re.MULTILINE)
LINK = re.compile(r"\[(?P<title>[^\]]+)\]\((?P<page>[^)\s#:]+\.md)\)")

Navigation = list[dict[str, "str | Navigation"]]
"""As MkDocs takes it: by each title a page, or a list of the same kind."""


def navigation(index: str) -> Navigation:
    """The index's sections in its order, and before them the index itself."""
    sections: Navigation = [{found["title"]: section(found["text"])} for found in SECTION.finditer(index)]
    return [{"Documentation": INDEX}, *sections]


def section(text: str) -> Navigation:
    """The pages that a section links to, and its parts with theirs."""
    before, *parts = PART.split(text)
    titles, texts = parts[::2], parts[1::2]
    found = list(pages(before))
    for title, each in zip(titles, texts, strict=True):
        found.append({title: list(pages(each))})
    return found


def pages(text: str) -> Iterator[dict[str, "str | Navigation"]]:
    """Each page that a text links to, by the words of the link; a page of the repository beside docs/ is left out."""
    for link in LINK.finditer(text):
        if not link["page"].startswith("../"):
            yield {re.sub(r"\s+", " ", link["title"]).replace("`", ""): link["page"]}


def named(found: Navigation) -> Iterator[str]:
    """Every page of a navigation."""
    for entry in found:
        for page in entry.values():
            yield from [page] if isinstance(page, str) else named(page)
