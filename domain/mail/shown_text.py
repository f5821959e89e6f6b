"""A message's text as a model is shown it: all of it, with quotations marked, and what was left out said."""

from itertools import groupby

from domain.mail.parsing.quoted_text import copied_from, is_quoted

COPY = "[What follows looks like a copy of another message.]"
_LONGEST_NOTE = 80


def shown_text(text: str, longest: int) -> str:
    """The text in about so many characters: quotations give way to what the writer wrote, each the same share."""
    pieces = _pieces(text.strip())
    quoted = sorted(len(words) for is_quotation, words in pieces if is_quotation)
    room = longest - sum(len(words) + 1 for _, words in pieces) + sum(quoted)
    share = _share(quoted, room)
    shown = "\n".join(cut(words, share, "quoted text") if is_quotation else words for is_quotation, words in pieces)
    if share < _LONGEST_NOTE and any(length > share for length in quoted):
        untold = sum(length for length in quoted if length > share)
        shown += f"\n[{untold:,} characters of quoted text are left out.]"
    return cut(shown, longest, "the message")


def cut(text: str, longest: int, of: str) -> str:
    """At most so many characters of a text, with a note of how many were left out, where there is room for one."""
    if len(text) <= longest:
        return text
    kept = longest - _LONGEST_NOTE
    if kept < 0:
        return "[…]"
    return f"{text[:kept].rstrip()}\n[{len(text) - kept:,} more characters of {of} are left out.]".lstrip()


def _pieces(text: str) -> list[tuple[bool, str]]:
    """What was written and what is quoted, in their order."""
    lines = text.splitlines()
    own = copied_from(lines)
    pieces = [(quoted, "\n".join(run)) for quoted, run in groupby(lines[:own], key=is_quoted)]
    copied = "\n".join(lines[own:])
    return [*pieces, (True, f"{COPY}\n{copied}")] if copied else pieces


def _share(lengths: list[int], room: int) -> int:
    """The most that each of these lengths, shortest first, may have of the room: the short ones leave theirs over."""
    for place, length in enumerate(lengths):
        share = max(0, room) // (len(lengths) - place)
        if length > share:
            return share
        room -= length
    return max(lengths, default=0)
