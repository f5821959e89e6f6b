"""`celery -A tasks approvals`: see which actions wait for a person, decide about them, and where an org is asked."""

from functools import partial
from uuid import UUID

import click

from commands.answers import FleetGroup, json_option, operator, operator_option, show_document, show_rows
from domain.approvals.decision import Choice
from domain.jobs.failures import Gone
from domain.mail.actions.status import ActionStatus
from engine.enqueue import enqueue
from engine.runtime import runtime
from storage.actions import actions
from storage.actions.actions import ActionFilter, StoredAction
from storage.approvals import approvals as stored
from storage.approvals import channels, questions
from storage.approvals.approvals import Decider
from storage.ledger import orgs
from storage.postgres.database import Transaction

LINE = ("action_id", "kind", "message_id", "created_at", "approval_expires_at", "why")
DECIDED = ("action_id", "kind", "state", "approver", "decided_at", "approval_reason", "job_id")

reason_option = click.option("--reason", help="Why; it is kept with the action and in the audit log.")


@click.group(cls=FleetGroup)
def approvals() -> None:
    """See which actions wait for a person, decide about them, and say where an org is asked."""


@approvals.command("list")
@click.option("--org", required=True, help="The org's id or name.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many at most.")
@json_option
def list_approvals(org: str, limit: int, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List an org's actions that wait for a person, the newest first."""
    with runtime().database.ledger() as tx:
        waiting = ActionFilter(states=[ActionStatus.APPROVED_PENDING])
        found = actions.listed(tx, orgs.find(tx, org), waiting, limit=limit)
    show_rows([_document(one) for one in found], LINE, as_json=as_json)


@approvals.command("show")
@click.argument("action_id", type=click.UUID)
@json_option
def show_approval(action_id: UUID, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Show what a person is asked, and the messages that asked."""
    with runtime().database.ledger() as tx:
        found = _found(tx, action_id)
        question = questions.of_action(tx, found, 0)
        posted = stored.notices(tx, action_id)
    asked = {one.name: one.value for one in question.facts}
    messages = [{"channel_id": one.channel_id, "message_id": one.message_id} for one in posted]
    show_document("approval", _document(found) | {"question": asked, "messages": messages}, as_json=as_json)


@approvals.command("approve")
@click.argument("action_id", type=click.UUID)
@reason_option
@operator_option
@json_option
def approve(action_id: UUID, reason: str | None, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Let an action go ahead, by a job."""
    _decide(action_id, Choice.APPROVE, reason, operator_name, as_json=as_json)


@approvals.command("deny")
@click.argument("action_id", type=click.UUID)
@reason_option
@operator_option
@json_option
def deny(action_id: UUID, reason: str | None, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Refuse an action; it is never executed."""
    _decide(action_id, Choice.DENY, reason, operator_name, as_json=as_json)


@approvals.command("channel")
@click.option("--org", required=True, help="The org's id or name.")
@click.option(
    "--discord", "channel_id", help="The id of the Discord channel; without it, the org is asked there no more."
)
@operator_option
@json_option
def set_channel(org: str, channel_id: str | None, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Say in which Discord channel an org is asked."""
    by = operator(operator_name)
    with runtime().database.ledger() as tx:
        org_id = orgs.find(tx, org)
        made = channels.choose(tx, org_id, channel_id, by=by) if channel_id else channels.remove(tx, org_id, by=by)
    show_document("channel", made, as_json=as_json)


def _decide(action_id: UUID, choice: Choice, reason: str | None, operator_name: str, *, as_json: bool) -> None:
    origin = operator(operator_name)
    with runtime().database.ledger() as tx:
        found = _found(tx, action_id)
        decider = Decider(origin.actor_id, origin, reason)
        decided = stored.decide(tx, found, choice, decider, partial(enqueue, org_id=found.org_id, origin=origin))
    show_document("approval", {name: getattr(decided, name) for name in DECIDED}, as_json=as_json)


def _found(tx: Transaction, action_id: UUID) -> StoredAction:
    found = actions.find(tx, action_id)
    if found is None:
        raise Gone(f"there is no action {action_id}")
    return found


def _document(found: StoredAction) -> dict[str, object]:
    columns = {name: getattr(found, name) for name in StoredAction.__dataclass_fields__}
    return columns | {"why": "; ".join(found.reasons)}
