"""The pages as data: their links, their code, their anchors, for the tests of the documentation."""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.house.reading import ROOT

DOCS = ROOT / "docs"
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
ROW_NUMBER = re.compile(r"^\| (\d{3}-\d+) \|", re.MULTILINE)
HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """One Markdown file."""

    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text()

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT)) if self.path.is_relative_to(ROOT) else self.path.name

    def code(self, language: str) -> list[str]:
        """Its blocks of one language, without their indent."""
        blocks = [(found["language"], found["code"]) for found in FENCE.finditer(self.text)]
        return [textwrap.dedent(code) for kind, code in blocks if kind == language]

    def links(self) -> list[str]:
        """The targets of its links, code left out; those that lead out of the repository are left out, too."""
        found = [link["target"] for link in LINK.finditer(FENCE.sub("", self.text))]
        return [target for target in found if "://" not in target and not target.startswith("mailto:")]

    def spans(self) -> list[str]:
        """What stands in backticks in its text, its blocks of code left out."""
        return CODE.findall(FENCE.sub("", self.text))

    def paths(self) -> list[str]:
        """The spans that are paths inside the repository, those with a placeholder left out."""
        tops = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"build"}
        found = [span for span in self.spans() if "/" in span and span.partition("/")[0] in tops]
        return [span for span in found if not re.search(r"[<*…\s]", span)]

    def anchors(self) -> set[str]:
        """What a link to a heading of the page may name, as GitHub makes it."""
        return {
            re.sub(r"[^\w\- ]", "", heading["text"].lower()).replace(" ", "-")
            for heading in HEADING.finditer(FENCE.sub("", self.text))
        }

    def numbers(self) -> set[str]:
        """The numbers of its rows: a row of a table may be cited, too."""
        return set(ROW_NUMBER.findall(self.text))


def all_pages() -> list[Page]:
    """README, contributing, changelog, the clients' pages, and everything under docs, deploy and examples."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    top += sorted((ROOT / "clients").glob("*/README.md"))
    folders = (DOCS, ROOT / "deploy", ROOT / "examples")
    return [Page(path) for path in (*top, *(path for folder in folders for path in sorted(folder.rglob("*.md"))))]


def broken_links(page: Page) -> Iterator[str]:
    """What is wrong with a page's links, in words."""
    for target in page.links():
        file, _, anchor = target.partition("#")
        path = (page.path.parent / file).resolve() if file else page.path
        if not path.exists():
            yield f"{page.name} links to {target}, and there is no {file}"
        elif anchor and anchor not in Page(path).anchors():
            yield f"{page.name} links to {target}, and that page has no such heading"
