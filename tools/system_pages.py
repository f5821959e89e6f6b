"""Writes the job types of each system into its page: `python -m tools.system_pages` (`make docs`)."""

import re
from pathlib import Path
from typing import Any

from engine.catalogue import Job
from tools.new_job import ROOT, systems
from tools.reference import fleet
from tools.reference_text import phrase, table

SECTION = re.compile(r"(?<=^## Jobs\n\n).*?(?=^## )", re.MULTILINE | re.DOTALL)


def page_of(system: str) -> Path:
    """Where the page of a system is."""
    return ROOT / "docs" / "explanation" / f"{system}.md"


def system_of(job_type: Job[Any]) -> str:
    """The system in whose folder the handler is."""
    return job_type.handler.__module__.split(".")[1]


def redrawn(system: str, text: str) -> str:
    """The page's text with the job types of today; raises `ValueError` without a section for them."""
    rows = [[f"`{one.name}`", _summary(one)] for one in fleet() if system_of(one) == system]
    jobs = table(["job type", "what it does"], rows) if rows else "None: people and services act."
    found, times = SECTION.subn(lambda _: f"{jobs}\n\n", text)
    if times != 1:
        raise ValueError(f"{page_of(system)} has {times} sections named Jobs")
    return found


def _summary(job_type: Job[Any]) -> str:
    """The first sentence of what the handler does."""
    return phrase(job_type.handler.__doc__).partition(". ")[0].removesuffix(".")


def main() -> None:
    """Write the pages."""
    for system in systems(ROOT):
        page = page_of(system)
        page.write_text(redrawn(system, page.read_text()))


if __name__ == "__main__":
    main()
