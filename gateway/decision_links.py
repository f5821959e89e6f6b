"""`/d/{approval_id}`: whoever has a signed link reads a question, and decides by its form without signing in.

A look at the link changes nothing: programs that look into mail follow every link, and send no form of ours. A link
that nobody signed leads nowhere, and one whose question has ended says how; both change nothing.
"""

import json
from dataclasses import dataclass
from functools import partial
from html import escape
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

import structlog
from fastapi import APIRouter, Depends, Request, Response

from domain.approvals.decision import Choice, Refusal
from domain.approvals.links import DecisionLink
from domain.approvals.question import Question, outcome_of, refusal_words
from domain.clean_text import clean_text
from domain.jobs.job import ActorType
from domain.orgs.access.api_keys import Role
from domain.orgs.privacy.redaction import redact
from gateway.http.bodies import PressedForm, form_fields
from gateway.http.cells import send_on
from gateway.http.org_slots import in_slot_of_org
from gateway.http.request_ids import origin_of
from gateway.http.resources import resources_of
from gateway.oauth.pages import page
from operations.approvals.approvals import Presser, RefusedChoice, decide_in_person, refused_to
from storage.approvals import subjects
from storage.approvals.subjects import ApprovalSubject
from storage.orgs.access import users
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Transaction

log = structlog.get_logger(__name__)
router = APIRouter()

LONGEST_REASON = 1000
UNKNOWN = "This link leads nowhere"
_FORM = (
    "<details><summary>All of it</summary><pre>{whole}</pre></details>"
    '<form method="post"><p><label>Why (nobody must say)<br>'
    '<input name="reason" maxlength="1000" size="40"></label></p>'
    '<button name="choice" value="approve">Approve</button> <button name="choice" value="deny">Deny</button></form>'
)


@dataclass(frozen=True, slots=True)
class KnownDecisionLink:
    """A link that we have signed, and whose question it is about."""

    said: DecisionLink
    org_id: UUID


def link_holder(request: Request, approval_id: str, person: str = "", sig: str = "") -> KnownDecisionLink | None:
    """Whoever has a link that we have signed; None for any other. 429 above the rate of one key."""
    resources = resources_of(request)
    try:
        link = DecisionLink(UUID(approval_id), UUID(person))
    except ValueError:
        return None
    if not link.is_signed_by(sig, Sealer.of(resources.settings).is_signed):
        return None
    resources.limiter.count(link.user_id)
    with resources.database.ledger() as tx:
        found = subjects.find(tx, link.approval_id)
    if found is None:
        send_on(request, link.user_id)
    return None if found is None else KnownDecisionLink(link, found.org_id)


LinkHolder = Annotated[KnownDecisionLink | None, Depends(in_slot_of_org(link_holder), scope="function")]

VERIFIERS = frozenset({link_holder})
"""Every dependency that proves who has a link."""


@router.get("/d/{approval_id}")  # noqa: FAST003  # its holder's dependency takes the id
def show(request: Request, link: LinkHolder) -> Response:
    """The question with its two buttons, or how it ended."""
    if link is None:
        return _unknown()
    with resources_of(request).database.ledger() as tx:
        found = subjects.get(tx, link.said.approval_id)
        refusal = refused_to(tx, _presser(link.said, tx, found), found)
        question = subjects.question_about(tx, found, 0)
    if refusal is not None:
        return _refused(refusal, outcome_of(found.standing))
    return _asked(question, found)


@router.post("/d/{approval_id}")  # noqa: FAST003  # as above
def decide(request: Request, form: PressedForm, link: LinkHolder) -> Response:
    """Decide as the form says; one that says neither changes nothing."""
    if link is None:
        return _unknown()
    fields = form_fields(form)
    pressed = fields.get("choice", "")
    if pressed not in set(Choice):
        return show(request, link)
    reason = " ".join(clean_text(fields.get("reason", "")).split())[:LONGEST_REASON] or None
    resources = resources_of(request)
    with resources.database.ledger() as tx:
        origin = origin_of(request, f"link:{link.said.user_id}", ActorType.USER)
        call = resources.call(origin, Role.OPERATOR, "decision link", within=tx)
        made = decide_in_person(
            call, link.said.approval_id, Choice(pressed), partial(_presser, link.said), reason=reason
        )
    if isinstance(made, RefusedChoice):
        return _refused(made.refusal, made.outcome)
    log.info("decided_by_link", approval_id=str(link.said.approval_id), choice=pressed)
    return page(HTTPStatus.OK, made.outcome, made.title, "You need do nothing more.")


def _presser(link: DecisionLink, tx: Transaction, asked: ApprovalSubject) -> Presser:
    """The person for whom the link was signed, as the org knows them by now; nobody while they are being erased."""
    user = users.by_id(tx, asked.org_id, link.user_id)
    if user is None or user.erasing_since is not None:
        return Presser(None, is_its_place=False)
    return Presser(user, is_its_place=True)


def _asked(question: Question, found: ApprovalSubject) -> Response:
    facts = [f"{one.name}: {one.value}" for one in question.facts]
    ends = f"Decide until {question.expires_at:%d %B %Y, %H:%M %Z}: after that it expires."
    whole = redact(found.whole)
    text = whole if isinstance(whole, str) else json.dumps(whole, ensure_ascii=False, indent=2)
    form = _FORM.format(whole=escape(text))
    return page(HTTPStatus.OK, question.title, *facts, ends, form=form, targets="'self'")


def _refused(refusal: Refusal, outcome: str) -> Response:
    if refusal is Refusal.NOT_HERE:
        return _unknown()
    return page(HTTPStatus.CONFLICT, "Nothing was changed", refusal_words(refusal, outcome))


def _unknown() -> Response:
    return page(HTTPStatus.NOT_FOUND, UNKNOWN, "Open the link as it stands in the e-mail. Nothing was changed.")
