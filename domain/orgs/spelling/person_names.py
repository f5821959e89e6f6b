"""People's names as they are compared: the only notion of two names that are the same."""

from domain.orgs.spelling.normal_form import normal_form
from domain.orgs.spelling.typography import ASCII_TWINS

_MARKS = str.maketrans({letter: twin for letter, twin in ASCII_TWINS.items() if twin in "'-\""})


def name_key(name: str) -> str:
    """A name as it is compared: the same however its letters are made, in whatever case, with whatever blanks.

    Apostrophes and hyphens are those of ASCII, and what stands behind a single comma goes first: `Lovelace, Ada`.
    """
    levelled = normal_form(name.translate(_MARKS)).strip()
    last, comma, first = (part.strip() for part in levelled.partition(","))
    return f"{first} {last}" if comma and first and last and "," not in first else levelled
