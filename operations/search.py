"""Search: paste any id, and see what it is and where to look."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Gone
from operations.approvals.approvals import read_approval
from operations.call import Call
from operations.jobs.dead_letters import read_dead_letter
from operations.jobs.jobs import read_job
from operations.mail.actions import read_action
from operations.mail.mailboxes import show_account
from operations.mail.rules import read_rule
from operations.notifications.email import show_email
from operations.notifications.notifications import show_notification
from operations.notifications.reminders import show_reminder
from operations.operation import WORDS, Area, Operation, Record, Route
from operations.pages import Page
from operations.planning.exchange.artifacts import show_artifact
from operations.planning.projects import show_project
from operations.planning.proposals import show_proposal
from operations.workflows.runs import show_run
from storage import search as looking

SEARCH = Area("search", "Paste any id, and see what it is and where to look.")
LONGEST = 2000
"""Characters of the longest id: the Message-ID of a mail."""

TRACE = re.compile(r"(?:00-)?([0-9a-f]{32})(?:-[0-9a-f]{16}-[0-9a-f]{2})?")
"""The id of a trace, or a `traceparent`."""

LOOKS: Mapping[str, Operation[..., Any]] = {
    "job": read_job,
    "dead_letter": read_dead_letter,
    "action": read_action,
    "approval": read_approval,
    "workflow_run": show_run,
    "account": show_account,
    "project": show_project,
    "proposal": show_proposal,
    "artifact": show_artifact,
    "rule": read_rule,
    "notification": show_notification,
    "reminder": show_reminder,
    "email_order": show_email,
}
"""How to look at what was found; what has none is looked at by the ids beside it."""


class FoundThing(Record):
    """What has the id, or belongs to it."""

    plural: ClassVar = "found"
    columns: ClassVar = ("kind", "id", "said", "at", "ids", "command")
    kind: str = Field(description="Such as `job`, `dead_letter`, `message`, `thread`, `effect`.")
    id: str
    org_id: UUID
    said: str = Field(description="What it is, in a few words.")
    at: datetime | None
    ids: dict[str, str] = Field(description="What belongs to it, by name.")
    path: str | None = Field(description="Where HTTP shows it.")
    command: str | None = Field(description="What shows it at a terminal.")


@SEARCH.look("search", Route("GET", "/search"), org="optional")
def search(
    call: Call,
    q: Annotated[str, Field(pattern=WORDS, max_length=LONGEST, description="The id, as it is.")],
) -> Page[FoundThing]:
    """Find what has an id: of a job, dead letter, request, message, thread, draft, approval, account or another thing.

    Message-IDs, Discord's messages, addresses of mailboxes, correlation ids and keys are ids, too. A key, an id of
    Gmail's, a provider's id of a message and a person's address are looked for in one org alone. A trace's id is looked
    for among the newest jobs.
    """
    text = q.strip()
    with call.reading() as tx:
        rows = looking.search(tx, text, call.org_id)
        if trace := TRACE.fullmatch(text):
            rows = [*rows, *looking.jobs_of_trace(tx, trace[1], call.org_id)]
    found = [_shown(row) for row in rows]
    if not found and call.org_id is None:
        alone = "keys, Gmail's ids and people's addresses are looked for where an org is named"
        raise Gone(f"nothing has the id {text[:200]}; {alone}")
    return Page(found, None)


def _shown(row: Mapping[str, Any]) -> FoundThing:
    ids = {name: str(value) for name, value in row["ids"].items() if value is not None}
    look = LOOKS.get(row["kind"])
    command = path = None
    if look is not None and isinstance(look.route, Route):
        (named,) = look.route.ids
        path = f"/v1{look.route.path.format(**{named: row['id']})}"
        command = f"{look.area} {look.command} {row['id']}"
    return FoundThing(**{**row, "ids": ids, "path": path, "command": command})
