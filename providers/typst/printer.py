"""Plans as PDF by Typst, behind our port. Its package takes 80 MB: load this module on demand."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Literal
from unicodedata import category

import typst

from domain.jobs.failures import Permanent
from domain.jobs.job import JsonObject
from domain.planning.files.plan_paper import PlanPaper
from providers.ports.paper import Pages

TEMPLATES = Path(__file__).parent
"""The root of what a template can read: no other file, and no package."""
STANDARD: Literal["a-2a"] = "a-2a"
"""PDF/A-2a: tagged for readers, and refused with the characters that no font has; otherwise they would be left out."""
UNPRINTED = re.compile(r"(?:the text|contains the codepoint) `\"((?:[^\"\\]|\\.)*)\"`")
"""What Typst says of text that no font has, and of characters for private use, which the standard forbids."""
ESCAPE = re.compile(r"\\u\{([0-9a-f]+)\}|\\(.)")
BOX = "\u25a1"
MOST_TRIES = 5
"""Each finds what the one before has left: a mark that stands on a box may have no glyph there."""


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
        unprinted: set[str] = set()
        for _ in range(MOST_TRIES):
            try:
                return Pages(
                    self._compile(paper.as_json(sorted(unprinted), BOX), paper.made_at), tuple(sorted(unprinted))
                )
            except typst.TypstError as error:
                found = self._missing(error, paper) - unprinted
            if not found:
                break
            unprinted |= found
        # The message may have names of the plan in it.
        raise Permanent("the pages cannot be made", code="typst.failed")

    def _compile(self, words: JsonObject, made_at: datetime) -> bytes:
        plan = json.dumps(words, ensure_ascii=False, sort_keys=True)
        made = self._compiler.compile(
            format="pdf", sys_inputs={"plan": plan}, pdf_standards=STANDARD, timestamp=made_at
        )
        if not isinstance(made, bytes):
            raise Permanent("the pages came as several files", code="typst.failed")
        return made

    def _missing(self, error: typst.TypstError, paper: PlanPaper) -> set[str]:
        """The characters that an error is about: those that cannot stand alone, else the marks that stand on others."""
        told, alone = _told(error), set[str]()
        try:
            self._compile(replace(paper, title=" ".join(sorted(told)), subtitle="", slots=()).as_json(), paper.made_at)
        except typst.TypstError as refusal:
            alone = _told(refusal) & told
        return alone or {sign for sign in paper.text() if category(sign)[0] == "M"}


def _told(error: typst.TypstError) -> set[str]:
    return {sign for text in UNPRINTED.findall(error.diagnostic) for sign in _unescaped(text)}


def _unescaped(text: str) -> str:
    """Text that Rust has written with its escapes."""
    plain = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
    return ESCAPE.sub(lambda one: chr(int(one[1], 16)) if one[1] else plain.get(one[2], one[2]), text)
