"""A user's regular expression that can neither fail late nor hold a worker."""

from typing import Annotated

import regex  # type: ignore[import-untyped]  # the package ships no types
from pydantic import AfterValidator, StringConstraints

LONGEST_PATTERN = 500
LONGEST_SEARCHED = 100_000
SECONDS_PER_SEARCH = 0.1


def _compilable(pattern: str) -> str:
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
