"""How long people take from place to place: by a table of minutes, else by the way over the ground."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import asin, ceil, cos, radians, sin, sqrt
from types import MappingProxyType
from uuid import UUID

from domain.jobs.failures import Invalid

EARTH_KM = 6371.0088
"""The mean radius of the earth (IUGG)."""
DETOUR = 1.3
"""Roads are longer than the line through the air: by a quarter to a half in European towns."""
SPEED_KMH = 40
MOST_KMH = 1_000
MOST_MINUTES = 2 * 24 * 60
"""No way takes longer than two days: a table with a larger number has seconds in it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where slots are; without coordinates the table of minutes alone tells how far it is."""

    place_id: UUID
    name: str
    latitude: float | None = None
    longitude: float | None = None

    def __post_init__(self) -> None:
        """Raise `Invalid` with the field."""
        for name, most in (("latitude", 90), ("longitude", 180)):
            value = getattr(self, name)
            if value is not None and not -most <= value <= most:  # true of NaN, too
                raise Invalid(name, f"must be between -{most} and {most}")
        if (self.latitude is None) != (self.longitude is None):
            raise Invalid("latitude", "and longitude are given together")


@dataclass(frozen=True)
class Travel:
    """The minutes between places: from each place to others. The table has a direction: there and back may differ."""

    places: tuple[Place, ...] = ()
    table: Mapping[UUID, Mapping[UUID, int]] = field(default_factory=lambda: MappingProxyType({}))
    speed_kmh: int = SPEED_KMH

    def __post_init__(self) -> None:
        """Raise `Invalid` with the field."""
        if not 1 <= self.speed_kmh <= MOST_KMH:
            raise Invalid("speed_kmh", f"must be between 1 and {MOST_KMH}")
        if any(not 0 <= minutes <= MOST_MINUTES for ways in self.table.values() for minutes in ways.values()):
            raise Invalid("table", f"must have minutes between 0 and {MOST_MINUTES}")

    @property
    def place_ids(self) -> Collection[UUID]:
        """All places."""
        return self._by_id.keys()

    def minutes(self, start: UUID | None, end: UUID | None) -> int:
        """From one place to another, rounded up; 0 where nobody knows: an unknown way forbids nothing."""
        if start is None or end is None or start == end:
            return 0
        ways = self.table.get(start)
        told = None if ways is None else ways.get(end)
        return told if told is not None else self._over_the_ground(start, end)

    @cached_property
    def _by_id(self) -> Mapping[UUID, Place]:
        return {place.place_id: place for place in self.places}

    def _over_the_ground(self, start: UUID, end: UUID) -> int:
        kilometers = great_circle_km(self._by_id[start], self._by_id[end])
        return 0 if kilometers is None else min(MOST_MINUTES, ceil(kilometers * DETOUR / self.speed_kmh * 60))


def great_circle_km(start: Place, end: Place) -> float | None:
    """The way over a sphere by the haversine formula, exact enough for any two places; None without coordinates."""
    if start.latitude is None or start.longitude is None or end.latitude is None or end.longitude is None:
        return None
    north, south = radians(start.latitude), radians(end.latitude)
    half = sin((south - north) / 2) ** 2
    half += cos(north) * cos(south) * sin(radians(end.longitude - start.longitude) / 2) ** 2
    return 2 * EARTH_KM * asin(min(1.0, sqrt(half)))
