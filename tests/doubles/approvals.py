"""What tests of approvals need: an org that is asked in a channel, an approver, an action that waits."""

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from domain.approvals.decision import Choice
from domain.mail.actions.action import Action
from domain.mail.actions.requested_action import Forward
from domain.mail.actions.status import ActionStatus
from domain.orgs.access.users import UserRole
from engine.enqueue import enqueue
from operations.approvals.approvals import DECISIONS, ApprovalView
from sandbox.emulator.client import EmulatorControl
from storage.approvals import approvals
from storage.orgs.access import users
from storage.orgs.access.users import UserChanges
from tests.doubles.calls import call_by
from tests.doubles.mail_actions import ask, stored_letter
from tests.doubles.mail_environment import MailEnvironment

CHANNEL = "111"
APPROVER = "42"
ASKED_EARLIER = """
update idempotency_keys k set request = convert_to(
  (r.sent || jsonb_build_object('at', ((r.sent ->> 'at')::timestamptz - %s::interval)::text))::text, 'utf8'
)
from (
  select org_id, key, convert_from(request, 'utf8')::jsonb as sent from idempotency_keys where request is not null
) as r
where k.org_id = r.org_id and k.key = r.key
"""
"""Moves the time since when jobs have asked their question into the past."""
FORWARD = Forward(to=("bob@example.org",), note="Could you?")


def ask_in_channel(env: MailEnvironment, channel_id: str = CHANNEL) -> None:
    """Let the environment's org be asked in a channel, and let one person of it approve."""
    org_id = env.account.org_id
    with env.process.database.ledger() as tx:
        approvals.choose_channel(tx, org_id, channel_id)
        if users.by_discord(tx, org_id, APPROVER) is None:
            changes = UserChanges(UserRole.APPROVER, APPROVER)
            users.add(tx, org_id, "approver@postroom.example", changes)


def waiting(env: MailEnvironment, action: Action = FORWARD, *, subject: str = "News") -> UUID:
    """An action on a stored letter that waits for a person, with the job that asks."""
    made = ask(env, stored_letter(env, subject), action, ActionStatus.APPROVED_PENDING)
    org_id, account_id = env.account.org_id, env.account.account_id
    with env.process.database.tenant(org_id) as tx:
        approvals.request(tx, account_id, [made], partial(enqueue, org_id=org_id), lasts=timedelta(days=3))
    return made


def decide(env: MailEnvironment, action_id: UUID, choice: Choice, reason: str | None = None) -> ApprovalView:
    """Decide as an operator at the command line."""
    return DECISIONS[choice](call_by("operator:anna", env.process.database), action_id, reason=reason)


def messages(bot: EmulatorControl, channel_id: str = CHANNEL) -> list[dict[str, Any]]:
    """The messages of a channel, the oldest first."""
    found: list[dict[str, Any]] = bot.get("/_control/channels")["channels"].get(channel_id, [])
    return found


def buttons(message: dict[str, Any]) -> dict[str, str]:
    """The `custom_id` of each button, by its label."""
    return {one["label"]: one["custom_id"] for row in message["components"] for one in row["components"]}
