"""What keeps the installation from working, in words for a person who can mend it."""

from typing import NamedTuple


class Diagnosis(NamedTuple):
    """What is wrong, without a name or a secret, and what a person does about it."""

    finding: str
    remedy: str
    lasts: bool = True
    """Whether waiting does not help: a person must mend a setting or a server."""
