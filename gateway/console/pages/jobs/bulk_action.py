"""A bulk action: how far it is, whom it has skipped and why, and its end."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.console.derived import Listing
from gateway.console.frame import CURSOR
from gateway.console.pages import HandPage, Look
from gateway.console.pages.facts import Deed, Fact, at, deed_of, id_of
from gateway.console.shown import TONES, Shown, in_json
from gateway.console.things import AnyOperation
from operations.jobs.bulk_actions import (
    BulkActionView,
    abort_bulk_action,
    list_skipped_jobs,
    read_bulk_action,
    resume_bulk_action,
)
from operations.pages import Window

SHOWN = 50
TONE = {"running": "busy", "finished": "good", "aborted": "warn"}


@dataclass(frozen=True, slots=True)
class BulkPage:
    """What the page of a bulk action shows."""

    action: BulkActionView
    tone: str
    filter: Shown
    patch: Shown | None
    numbers: Sequence[tuple[str, int]]
    facts: Sequence[Fact]
    skipped: Listing
    deeds: Sequence[Deed]


def fill(look: Look) -> BulkPage:
    """The page of a bulk action."""
    bulk_id = id_of(look.asked, "bulk_id")
    action = look.call(read_bulk_action, bulk_id)
    skipped = look.call(list_skipped_jobs, bulk_id, window=Window(SHOWN, look.request.query_params.get(CURSOR)))
    possible: AnyOperation | None = {"running": abort_bulk_action, "aborted": resume_bulk_action}.get(action.state)
    return BulkPage(
        action=action,
        tone=TONE.get(action.state, TONES.get(action.state, "")),
        filter=in_json({name: value for name, value in action.filter.items() if value}),
        patch=in_json(action.patch) if action.patch else None,
        numbers=[("done", action.done), ("skipped", action.skipped), ("come again", action.put_off)],
        facts=[
            Fact("Reason", action.reason),
            Fact("By", action.actor_id),
            Fact("Begun", f"{at(action.created_at)} UTC, for jobs and letters of before {at(action.frozen_at)} UTC"),
            Fact("Pace", f"{action.per_minute:,} jobs a minute at most"),
            *([Fact("Finished", f"{at(action.finished_at)} UTC")] if action.finished_at else []),
        ],
        skipped=look.table(list_skipped_jobs, skipped),
        deeds=[deed_of(look, possible, bulk_id=bulk_id)] if possible and look.may(possible) else [],
    )


BULK_ACTION = HandPage(
    path="bulk/show", title="Bulk action", shown=BulkPage, fill=fill, needs=read_bulk_action, asks=("bulk_id",)
)
