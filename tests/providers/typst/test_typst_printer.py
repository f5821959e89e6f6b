"""What stands on the pages is the plan: all of it, as text, with a head on each page, and the same bytes each time."""

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID
from zoneinfo import ZoneInfo

import pypdfium2
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.planning.files.plan_paper import HEAD, PlannedSlot, PlanPaper
from domain.planning.model import Span
from providers.typst.printer import TypstPrinter
from tests.house.reading import ROOT
from tools.plan_picture import PICTURE, as_png, made_up_plan, pixels_of, render

BEGIN = datetime(2026, 3, 27, tzinfo=UTC)
PRINTER = TypstPrinter()


def planned(number: int, name: str = "slot", people: Sequence[str] = (), headcount: int = 1) -> PlannedSlot:
    start = BEGIN + timedelta(hours=number)
    inside = tuple((UUID(int=index), person) for index, person in enumerate(people))
    return PlannedSlot(UUID(int=number), name, Span(start, start + timedelta(hours=1)), headcount, people=inside)


def paper(*slots: PlannedSlot) -> PlanPaper:
    return PlanPaper("Plan", slots, ZoneInfo("Europe/Berlin"), "12", BEGIN)


def texts(pdf: bytes) -> list[str]:
    """The text of each page, as a reader copies it, in words."""
    document = pypdfium2.PdfDocument(pdf)
    return [" ".join(page.get_textpage().get_text_range().split()) for page in document]


def test_the_text_of_the_pages_is_the_plan() -> None:
    plan = made_up_plan()
    (text,) = texts(PRINTER.print_plan(plan).pdf)
    words = plan.as_json()
    wanted = [str(words["title"]), str(words["subtitle"]), str(words["footer"]), "page 1 of 1", " ".join(HEAD)]
    for day in words["days"]:
        wanted.append(day["name"])
        wanted += [f"{row['time']} {row['slot']}" for row in day["rows"]]
        wanted += [row["open"] for row in day["rows"]]
        wanted += [person for row in day["rows"] for person in row["people"]]
    assert [one for one in wanted if one not in text] == []
    assert "2026" in text


def test_each_page_has_the_head_its_number_and_the_zone() -> None:
    slots = [planned(number, f"slot {number}") for number in range(130)]
    pages = texts(PRINTER.print_plan(paper(*slots)).pdf)
    assert len(pages) == 4
    for number, text in enumerate(pages, start=1):
        assert text.count(" ".join(HEAD)) == 1
        assert f"page {number} of 4" in text
        assert "Times by the clocks of Europe/Berlin. Revision 12, made 01:00 on Friday, 27 March 2026." in text
        assert re.search(r"(Friday|Saturday|Sunday|Monday|Tuesday|Wednesday), \d+ (March|April) 2026 \d\d:\d\d", text)
    assert re.findall(r"slot (\d+)\b", " ".join(pages)) == [str(number) for number in range(130)]


def test_the_same_plan_is_the_same_bytes_in_each_process() -> None:
    script = (
        "import hashlib\n"
        "from providers.typst.printer import TypstPrinter\n"
        "from tools.plan_picture import made_up_plan\n"
        "print(hashlib.sha256(TypstPrinter().print_plan(made_up_plan()).pdf).hexdigest())"
    )
    command = [sys.executable, "-c", script]
    first, second = (
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout  # noqa: S603  # the arguments are constants
        for _ in range(2)
    )
    assert first == second
    plan = made_up_plan()
    assert PRINTER.print_plan(plan) == PRINTER.print_plan(replace(plan, slots=plan.slots[::-1]))


@pytest.mark.parametrize(
    "name",
    [
        "*bold* _it_ $x^2$ `code` #let",
        '#read("/etc/passwd")',
        '#import "@preview/cetz:0.3.0"',
        "<b>&amp;</b>",
        "= heading",
        "\\u{41}",
        '"]}',
        "line\nbreak",
        "",
    ],
)
def test_names_are_text_and_never_markup(name: str) -> None:
    (text,) = texts(PRINTER.print_plan(paper(planned(1, f"{name} end", ["Ana"]))).pdf)
    assert " ".join(f"{name} end".split()) in text


@pytest.mark.parametrize("name", ["Łukasz Żółć", "Μαρία Παπαδοπούλου", "Жанна Щукина", "Zoë", "Zoe\u0308", "Đặng Thị"])
def test_latin_greek_and_cyrillic_are_in_the_fonts_of_the_package(name: str) -> None:
    pages = PRINTER.print_plan(paper(planned(1, people=[name])))
    assert pages.unprinted == ()
    assert name[0] in texts(pages.pdf)[0]


def test_a_character_that_no_font_has_is_found_and_said() -> None:
    """Without that the pages would leave the name out, and nobody would know."""
    pages = PRINTER.print_plan(paper(planned(1, people=["田中", "Ana 😀"])))
    assert pages.unprinted == ("中", "田", "😀")
    (text,) = texts(pages.pdf)
    assert "U+4E2D, U+7530, U+1F600." in text
    assert text.count("□") == 3


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=3))
@example(["\ue000", "\uf8ff", "a\ue000b"])
@example(["a\u20e3b \u25a1\u20e3", "\x85\x07", "\ufffe", "\u2028"])
def test_every_name_is_printed_or_said_to_be_unprinted(names: list[str]) -> None:
    pages = PRINTER.print_plan(paper(planned(1, "".join(names), names)))
    assert set(pages.unprinted) <= set("".join(names)) | {"\u25a1"}


def test_a_name_from_right_to_left_turns_nothing_around_it() -> None:
    """The number of open places stays on its side, and characters that turn the text are not printed."""
    (text,) = texts(PRINTER.print_plan(paper(planned(1, people=["مريم"], headcount=3))).pdf)
    assert "2 open" in text
    (text,) = texts(PRINTER.print_plan(paper(planned(1, "a\u202eb", ["Ana\u2066"]))).pdf)
    assert "ab" in text
    assert not set(text) & {"\u202e", "\u2066"}


def test_an_empty_plan_says_so() -> None:
    (text,) = texts(PRINTER.print_plan(paper()).pdf)
    assert "There are no slots." in text


def test_five_thousand_slots_have_all_their_pages() -> None:
    slots = [planned(number, f"slot {number}", ["Ana"]) for number in range(5_000)]
    pages = texts(PRINTER.print_plan(paper(*slots)).pdf)
    assert f"page 1 of {len(pages)}" in pages[0]
    assert "slot 4999" in pages[-1]


def test_pages_are_tagged_for_readers() -> None:
    pdf = PRINTER.print_plan(made_up_plan()).pdf
    assert b"/MarkInfo" in pdf
    assert b"/StructTreeRoot" in pdf


def test_a_template_reads_nothing_outside_its_folder(tmp_path: Path) -> None:
    """The template's own root is its folder; what a plan says is never a path."""
    secret = tmp_path / "secret.txt"
    secret.write_text("not for paper")
    (text,) = texts(PRINTER.print_plan(paper(planned(1, str(secret), [f'#read("{secret}")']))).pdf)
    assert "not for paper" not in text


def test_the_picture_in_the_docs_is_the_first_page() -> None:
    """After a change: python -m tools.plan_picture."""
    picture = render(PRINTER.print_plan(made_up_plan()).pdf)
    assert pixels_of(PICTURE.read_bytes()) == pixels_of(as_png(picture)) == picture.pixels
    assert len(set(picture.pixels)) > 50, "something is on it"
