"""A plan's hash, and by its parts what has changed since: a proposal is good for the plan that it was made for."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from uuid import UUID

from domain.planning.model import Plan, Span

MOST_SHOWN = 20
"""Differences that are named; the others are counted."""


def parts_of(plan: Plan) -> dict[str, str]:
    """A hash for each thing that a proposal depends on, but for the weights, which are the proposal's own."""
    documents: dict[str, object] = {
        "zone of the project": plan.zone.key,
        "speed of the project": plan.travel.speed_kmh,
    }
    for slot in plan.slots:
        wanted = (sorted(slot.skills), slot.headcount, slot.priority)
        documents[f"slot {slot.slot_id}"] = (slot.name, _span(slot.span), slot.place_id, *wanted)
    for person in plan.collaborators:
        times = sorted((*_span(one.span), one.kind.value) for one in person.availabilities)
        limits = (person.most_minutes_a_day, person.most_minutes_a_week)
        known = (person.name, sorted(person.skills), times, person.home_id, *limits)
        documents[f"collaborator {person.collaborator_id}"] = known
    for given in plan.assignments:
        documents[f"assignment of {given.collaborator_id} in slot {given.slot_id}"] = given.is_pinned
    names = {place.place_id: str(place.place_id) for place in plan.travel.places}  # each of them a thousand times
    for place in plan.travel.places:
        ways = plan.travel.table.get(place.place_id, {})
        told = {names.get(end) or str(end): minutes for end, minutes in ways.items()}
        documents[f"place {place.place_id}"] = (place.latitude, place.longitude, told)
    busy: dict[UUID, list[object]] = defaultdict(list)
    for one in plan.commitments:
        busy[one.collaborator_id].append((_span(one.span), one.place_id))
    documents |= {f"other work of {person}": times for person, times in busy.items()}
    return {name: _hash(document)[:16] for name, document in documents.items()}


def hash_of(parts: Mapping[str, str]) -> str:
    """The hash of the whole plan."""
    return _hash(sorted(parts.items()))


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> Sequence[str]:
    """What has changed between two plans, a line for each part; none where they are the same."""
    lines = [f"{name} is gone" for name in sorted(before.keys() - after.keys())]
    lines += [f"{name} is new" for name in sorted(after.keys() - before.keys())]
    lines += [f"{name} has changed" for name in sorted(before.keys() & after.keys()) if before[name] != after[name]]
    more = len(lines) - MOST_SHOWN
    return lines if more <= 0 else [*lines[:MOST_SHOWN], f"and {more} more"]


def _span(span: Span) -> tuple[str, str]:
    return span.starts_at.isoformat(), span.ends_at.isoformat()


def _hash(document: object) -> str:
    return hashlib.sha256(json.dumps(document, default=str, sort_keys=True).encode()).hexdigest()
