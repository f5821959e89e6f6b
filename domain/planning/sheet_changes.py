"""What a change of a run sheet is to the audit log, and to each person in it."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

MOST_BYTES = 64 * 1024
"""Of either document. An entry of the audit log is read as a whole."""

Sheet = Mapping[str, Any]
"""A run sheet as JSON: its name, and its slots by their ids, each with its people by theirs."""


def changed_parts(before: Sheet, after: Sheet) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both documents without the slots that are the same in both.

    Where more slots have changed than there is room for, the first ones by id are kept, the same in both documents,
    and `slots_left_out` counts the others: what stands now is in the slots' rows.
    """
    was, has = before["slots"], after["slots"]
    names = sorted(name for name in {*was, *has} if was.get(name) != has.get(name))
    kept, sizes = list[str](), [_bytes({**one, "slots": {}, "slots_left_out": len(names)}) for one in (before, after)]
    for name in names:
        grown = [size + _entry(slots, name) for size, slots in zip(sizes, (was, has), strict=True)]
        if max(grown) > MOST_BYTES:
            break
        kept.append(name)
        sizes = grown
    left_out = {"slots_left_out": len(names) - len(kept)} if len(kept) < len(names) else {}
    first, second = ({name: slots[name] for name in kept if name in slots} for slots in (was, has))
    return {**before, "slots": first, **left_out}, {**after, "slots": second, **left_out}


def _entry(slots: Mapping[str, Any], name: str) -> int:
    return _bytes({name: slots[name]}) if name in slots else 0


def _bytes(document: Mapping[str, Any]) -> int:
    return len(json.dumps(document, ensure_ascii=False).encode())


MOST_LINES = 20
"""Of what one person is told; the rest is counted."""


def lines_by_person(before: Sheet, after: Sheet, zone: ZoneInfo) -> Mapping[str, Sequence[str]]:
    """What has changed for whom: by the person's id, a line for each slot that they got, lost, or that has moved."""
    lines: dict[str, list[str]] = defaultdict(list)
    was, has = before["slots"], after["slots"]
    for name in sorted({*was, *has}, key=lambda one: (has.get(one) or was[one])["starts_at"]):
        old, new = was.get(name), has.get(name)
        then, now = (set(slot["people"]) if slot else set() for slot in (old, new))
        for person in then - now:
            lines[person].append(f"No longer: {_slot_words(old, zone)}")
        for person in now - then:
            lines[person].append(f"New: {_slot_words(new, zone)}")
        if old and new and _slot_words(old, zone) != _slot_words(new, zone):
            for person in then & now:
                lines[person].append(f"Changed: {_slot_words(new, zone)} (was: {_slot_words(old, zone)})")
    return {person: _bounded(ones) for person, ones in lines.items()}


def _slot_words(slot: Mapping[str, Any], zone: ZoneInfo) -> str:
    starts, ends = (datetime.fromisoformat(slot[name]).astimezone(zone) for name in ("starts_at", "ends_at"))
    until = f"{ends:%H:%M}" if ends.date() == starts.date() else f"{ends:%Y-%m-%d %H:%M}"
    place = f", {slot['place']}" if slot["place"] else ""
    return f"{slot['name']}, {starts:%Y-%m-%d %H:%M} to {until}{place}"


def _bounded(lines: Sequence[str]) -> Sequence[str]:
    more = len(lines) - MOST_LINES
    return lines if more <= 0 else [*lines[:MOST_LINES], f"and {more} more"]
