"""Presses on Approve and Deny: judged and decided in one short transaction, answered within Discord's 3 seconds.

(docs: approvals.md#presses)
"""

import asyncio
from dataclasses import dataclass
from typing import Any

import structlog
from fastapi import APIRouter, Request

from domain.access.api_keys import Role
from domain.approvals.decision import Refusal, RefusedDecision, Standing, refusal_of
from domain.approvals.question import WORDS, outcome_of, refusal_words
from domain.jobs.failures import Transient
from domain.jobs.job import SYSTEM_ORG, ActorType, JsonObject, Origin
from gateway.http.callers import DiscordCaller
from gateway.http.request_ids import origin_of
from gateway.http.resources import Resources, resources_of
from operations.approvals import DECISIONS, record_refusal
from operations.call import Call
from providers.discord.interactions import Interaction, Kind, edited, parse, pong, whispered
from providers.discord.messages import Press, ended_content, plain
from storage.access import users
from storage.access.users import User
from storage.actions import actions
from storage.actions.actions import StoredAction
from storage.doubts import approvals
from storage.ledger import ledger
from storage.postgres.database import Transaction

log = structlog.get_logger(__name__)
router = APIRouter()

LATE = (
    "This takes longer than usual. If the question shows no decision within a minute, yours was not written:"
    " press the button again."
)
"""What the presser reads when there is no answer in time; a decision that is written later edits the question."""

DECIDED_WITHIN_S = 1.5
"""Discord waits 3 s for the answer, of which the body may take `callers.INTERACTION_WITHIN_S`."""


@router.post("/webhooks/discord/interactions", include_in_schema=False)
async def discord(request: Request, body: DiscordCaller) -> dict[str, Any]:
    """A ping, or a press on a button: decides, edits the message, or says to the presser why not.

    Threads and connections may all be taken: the decision has a thread of its own, and who pressed reads in time that
    it is late.
    """
    interaction = parse(body)
    if interaction.kind is Kind.PING:
        return pong()
    if interaction.press is None or not interaction.actor_id:
        return whispered(WORDS[Refusal.NOT_HERE])
    origin = origin_of(request, f"discord:{interaction.actor_id}", ActorType.USER)
    deciding = asyncio.create_task(
        asyncio.to_thread(_carry_out, resources_of(request), interaction, interaction.press, origin)
    )
    done, _ = await asyncio.wait({deciding}, timeout=DECIDED_WITHIN_S)
    if done:
        return deciding.result()
    log.warning("approval_press_late", action_id=str(interaction.press.action_id))
    _LATE_DECISIONS.add(deciding)
    deciding.add_done_callback(_LATE_DECISIONS.discard)
    return whispered(LATE)


_LATE_DECISIONS: set[asyncio.Task[dict[str, Any]]] = set()
"""A task that nobody holds could be collected before it ends."""


def _carry_out(resources: Resources, interaction: Interaction, press: Press, origin: Origin) -> dict[str, Any]:
    """Decide in one transaction; a database that does not answer is said to the presser, too."""
    try:
        with resources.database.ledger() as tx:
            approvals.hurry(tx)
            answer = _decide(tx, resources, interaction, press, origin)
    except Transient as failure:
        log.warning("approval_press_undecided", action_id=str(press.action_id), reason=failure.reason)
        return whispered(LATE)
    log.info("approval_pressed", action_id=str(press.action_id), answered=answer["type"])
    return answer


@dataclass(frozen=True, slots=True)
class Pressed:
    """What a press is about, and who pressed."""

    found: StoredAction
    user: User | None
    standing: Standing


def _decide(
    tx: Transaction, resources: Resources, interaction: Interaction, press: Press, origin: Origin
) -> dict[str, Any]:
    pressed = _look(tx, interaction, press)
    refusal = refusal_of(pressed.standing if pressed else None, ledger.read_time(tx))
    if pressed is None or pressed.user is None or refusal is not None:
        return _refuse(tx, pressed, press, refusal or Refusal.NOT_HERE, origin)
    found = pressed.found
    call = Call(
        origin=origin, name=pressed.user.email, role=Role.OPERATOR,
        database=resources.database, settings=resources.settings, enqueue=resources.enqueue, within=tx,
    )  # fmt: skip
    try:
        decided = DECISIONS[press.choice](call, press.action_id)
    except RefusedDecision as refused:
        # Something has changed since the look.
        now = _look(tx, interaction, press)
        refusal = refusal_of(now.standing if now else None, ledger.read_time(tx))
        return _refuse(tx, now, press, refusal or refused.refusal, origin)
    words = outcome_of(decided.state, decided.approver, decided.approval_reason)
    return edited(ended_content(approvals.question_about(tx, found, press.number), words))


def _look(tx: Transaction, interaction: Interaction, press: Press) -> Pressed | None:
    found = actions.find(tx, press.action_id)
    if found is None:
        return None
    places = {one.channel_id for one in approvals.notices(tx, found.action_id)} | {
        approvals.channel_of(tx, found.org_id)
    }
    here = interaction.channel_id
    user = users.by_discord(tx, found.org_id, interaction.actor_id)
    standing = Standing(
        action=approvals.standing_of(found),
        is_its_place=here in places and not approvals.is_anothers_channel(tx, found.org_id, here),
        role=user.role if user else None,
    )
    return Pressed(found, user, standing)


def _refuse(tx: Transaction, pressed: Pressed | None, press: Press, refusal: Refusal, origin: Origin) -> dict[str, Any]:
    """Write it down, and say so to the presser alone. Who presses from elsewhere learns nothing of the action."""
    data: JsonObject = {"action_id": str(press.action_id), "choice": str(press.choice), "why": str(refusal)}
    record_refusal(tx, pressed.found.org_id if pressed else SYSTEM_ORG, origin, data)
    if pressed is None:
        return whispered(WORDS[refusal])
    found = pressed.found
    outcome = outcome_of(found.state, found.approver, found.why_ended)
    return whispered(refusal_words(refusal, plain(outcome)))
