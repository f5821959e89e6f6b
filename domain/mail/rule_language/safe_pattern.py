"""A user's regular expression, in RE2's syntax: a search takes time in proportion to the text, whatever the pattern."""

import re
from collections.abc import Iterator
from typing import Any

import re2

from domain.jobs.failures import Invalid

LONGEST_PATTERN = 500
LONGEST_SEARCHED = 100_000
LARGEST_PROGRAM = 2_000
"""Steps into which RE2 may translate a pattern: a letter of a text costs at most about 15 ns for each. An ordinary
pattern has some twenty; `.{100}` has 800, for a dot stands for letters of several bytes."""
MEMORY = 256 * 1024
"""Bytes of a pattern that is compiled. The package keeps the last 128 of them, 32 MB in all."""

MENDS = {
    "(?": " (RE2 has no look-around: write what the text must have, or a condition with `not`)",
    "escape": r" (RE2 has no back-references, and \z for \Z)",
}
"""What to do about the mistakes that people make who know other engines, by a part of RE2's words."""
ODD = "\N{SNOWMAN}"
"""A character that few patterns ask for."""
_PARTS = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|\[:\^?[a-z]+:\]|\[\^?\]?|[^\\\[\]]+|.", re.DOTALL)
"""A pattern's words that stand for themselves, its escapes, the ends of its classes, and all between them."""
_WORD = (
    r"\w\x{aa}\x{b5}\x{ba}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1fff}\x{2c00}-\x{2dff}\x{3005}-\x{3007}"
    r"\x{3031}-\x{d7ff}\x{f900}-\x{fdff}\x{10000}-\x{1efff}\x{20000}-\x{3ffff}"
)
"""Letters, digits and marks by their blocks: RE2 takes some 30 steps for them, and 1,350 for all that are a letter."""
_BOUNDARY = re.compile(r"(?<!\\)(?:\\\\)*+(?P<sign>\\[bB])")
_PROPERTY = re.compile(r"\\(?:[pP]|x\{)")
_ANCHORS = (r"\b", r"\B", r"\A", r"\z", "^", "$")


def check_boundaries(pattern: str) -> None:
    """Raise `Invalid` for a word's boundary in a pattern with letters of which RE2 knows none: it would never match."""
    boundary = _BOUNDARY.search(pattern)
    if boundary is not None and (not pattern.isascii() or _PROPERTY.search(pattern)):
        raise Invalid(
            "matches",
            f"has {boundary['sign']} at character {boundary.start('sign') + 1}, which knows words of ASCII alone: write"
            r" (^|\W) before a word and (\W|$) behind it",
        )


def compiled(pattern: str) -> Any:  # noqa: ANN401 - the package has no types
    r"""The pattern, ready to search; raises `Invalid` for one that RE2 does not take.

    `\w` and `\W` get the letters of all languages, of which RE2 knows those of ASCII alone.
    """
    try:
        made = re2.compile("".join(_with_all_letters(pattern)), _OPTIONS)
    except re2.error as error:
        (said,) = error.args
        words = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        mend = next((mend for part, mend in MENDS.items() if part in words), "")
        raise Invalid("matches", f"is no regular expression of RE2: {words[:120]}{mend}") from None
    if made.programsize > LARGEST_PROGRAM:
        raise Invalid(
            "matches", f"is too large: RE2 needs {made.programsize} steps for it, of at most {LARGEST_PROGRAM}"
        )
    return made


def _with_all_letters(pattern: str) -> Iterator[str]:
    if r"\w" not in pattern and r"\W" not in pattern:
        yield pattern
        return
    inside = False
    for part in _PARTS.findall(pattern):
        if part[0] == "[" and part[1:2] != ":":
            inside = True
        elif part == "]":
            inside = False
        if part == r"\w":
            yield _WORD if inside else f"[{_WORD}]"
        elif part == r"\W" and not inside:
            yield f"[^{_WORD}]"
        else:
            yield part


def found_in(pattern: str, text: str) -> bool:
    """Whether the pattern occurs, letter case aside, in the first 100,000 characters; raises `Invalid`."""
    searched = text[:LONGEST_SEARCHED]
    if not searched.isascii():
        searched = searched.encode(errors="replace").decode()  # RE2 reads UTF-8, which half of a surrogate pair has not
    return compiled(pattern).search(searched) is not None


def matches_everything(pattern: str, *, has_lines: bool) -> bool:
    """Whether a pattern is found in every text, as `.*`, `^.+$` or `x?` are: it compares nothing.

    `has_lines`: the text may have several lines, over whose ends a dot does not reach.

    Each letter of the pattern is tried by itself, so a pattern that leaves one out is found. A pattern with anchors
    beyond a first `^` and a last `$` never counts as one that is found in every text.
    """
    inside = pattern.removeprefix("^")
    begins = inside != pattern
    ends = inside.endswith("$") and not inside.endswith("\\$")
    inside = inside.removesuffix("$") if ends else inside
    if any(anchor in inside for anchor in _ANCHORS):
        return False
    letters = sorted({*pattern, "a", "0", " ", ".", ODD})
    whole = begins and ends
    texts = [*letters, ("\n" if has_lines else "").join(letters)] if whole else letters
    return all(found_in(f"^(?:{inside})$" if whole else f"(?:{inside})", text) for text in texts)


def _options() -> Any:  # noqa: ANN401 - as above
    made = re2.Options()
    made.max_mem = MEMORY
    made.case_sensitive = False
    made.never_capture = True
    made.log_errors = False
    return made


_OPTIONS = _options()
