"""Presses on Approve and Deny: judged and decided in one short transaction, answered within Discord's 3 seconds.

(docs: questions-and-decisions.md#presses)
"""

import asyncio
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from fastapi import APIRouter, Request

from domain.approvals.decision import Refusal
from domain.approvals.question import WORDS, refusal_words
from domain.jobs.failures import Busy, Transient
from domain.jobs.job import ActorType, Origin
from domain.orgs.access.api_keys import Role
from gateway.http.callers import DiscordCaller
from gateway.http.request_ids import origin_of
from gateway.http.resources import Resources, resources_of
from operations.approvals.approvals import Presser, RefusedChoice, decide_in_person
from providers.discord.interactions import Interaction, Kind, edited, parse, pong, whispered
from providers.discord.messages import Press, ended_content, plain
from storage.approvals import approvals, subjects
from storage.approvals.subjects import ApprovalSubject
from storage.orgs.access import users
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
    deciding = asyncio.create_task(_in_a_slot(resources_of(request), interaction, interaction.press, origin))
    done, _ = await asyncio.wait({deciding}, timeout=DECIDED_WITHIN_S)
    if done:
        return deciding.result()
    log.warning("approval_press_late", approval_id=str(interaction.press.approval_id))
    _LATE_DECISIONS.add(deciding)
    deciding.add_done_callback(_LATE_DECISIONS.discard)
    return whispered(LATE)


_LATE_DECISIONS: set[asyncio.Task[dict[str, Any]]] = set()
"""A task that nobody holds could be collected before it ends."""


async def _in_a_slot(resources: Resources, interaction: Interaction, press: Press, origin: Origin) -> dict[str, Any]:
    """Decide in a slot of the org that is asked; a database that does not answer is said to the presser, too."""
    try:
        org_id = await asyncio.to_thread(_org_of, resources, press)
        if org_id is None:
            return whispered(WORDS[Refusal.NOT_HERE])
        async with resources.requests.hold(org_id):
            return await asyncio.to_thread(_carry_out, resources, interaction, press, origin)
    except (Transient, Busy) as failure:
        log.warning("approval_press_undecided", approval_id=str(press.approval_id), reason=failure.reason)
        return whispered(LATE)


def _org_of(resources: Resources, press: Press) -> UUID | None:
    with resources.database.ledger() as tx:
        approvals.hurry(tx)
        found = subjects.find(tx, press.approval_id)
    return None if found is None else found.org_id


def _carry_out(resources: Resources, interaction: Interaction, press: Press, origin: Origin) -> dict[str, Any]:
    """Decide in one transaction."""
    with resources.database.ledger() as tx:
        approvals.hurry(tx)
        answer = _decide(tx, resources, interaction, press, origin)
    log.info("approval_pressed", approval_id=str(press.approval_id), answered=answer["type"])
    return answer


def _decide(
    tx: Transaction, resources: Resources, interaction: Interaction, press: Press, origin: Origin
) -> dict[str, Any]:
    """Decide and edit the message, or say to the presser alone why not."""
    call = resources.call(origin, Role.OPERATOR, origin.actor_id, within=tx)
    made = decide_in_person(call, press.approval_id, press.choice, partial(_presser, interaction))
    if isinstance(made, RefusedChoice):
        return whispered(refusal_words(made.refusal, plain(made.outcome)))
    question = subjects.question_about(tx, subjects.get(tx, press.approval_id), press.number)
    return edited(ended_content(question, made.outcome))


def _presser(interaction: Interaction, tx: Transaction, asked: ApprovalSubject) -> Presser:
    """Who pressed, and whether where the org is asked, or was about this; not where another org is asked by now."""
    channel_id = interaction.channel_id
    channels = {one.channel_id for one in approvals.notices(tx, asked.approval_id)}
    channels.add(approvals.channel_of(tx, asked.org_id) or "")
    is_its_place = channel_id in channels and not approvals.is_anothers_channel(tx, asked.org_id, channel_id)
    return Presser(users.by_discord(tx, asked.org_id, interaction.actor_id), is_its_place)
