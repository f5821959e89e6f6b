"""A user's regular expression that can neither fail late nor hold a worker."""

import re
from math import prod
from typing import Annotated

import regex  # type: ignore[import-untyped]  # the package ships no types
from pydantic import AfterValidator, StringConstraints

LONGEST_PATTERN = 500
LONGEST_SEARCHED = 100_000
SECONDS_PER_SEARCH = 0.1
PROBED = 2_000
"""Letters of a text that a new pattern is tried on. A pattern that tries each way to split a text runs out of its time
with some thirty letters. One whose time grows by the square passes, and is bounded at each search."""
SECONDS_PER_PROBE = 0.2
_PROBED_LETTERS = 8
MOST_COPIED = 500_000
"""Letters of a pattern times its counted repeats. The package copies what is repeated when it compiles a pattern, and
no time bounds that: `(?:a{3000}){3000}` takes four seconds and 2.4 GB."""
_COUNT = re.compile(r"\{\s*(\d+)")
_LOOKS_AROUND = re.compile(r"\(\?(?:[=!>]|<[=!])|[\^$]|\\[AbBGKmMZ]")
"""Assertions about the text before or after. A pattern with one can leave out a text that no probe resembles."""
ODD = "\N{SNOWMAN}"
"""A character that few patterns ask for."""


def _copied(pattern: str) -> int:
    """How many letters a pattern can at most become when each of its counted repeats stands inside the others."""
    return len(pattern) * prod(max(1, int(count)) for count in _COUNT.findall(pattern))


def _compilable(pattern: str) -> str:
    if _copied(pattern) > MOST_COPIED:
        raise ValueError("counts too far: its repeats together, times its letters, are more than 500,000")
    try:
        regex.compile(pattern, regex.IGNORECASE)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"is no regular expression: {str(error)[:120]}") from error
    return pattern


Pattern = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_PATTERN), AfterValidator(_compilable)]
"""A pattern that compiled when it was saved."""


def found_in(pattern: str, text: str, seconds: float = SECONDS_PER_SEARCH) -> bool:
    """Whether the pattern occurs, letter case aside, in the first 100,000 characters; raises TimeoutError."""
    compiled = regex.compile(pattern, regex.IGNORECASE)
    return compiled.search(text[:LONGEST_SEARCHED], timeout=seconds) is not None


def runs_away(pattern: str) -> bool:
    """Whether a pattern needs too long on a text made to be hard for it: long runs of its own letters that end oddly.

    For patterns that are about to be saved. What passes is still bounded at every search.
    """
    if _copied(pattern) > MOST_COPIED:
        return True
    letters = "".join(dict.fromkeys(one for one in pattern if one.isalnum() or one in " -_@."))[:_PROBED_LETTERS]
    seeds = [letters, *letters, "a", "0", " "]
    # The pattern's own letters are at the end: without a letter that it asks for, the search would not even begin.
    ends = (ODD, f"{ODD}{pattern}")
    runs = ((seed * PROBED)[:PROBED] for seed in dict.fromkeys(seeds) if seed)
    return any(_takes_long(pattern, f"{run}{end}") for run in runs for end in ends)


def matches_everything(pattern: str, *, has_lines: bool) -> bool:
    """Whether a pattern is found in every text, as `.*`, `^.+$` or `x?` are: it compares nothing.

    `has_lines`: the text may have several lines, over whose ends a dot does not reach.

    Each letter of the pattern is tried by itself, so a pattern that leaves one out is found. A pattern with assertions
    beyond a first `^` and a last `$` never counts as one that is found in every text.
    """
    inside = pattern.removeprefix("^")
    begins = inside != pattern
    ends = inside.endswith("$") and not inside.endswith("\\$")
    inside = inside.removesuffix("$") if ends else inside
    if _LOOKS_AROUND.search(inside):
        return False
    letters = sorted({*pattern, "a", "0", " ", ".", ODD})
    whole = begins and ends
    texts = [*letters, ("\n" if has_lines else "").join(letters)] if whole else letters
    return all(_found(f"^(?:{inside})$" if whole else f"(?:{inside})", text) for text in texts)


def _found(pattern: str, text: str) -> bool:
    try:
        return found_in(pattern, text)
    except (TimeoutError, regex.error):
        return False


def _takes_long(pattern: str, text: str) -> bool:
    try:
        found_in(pattern, text, SECONDS_PER_PROBE)
    except TimeoutError:
        return True
    return False
