"""`celery -A tasks actions`: see what was done to mail and what waits for approval, and take it back."""

from uuid import UUID

import click

from commands.answers import FleetGroup, console, json_option, operator, operator_option, show_document, show_rows
from commands.mail.places import account_option
from domain.jobs.failures import Gone
from domain.mail.actions.kinds import ActionKind
from domain.mail.actions.status import ActionStatus
from domain.mail.actions.undo_hint import check_undoable
from domain.payloads.actions import UndoPayload
from engine.enqueue import enqueue
from engine.runtime import runtime
from operations.accounts import account_of
from operations.actions import ActionView
from storage.actions import actions as stored
from storage.actions.actions import ActionFilter, StoredAction
from storage.ledger import orgs
from storage.postgres.database import Transaction

LINE = ("action_id", "kind", "state", "danger", "inverse", "message_id", "created_at", "why")


@click.group(cls=FleetGroup)
def actions() -> None:
    """See what was done to mail and what waits for approval, and take it back."""


@actions.command("list")
@click.option("--org", required=True, help="The org's id or name.")
@account_option
@click.option("--message", "message_id", help="Only this message, by Gmail's id.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([state.value for state in ActionStatus]),
    help="Only this state; may be repeated.",
)
@click.option("--kind", type=click.Choice([kind.value for kind in ActionKind]), help="Only this kind.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many at most.")
@json_option
def list_actions(  # noqa: PLR0913, PLR0917 - one parameter per option
    org: str,
    account: str | None,
    message_id: str | None,
    states: tuple[str, ...],
    kind: str | None,
    limit: int,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """List an org's actions, the newest first. `inverse` is `none` for what cannot be undone."""
    with runtime().database.ledger() as tx:
        org_id = orgs.find(tx, org)
        account_id = account_of(tx, account, org_id).account_id if account else None
        wanted = ActionFilter(
            account_id, message_id, [ActionStatus(state) for state in states], ActionKind(kind) if kind else None
        )
        found = stored.listed(tx, org_id, wanted, limit=limit)
    show_rows([_document(one) for one in found], LINE, as_json=as_json)


@actions.command("show")
@click.argument("action_id", type=click.UUID)
@json_option
def show_action(action_id: UUID, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Show one action: what was asked, how it ended, and how it is taken back."""
    with runtime().database.ledger() as tx:
        found = _found(tx, action_id)
    show_document("action", _document(found), as_json=as_json)


@actions.command("undo")
@click.argument("action_id", type=click.UUID)
@operator_option
@json_option
def undo_action(action_id: UUID, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Take an action back, by a job. What cannot be taken back is refused with the reason."""
    with runtime().database.ledger() as tx:
        found = _found(tx, action_id)
        check_undoable(found.kind, found.state, found.undo_hint)
        payload = UndoPayload(account_id=found.account_id, original_action_id=action_id)
        (made,) = enqueue(tx, payload, org_id=found.org_id, origin=operator(operator_name))
    document = {"action_id": action_id, "job_id": made.job_id, "created": made.created}
    show_document("undo", document, as_json=as_json)
    if not as_json and not made.created:
        console().print("an undo of this action was under way already: it is that job")


def _found(tx: Transaction, action_id: UUID) -> StoredAction:
    found = stored.find(tx, action_id)
    if found is None:
        raise Gone(f"there is no action {action_id}")
    return found


def _document(found: StoredAction) -> dict[str, object]:
    return ActionView.model_validate(found).model_dump()
