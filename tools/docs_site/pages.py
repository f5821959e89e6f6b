"""The pages as the site has them: those of docs/, and what they link to of the rest of the repository.

The pages are written for GitHub. Links are written anew where the site has another place for their target, and lines
inside lists are indented by four spaces, as MkDocs' reader of Markdown wants it.
"""

import posixpath
import re
import shutil
from pathlib import Path

from tests.written_pages import FENCE

DOCS, BESIDE = "docs", "repository"
"""The folder of the pages in the repository, and of everything else in the site."""
ALWAYS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
SHOWN = {".md", ".png", ".svg", ".webp"}
"""Files that a browser shows as what they are; it shows any other as text, by one more suffix."""
LINK = re.compile(r'(?P<before>\[(?P<text>[^\]]*)\]\(|(?:src|srcset|href)=")(?P<target>[^)\s"]+)(?P<after>\)|")')
IN_LIST = re.compile(r"^   (?= *\S)", re.MULTILINE)
DIAGRAM = "```mermaid\n"
VENDOR = "vendor"
MERMAID = f"{VENDOR}/mermaid-tiny-11.17.2.js"
"""Of npm's @mermaid-js/tiny, unchanged; the theme takes it from a foreign host where a page has none."""


def place_of(path: str) -> str:
    """Where the site has a file of the repository."""
    if path.startswith(f"{DOCS}/"):
        return path.removeprefix(f"{DOCS}/")
    return f"{BESIDE}/{path}" if Path(path).suffix in SHOWN else f"{BESIDE}/{path}.txt"


class Pages:
    """The files of the site, made of a checkout."""

    def __init__(self, root: Path) -> None:
        """Of a checkout's folder."""
        self.root = root
        self.texts: dict[str, str] = {}
        """Each page's text by its path in the repository."""
        self.files: set[str] = set()
        """The paths of all other files that pages link to."""

    def gather(self) -> None:
        """Read the pages of docs/, and all that they, and the pages beside docs/, lead to."""
        found = sorted((self.root / DOCS).rglob("*"))
        waiting = [str(path.relative_to(self.root)) for path in found if path.is_file()] + list(ALWAYS)
        while waiting:
            path = waiting.pop()
            if path in self.texts or path in self.files:
                continue
            if not path.endswith(".md"):
                self.files.add(path)
                continue
            linked: list[str] = []
            self.texts[path] = self._for_the_site(path, linked)
            waiting += linked

    def beside(self) -> list[str]:
        """The places of the pages that are not of docs/: the README first."""
        paths = [path for path in self.texts if not path.startswith(f"{DOCS}/")]
        return [
            place_of(path) for path in sorted(paths, key=lambda path: (path not in ALWAYS, path != ALWAYS[0], path))
        ]

    def write(self, folder: Path) -> None:
        """Write all into a folder, and with it what others have written for browsers."""
        for path, text in self.texts.items():
            _made(folder / place_of(path)).write_text(text, encoding="utf-8")
        for path in self.files:
            shutil.copyfile(self.root / path, _made(folder / place_of(path)))
        shutil.copytree(Path(__file__).parent / VENDOR, folder / VENDOR, dirs_exist_ok=True)

    def _for_the_site(self, path: str, linked: list[str]) -> str:
        text = self.root.joinpath(path).read_text(encoding="utf-8")
        parts, end = [], 0
        for fence in FENCE.finditer(text):
            parts += [self._prose(path, text[end : fence.start()], linked)]
            parts += [IN_LIST.sub("    ", fence[0]) if fence["indent"] else fence[0]]
            end = fence.end()
        written = "".join([*parts, self._prose(path, text[end:], linked)])
        if DIAGRAM in text:
            written += f'\n<script src="{_from_to(place_of(path), MERMAID)}"></script>\n'
        return written

    def _prose(self, path: str, text: str, linked: list[str]) -> str:
        """Text without blocks of code; the files that it links to are added to `linked`."""

        def anew(link: re.Match[str]) -> str:
            file, hash_sign, anchor = link["target"].partition("#")
            if not file or ":" in file:
                return link[0]
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
            if not (self.root / target).is_file():
                return link["text"] or link[0]  # a folder, which the site does not show
            linked.append(target)
            relative = _from_to(place_of(path), place_of(target))
            return f"{link['before']}{relative}{hash_sign}{anchor}{link['after']}"

        return LINK.sub(anew, IN_LIST.sub("    ", text))


def _from_to(page: str, target: str) -> str:
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
