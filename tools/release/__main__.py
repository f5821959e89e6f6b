"""`python -m tools.release [--draft]` (`make release`, `DRAFT=1`): makes `dist/` anew from the commit.

Ends with status 1, and makes nothing, where the commit lacks something; a draft lacks what it likes.
"""

import shutil
import sys
from pathlib import Path

from tools.release.artifacts import SUMS, make
from tools.release.readiness import lacks, version_of

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str]) -> int:
    """Make the release, and say what it is made of; returns the exit status."""
    missing = [] if "--draft" in arguments else list(lacks(ROOT, version_of(ROOT)))
    for words in missing:
        sys.stderr.write(f"make release: {words}\n")
    if missing:
        return 1
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    make(ROOT, dist)
    sys.stdout.write((dist / SUMS).read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
