"""`python -m tools.docs_site [FOLDER]`: gathers the pages and builds the site, by default in `build/site`.

Ends with status 1 where MkDocs has a warning: a link or an anchor that leads nowhere, a page that the index lacks.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from tools.docs_site.navigation import Navigation, navigation
from tools.docs_site.pages import DOCS, Pages

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = Path(__file__).with_name("mkdocs.yml")


def prepare(root: Path, folder: Path) -> Path:
    """Write the pages and MkDocs' configuration of a checkout into a folder; returns the configuration's path."""
    pages = Pages(root)
    pages.gather()
    pages.write(folder / "pages")
    beside: Navigation = [{page.removeprefix("repository/"): page} for page in pages.beside()]
    index = pages.texts[f"{DOCS}/README.md"]
    made = yaml.safe_dump({"nav": [*navigation(index), {"Repository": beside}]}, allow_unicode=True, sort_keys=False)
    configuration = folder / "mkdocs.yml"
    configuration.write_text(f"{CONFIGURATION.read_text(encoding='utf-8')}{made}", encoding="utf-8")
    return configuration


def main(arguments: list[str]) -> int:
    """Build the site; returns MkDocs' exit status."""
    site = Path(*arguments[:1]) if arguments else ROOT / "build" / "site"
    prepared = site.with_name(f"{site.name}-pages")
    for folder in (site, prepared):
        shutil.rmtree(folder, ignore_errors=True)
    prepared.mkdir(parents=True)
    words = ["build", "--quiet", "--strict", "--config-file", str(prepare(ROOT, prepared))]
    command = [sys.executable, "-m", "mkdocs", *words, "--site-dir", str(site.resolve())]
    return subprocess.run(command, check=False).returncode  # noqa: S603  # our own words


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
