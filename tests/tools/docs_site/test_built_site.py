"""The site is built without a warning, and nothing in it makes a browser call another host."""

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.house.reading import ROOT
from tests.tools.environments import python_of

SOURCES = ("script", "img", "iframe", "source", "video", "audio", "embed")
FETCHED = {(tag, "src") for tag in SOURCES}
FETCHED |= {("link", "href"), ("img", "srcset"), ("source", "srcset"), ("object", "data"), ("form", "action")}
NOT_FETCHED = {"canonical", "prev", "next", "edit", "alternate"}
"""What a `<link>` is that no browser loads."""
FOREIGN = re.compile(r"^(https?:)?//")
IN_STYLE = re.compile(r"(?:url\(\s*[\"']?|@import\s+[\"'])((?:https?:)?//[^\"')\s]+)")


class Fetched(HTMLParser):
    """Collects the addresses that a browser asks for when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and set((given.get("rel") or "").split()) & NOT_FETCHED:
            return
        self.found += [value for name, value in attrs if value and (tag, name) in FETCHED]
        self.found += IN_STYLE.findall(given.get("style") or "")


def foreign(text: str) -> list[str]:
    """The addresses of other hosts that a page or a style makes a browser ask for."""
    parser = Fetched()
    parser.feed(text)
    return [address for address in parser.found if FOREIGN.match(address)] + IN_STYLE.findall(text)


def test_a_foreign_host_would_be_found() -> None:
    assert foreign('<img src="//a.example/x"><a href="https://b.example">b</a>') == ["//a.example/x"]
    assert foreign('<link rel="stylesheet" href="https://a.example/x">') == ["https://a.example/x"]
    assert foreign('<link rel="canonical" href="https://a.example/x"><script src="a.js"></script>') == []
    assert foreign("@font-face { src: url('https://a.example/x') }") == ["https://a.example/x"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("built") / "site"
    done = subprocess.run(  # noqa: S603  # our own tool
        [str(python_of("site")), "-m", "tools.docs_site", str(built)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    return built


def test_each_page_is_in_the_site(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    made = {path.relative_to(site) for path in site.rglob("*.html")}
    renamed = {page.with_name("index.html") if page.name == "README.html" else page for page in pages}
    assert renamed <= made


def test_no_page_and_no_style_calls_another_host(site: Path) -> None:
    read = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert {(path.name, address) for path in read for address in foreign(path.read_text())} == set()


def test_the_search_knows_what_pages_say(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text()
    assert "explanation/life-of-a-job.html" in index
    assert "uuidv7" in index
