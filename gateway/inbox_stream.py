"""A person's inbox as a stream of server-sent events (WHATWG HTML, 9.2), which a client may leave and take up again.

A bell only rings (`InboxBells`): each stream reads its own items after the number that it has sent last, and looks each
time that it says that it is still there, so a ring that is lost loses no item.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import structlog
from fastapi import APIRouter, Header, Request
from fastapi.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from domain.jobs.failures import Failure, Forbidden, Gone, Invalid
from domain.orgs.privacy.redaction import redact_document
from gateway.http.bounded_protocol import END_STREAM
from gateway.http.callers import Reader, key_holder
from gateway.http.problems import problems
from gateway.http.resources import resources_of
from operations.notifications.inbox import ItemView
from storage.notifications import inbox, people
from storage.postgres.execution import DatabaseError

log = structlog.get_logger(__name__)
router = APIRouter(prefix="/v1", tags=["inbox"])

COMMENT_EVERY_S = 15.0
"""Proxies close a connection on which nothing comes for a minute or less."""
LASTS_S = 600.0
"""A client comes again then."""
PAGE = 100
LARGEST_SEQ = 2**63 - 1


class InboxStream(Response):
    """The stream of one inbox after a number."""

    media_type = "text/event-stream"

    def __init__(self, request: Request, whose: tuple[UUID, UUID], after: int) -> None:
        """`whose` are an org and a person of it."""
        super().__init__()
        self._request, self._resources = request, resources_of(request)
        self._org_id, self._user_id = whose
        self._after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send items until the client is gone, the time is over or the gateway stops.

        Raises `Throttled` before it begins.
        """
        with self._resources.streams.hold(self._org_id), self._resources.bells.watch(self._user_id) as bell:
            headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            gone = asyncio.create_task(_until_gone(receive))
            scope[END_STREAM] = gone.cancel
            try:
                await self._tell(send, bell, gone)
            except (Failure, DatabaseError) as error:
                log.warning("inbox_stream_ended", code=type(error).__name__)
            finally:
                gone.cancel()
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(self, send: Send, bell: asyncio.Event, gone: "asyncio.Task[None]") -> None:
        ends_at = asyncio.get_running_loop().time() + LASTS_S
        await send(_part(": this is the inbox\nretry: 3000\n\n"))
        while not gone.done() and asyncio.get_running_loop().time() < ends_at:
            bell.clear()
            async with self._resources.requests.hold(self._org_id):
                items = await run_in_threadpool(self._look)
            for item in items:
                await send(_part(event_of(item)))
                self._after = item.seq
            if len(items) < PAGE and not await _rung(bell, gone):
                await send(_part(": still here\n\n"))

    def _look(self) -> Sequence[ItemView]:
        if key_holder(self._request) is None:
            raise Forbidden("the API key was revoked, or has expired")
        with self._resources.database.tenant(self._org_id) as tx:
            found = inbox.after(tx, self._org_id, self._user_id, self._after, limit=PAGE)
        return [ItemView.model_validate(row) for row in found]


@router.get(
    "/users/{user_id}/inbox/stream",
    operation_id="stream_inbox",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {}}}, **problems(401, 403, 404, 422, 429, 503)},
)
def stream_inbox(
    request: Request, caller: Reader, user_id: UUID, last_event_id: Annotated[str | None, Header()] = None
) -> Response:
    """Send a person's new inbox items as they come (server-sent events): after `Last-Event-ID`, else from now on.

    Each event's id is the item's `seq`, and its data the item as `list_inbox` shows it. The stream ends after ten
    minutes; clients of the standard come again by themselves, with the id of the last event.
    """
    resources = resources_of(request)
    with resources.database.tenant(caller.org_id) as tx:
        if people.person(tx, caller.org_id, user_id) is None:
            raise Gone(f"user_id: the org has nobody of the id {user_id}")
        after = inbox.newest(tx, caller.org_id, user_id) if last_event_id is None else _seq(last_event_id)
    return InboxStream(request, (caller.org_id, user_id), after)


def event_of(item: ItemView) -> str:
    """An item as an event; JSON has no line break, so the data are one line."""
    document = redact_document(item.model_dump(mode="json"))
    return f"id: {item.seq}\nevent: item\ndata: {json.dumps(document)}\n\n"


def _seq(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_SEQ)) and int(text) <= LARGEST_SEQ):
        raise Invalid("last-event-id", "is no number of an item")
    return int(text)


def _part(text: str) -> Message:
    return {"type": "http.response.body", "body": text.encode(), "more_body": True}


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _rung(bell: asyncio.Event, gone: "asyncio.Task[None]") -> bool:
    """Wait for the bell, for the client's leave, or for the time of a comment; false for that."""
    ringing = asyncio.create_task(bell.wait())
    done, _ = await asyncio.wait({ringing, gone}, timeout=COMMENT_EVERY_S, return_when=asyncio.FIRST_COMPLETED)
    ringing.cancel()
    return bool(done)
