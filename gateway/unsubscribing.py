"""One-click unsubscribe (RFC 8058): a look at the link changes nothing, its POST turns the category off.

Programs that look into mail follow every link; they send no form of ours. A link that nobody has signed is answered as
any other, and nothing comes of it.
"""

from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

import structlog
from fastapi import APIRouter, Depends, Request, Response

from domain.jobs.job import ActorType
from domain.notifications.channels import Channel, Choice, category_of
from domain.notifications.unsubscribing import UnsubscribeLink
from domain.orgs.access.api_keys import Role
from gateway.http.bodies import PressedForm
from gateway.http.cells import elsewhere, press_there
from gateway.http.org_slots import in_slot_of_org
from gateway.http.request_ids import origin_of
from gateway.http.resources import resources_of
from gateway.oauth.pages import page
from operations.notifications.people import set_preference
from storage.notifications import people
from storage.orgs.secrets.sealing import Sealer

log = structlog.get_logger(__name__)
router = APIRouter()

FIELD, VALUE = b"List-Unsubscribe", b"One-Click"
"""What both the mail program and our button send, as a form or as multipart (RFC 8058, section 3.2)."""
ONE_CLICK = FIELD + b"=" + VALUE
_FORM = (
    '<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click">'
    "<button>Stop e-mail about {category}</button></form>"
)
UNKNOWN = "This link leads nowhere"


@dataclass(frozen=True, slots=True)
class KnownUnsubscribeLink:
    """A link that we have signed, of a person who is still of an org."""

    said: UnsubscribeLink
    org_id: UUID
    there: str | None = None
    """The gateway of the cell to which the org has moved; None while it is here, or where nobody knows."""


def link_holder(request: Request, user_id: str, category: str = "", sig: str = "") -> KnownUnsubscribeLink | None:
    """Whoever has a link that we have signed: no name, no cookie, as mail programs press it; None for any other.

    429 above the rate of one key.
    """
    resources = resources_of(request)
    try:
        said = UnsubscribeLink(UUID(user_id), category)
    except ValueError:
        return None
    is_signed = said.is_signed_by(sig, Sealer.of(resources.settings).is_signed)
    if not (is_signed and category_of(category).is_mutable):
        return None
    resources.limiter.count(said.user_id)
    with resources.database.ledger() as tx:
        org_id = people.org_of(tx, said.user_id)
    if org_id is not None:
        return KnownUnsubscribeLink(said, org_id)
    moved = elsewhere(request, said.user_id)
    return None if moved is None else KnownUnsubscribeLink(said, moved.org_id, moved.gateway)


LinkHolder = Annotated[KnownUnsubscribeLink | None, Depends(in_slot_of_org(link_holder), scope="function")]

VERIFIERS = frozenset({link_holder})
"""Every dependency that proves who has a link."""


@router.get("/u/{user_id}")  # noqa: FAST003  # its holder's dependency takes the id
def show(link: LinkHolder) -> Response:
    """Ask whether e-mail about the category is to stop."""
    if link is None:
        return page(HTTPStatus.OK, UNKNOWN, "Open the link as it stands in the e-mail.")
    form = _FORM.format(category=escape(link.said.category))
    words = "Other messages, such as those about your account, still come."
    return page(HTTPStatus.OK, f"Stop e-mail about {link.said.category}?", words, form=form, targets="'self'")


@router.post("/u/{user_id}")  # noqa: FAST003  # as above
def stop(request: Request, form: PressedForm, link: LinkHolder) -> Response:
    """Turn e-mail about the category off; a form that does not say so changes nothing."""
    if link is None:
        return page(HTTPStatus.OK, UNKNOWN, "Nothing was changed.")
    if FIELD not in form or VALUE not in form:
        return show(link)
    resources, said = resources_of(request), link.said
    if link.there is not None:
        # Mail programs that press by themselves follow no redirect (RFC 8058, section 3.2).
        press_there(request, link.there, ONE_CLICK)
        return _stopped(said.category)
    with resources.database.ledger() as tx:
        origin = origin_of(request, f"unsubscribe:{said.user_id}", ActorType.USER)
        call = resources.call(origin, Role.WRITER, "unsubscribe link", org_id=link.org_id, within=tx)
        set_preference(call, said.user_id, category=said.category, channel=Channel.EMAIL, choice=Choice.OFF)
    log.info("unsubscribed", org_id=str(link.org_id), category=said.category)
    return _stopped(said.category)


def _stopped(category: str) -> Response:
    return page(HTTPStatus.OK, f"E-mail about {category} has stopped", "You need do nothing more.")
