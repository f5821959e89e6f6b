"""Plans as PDF by Typst, behind our port. Its package takes 80 MB: load this module on demand."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import typst

from domain.exchange.plan_paper import PlanPaper
from domain.jobs.failures import Permanent
from providers.ports.paper import Pages

TEMPLATES = Path(__file__).parent
"""The root of what a template can read: no other file, and no package."""
STANDARD: Literal["a-2a"] = "a-2a"
"""PDF/A-2a: tagged for readers, and refused with the characters that no font has; otherwise they would be left out."""
UNPRINTED = re.compile(r"the text `(\".*?\")` could not be displayed")
BOX = "\u25a1"
MOST_TRIES = 3
"""Without the characters of the first try there are none left; a mark and its letter may need another."""


class TypstPrinter:
    """Sets plans with the fonts of the package, and with those of further folders."""

    def __init__(self, font_folders: Sequence[Path] = ()) -> None:
        """Fonts of the machine are not taken: the same plan has to make the same bytes everywhere."""
        fonts = typst.Fonts(
            include_system_fonts=False, include_embedded_fonts=True, font_paths=[str(path) for path in font_folders]
        )
        self._compiler = typst.Compiler(
            TEMPLATES / "plan.typ", root=TEMPLATES, font_paths=fonts, ignore_system_fonts=True
        )

    def print_plan(self, paper: PlanPaper) -> Pages:
        """See `Printer`."""
        unprinted: tuple[str, ...] = ()
        for _ in range(MOST_TRIES):
            words = json.dumps(paper.as_json(unprinted, BOX), ensure_ascii=False, sort_keys=True)
            try:
                made = self._compiler.compile(
                    format="pdf", sys_inputs={"plan": words}, pdf_standards=STANDARD, timestamp=paper.made_at
                )
            except typst.TypstError as error:
                missing = {json.loads(text) for text in UNPRINTED.findall(error.diagnostic)}
                if not missing - set(unprinted):
                    # The message may have names of the plan in it.
                    raise Permanent("the pages cannot be made", code="typst.failed") from None
                unprinted = tuple(sorted({*unprinted, *missing}))
                continue
            if not isinstance(made, bytes):
                raise Permanent("the pages came as several files", code="typst.failed")
            return Pages(made, unprinted)
        raise Permanent("the pages have characters that no font has", code="typst.unprinted")
