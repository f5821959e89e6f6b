"""Writes docs/pictures/plan.png: the first page of a made-up plan, as the printer would print it."""

import struct
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID
from zoneinfo import ZoneInfo

import pypdfium2

from domain.planning.files.plan_paper import PlannedSlot, PlanPaper
from domain.planning.model import Span
from providers.typst.printer import TypstPrinter

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "plan.png"
DOTS_PER_INCH = 100
SIGNATURE = b"\x89PNG\r\n\x1a\n"

SLOTS = (
    (0, 4, "Load-in", "Main stage", 3, ("Ana", "Łukasz", "Μαρία")),
    (2, 6, "Rigging", "Main stage", 2, ("Łukasz",)),
    (5, 9, "Sound check", "Main stage", 1, ("Жанна",)),
    (8, 10, "Doors", "Foyer", 2, ("Zoë", "مريم")),
    (10, 15, "Show", "Main stage", 2, ("Ana", "Μαρία")),
    (15, 19, "Load-out", "Main stage", 4, ()),
    (26, 30, "Return of the hired lights, and a count of what is broken or missing", "Yard", 1, ("Łukasz",)),
    (32, 34, "Review", "", 2, ("Ana", "Zoë")),
)


@dataclass(frozen=True)
class Picture:
    """Rows of pixels, red, green and blue."""

    width: int
    height: int
    pixels: bytes


def made_up_plan() -> PlanPaper:
    """A plan with people of several scripts, open places, a night and a day when the clocks change."""
    begin = datetime(2026, 3, 28, 8, tzinfo=UTC)
    slots = tuple(
        PlannedSlot(
            slot_id=UUID(int=number),
            slot=name,
            span=Span(begin + timedelta(hours=start), begin + timedelta(hours=end)),
            headcount=headcount,
            place=place,
            people=tuple((UUID(int=index), person) for index, person in enumerate(people)),
        )
        for number, (start, end, name, place, headcount, people) in enumerate(SLOTS)
    )
    return PlanPaper(
        "Spring festival", slots, ZoneInfo("Europe/Berlin"), "12", begin, subtitle="Crew of the main stage"
    )


def render(pdf: bytes, page: int = 0) -> Picture:
    """A page as pixels."""
    bitmap = pypdfium2.PdfDocument(pdf)[page].render(scale=DOTS_PER_INCH / 72, rev_byteorder=True)
    data, stride, width = bytes(bitmap.buffer), bitmap.stride, bitmap.width * 3
    rows = (data[row * stride : row * stride + width] for row in range(bitmap.height))
    return Picture(bitmap.width, bitmap.height, b"".join(rows))


def as_png(picture: Picture) -> bytes:
    """The picture as PNG (RFC 2083), eight bits a color and no filter."""
    width = picture.width * 3
    rows = (b"\0" + picture.pixels[start : start + width] for start in range(0, len(picture.pixels), width))
    header = struct.pack(">IIBBBBB", picture.width, picture.height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows), 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def pixels_of(png: bytes) -> bytes:
    """The pixels of such a PNG, which other versions of zlib compress to other bytes."""
    at, packed = len(SIGNATURE), b""
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        if png[at + 4 : at + 8] == b"IDAT":
            packed += png[at + 8 : at + 8 + length]
        at += length + 12
    (width,) = struct.unpack_from(">I", png, len(SIGNATURE) + 8)
    rows, line = zlib.decompress(packed), width * 3 + 1
    return b"".join(rows[start + 1 : start + line] for start in range(0, len(rows), line))


def main() -> None:
    """Write the picture."""
    PICTURE.write_bytes(as_png(render(TypstPrinter().print_plan(made_up_plan()).pdf)))


if __name__ == "__main__":
    main()
