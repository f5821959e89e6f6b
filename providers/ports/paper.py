"""The port behind which plans become pages."""

from dataclasses import dataclass
from typing import Protocol

from domain.planning.files.plan_paper import PlanPaper


@dataclass(frozen=True, slots=True)
class Pages:
    """A file for a printer, and the characters that no font has: the pages show a box for each."""

    pdf: bytes
    unprinted: tuple[str, ...] = ()


class Printer(Protocol):
    """Makes a PDF of a plan. The same plan makes the same bytes, in each process."""

    def print_plan(self, paper: PlanPaper) -> Pages:
        """The pages; raises `Invalid` for a plan that is too long for paper."""
        ...
