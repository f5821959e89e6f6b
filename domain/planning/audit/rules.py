"""Which events are enriched, and how."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from pydantic import ValidationError

from domain.jobs.audit.details import Details
from domain.jobs.job import JsonObject
from domain.planning.audit import run_sheets

MOST_BYTES = 512 * 1024
"""Of the changes. An event that the planning writes has at most 64 KiB before and after."""


def _run_sheet(data: JsonObject) -> Details:
    try:
        changed = run_sheets.read_change(data)
        sentences = run_sheets.sentences_of(changed)
    except (ValidationError, OverflowError):
        # The walk goes on, and rules that can read the event will come with a version of their own.
        return Details("run_sheet", sentences=["The run sheet changed; these rules cannot read how."])
    return Details("run_sheet", changed.facts.run_sheet_id, changed.facts.revision, changed.changes, sentences)


RULES: Mapping[str, Callable[[JsonObject], Details]] = {"run_sheet.changed": _run_sheet}
"""By the event's name. The index `audit_entries_changes` holds these events and no others."""


def details_of(event: str, data: JsonObject) -> Details:
    """What the event changed; raises `KeyError` for an event that is not enriched."""
    found = RULES[event](data)
    if len(json.dumps(found.changes, ensure_ascii=False).encode()) <= MOST_BYTES:
        return found
    return replace(found, changes=(), sentences=(*found.sentences, "The changes have more bytes than are kept."))
