"""`celery -A tasks accounts settings`, `safety`, `corrections` and `disconnect`."""

from functools import partial
from typing import Any

import click

from commands.answers import json_option, operator, operator_option, show_document, show_rows
from domain.jobs.failures import Invalid
from domain.mail.account_settings import MODEL_MAY_ASK, parse_settings
from domain.mail.actions.kinds import Danger
from domain.mail.actions.requested_action import KINDS
from engine.enqueue import enqueue
from engine.runtime import runtime
from operations.accounts import account_of, target_of, target_to_write
from storage.accounts import accounts, disconnecting
from storage.audit import deeds
from storage.ledger import orgs
from storage.rules import corrections as kept
from storage.rules import owner_settings, safety

NONE = "none"
CORRECTION = ("at", "label", "moved_to", "classification", "sender", "message_id")
account_argument = click.argument("account")


@click.command("settings")
@account_argument
@click.option("--label-parent", help="The label under which ours are made.")
@click.option("--send-allowed/--no-send-allowed", default=None, help="Whether an agent gets a tool that sends.")
@click.option("--agent-enabled/--no-agent-enabled", default=None, help="Whether messages may be routed to agents.")
@click.option(
    "--model-action",
    "model_actions",
    multiple=True,
    type=click.Choice([*(kind.value for kind in MODEL_MAY_ASK), NONE]),
    help="An action that the classifying model may ask for; may be repeated, and takes the place of what was set.",
)
@operator_option
@json_option
def settings(  # noqa: PLR0913, PLR0917 - one parameter per option
    account: str,
    label_parent: str | None,
    send_allowed: bool | None,  # noqa: FBT001 - a flag of the command line
    agent_enabled: bool | None,  # noqa: FBT001 - a flag of the command line
    model_actions: tuple[str, ...],
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Show a mailbox's settings, or change those that are given."""
    given: dict[str, Any] = {
        "label_parent": label_parent,
        "send_allowed": send_allowed,
        "agent_enabled": agent_enabled,
        "model_actions": [one for one in model_actions if one != NONE] if model_actions else None,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    with runtime().database.ledger() as tx:
        found = account_of(tx, account)
        if changes:
            target_to_write(tx, found.account_id, found.org_id)
            accounts.save_settings(tx, found.account_id, parse_settings(changes).changes())
            facts = {"account_id": str(found.account_id), **changes}
            deeds.record(tx, "account.set", facts, by=operator(operator_name), org_id=found.org_id)
        document = owner_settings.settings_of(tx, found.account_id)
    show_document("settings", document, as_json=as_json)


@click.command("safety")
@click.argument("account", required=False)
@click.option("--org", help="The whole org: its id or name; beside a mailbox, whose it is.")
@click.option("--confidence-floor", type=float, help="A decision less sure than this waits for a person: 0 to 1.")
@click.option(
    "--always-approve",
    multiple=True,
    type=click.Choice([*KINDS, NONE]),
    help="An action that waits every time; may be repeated, and takes the place of what was set.",
)
@click.option(
    "--approve-from",
    type=click.Choice([danger.value for danger in Danger]),
    help="Actions of this danger or more wait; dangerous ones wait whatever is said here.",
)
@click.option("--default", "to_default", is_flag=True, help="Remove the policy: the org's holds, or the default.")
@operator_option
@json_option
def safety_policy(  # noqa: PLR0913, PLR0917 - one parameter per option
    account: str | None,
    org: str | None,
    confidence_floor: float | None,
    always_approve: tuple[str, ...],
    approve_from: str | None,
    to_default: bool,  # noqa: FBT001 - a flag of the command line
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Show when a person is asked before an action, of a mailbox or of an org, or change what is given.

    Where a mailbox and its org both have a policy, the stricter part of each holds.
    """
    given: dict[str, Any] = {
        "confidence_floor": confidence_floor,
        "always_approve": [one for one in always_approve if one != NONE] if always_approve else None,
        "approve_from": approve_from,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if changes and to_default:
        raise Invalid("default", "goes with no other option")
    by = operator(operator_name)
    with runtime().database.ledger() as tx:
        find = target_to_write if changes or to_default else target_of
        place = find(tx, account, orgs.find_named(tx, org))
        facts = {"account_id": place.account_id and str(place.account_id), **changes}
        if changes:
            owner_settings.change_policy(tx, place.org_id, place.account_id, changes, by=by.actor_id)
            deeds.record(tx, "safety.set", facts, by=by, org_id=place.org_id)
        elif to_default and safety.remove(tx, place.org_id, place.account_id):
            deeds.record(tx, "safety.removed", facts, by=by, org_id=place.org_id)
        rows = [one for one in safety.listed(tx, place.org_id) if one.account_id in {None, place.account_id}]
        holds = owner_settings.settings_of(tx, place.account_id)["safety"] if place.account_id else None
    show_document("safety", {"holds": holds, "saved": [_saved(one) for one in rows]}, as_json=as_json)


@click.command("corrections")
@account_argument
@click.option("--limit", type=click.IntRange(1, 1_000), default=100, show_default=True, help="How many at most.")
@json_option
def list_corrections(account: str, limit: int, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List the labels of ours that the owner took off in the last 90 days; the model is told of them."""
    process = runtime()
    with process.database.ledger() as tx:
        found = kept.recent(tx, account_of(tx, account).account_id, now=process.clock(), limit=limit)
    show_rows(found, CORRECTION, as_json=as_json)


@click.command("disconnect")
@account_argument
@click.option("--reason", required=True, help="Why; it is shown with the account.")
@operator_option
@json_option
def disconnect(account: str, reason: str, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag
    """Close an account for good and forget its tokens: its jobs are canceled when they would run, and what runs ends.

    Actions that wait for approval end, and so do orders of drafts, whether a label or a service gave them. Jobs that
    wake snoozed messages wait instead.

    `accounts connect` or `accounts add` connects the mailbox again, by a new account. Rules, settings and the like go
    to it when it is the same Google user. Google keeps the consent until its owner withdraws it there.
    """
    with runtime().database.ledger() as tx:
        found = account_of(tx, account)
        by = operator(operator_name)
        jobs = partial(enqueue, org_id=found.org_id, origin=by)
        facts = disconnecting.disconnect(tx, found.account_id, jobs, reason=reason, by=by)
    show_document("account", facts | {"email": found.email, "status": "disconnected"}, as_json=as_json)


def _saved(policy: safety.StoredPolicy) -> dict[str, Any]:
    return {
        "account_id": policy.account_id and str(policy.account_id),
        **policy.document(),
        "updated_by": policy.updated_by,
    }
