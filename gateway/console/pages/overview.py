"""The overview: how the fleet is, and what needs a person."""

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.console.derived import purposes
from gateway.console.pages import HandPage, Look


@dataclass(frozen=True, slots=True)
class Overview:
    """What the overview shows."""

    areas: Mapping[str, str]
    """What each area is for."""


def fill(_look: Look) -> Overview:
    """The overview for whoever looks."""
    return Overview(purposes())


OVERVIEW = HandPage(path="", title="Overview", shown=Overview, fill=fill, key="o")
