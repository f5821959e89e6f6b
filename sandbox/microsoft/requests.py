"""What Graph takes in a request about messages, and what it refuses: drafts as JSON and as MIME, files, filters."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.emulator.exchange import ApiFailure, Call, Json
from sandbox.emulator.written_mail import WrittenFile, WrittenMail, read_mail
from sandbox.microsoft.mailbox import Message

LARGEST_REQUEST = 4_194_304
MOST_HEADERS = 5
FIELDS = frozenset(
    {
        "subject", "body", "from", "sender", "toRecipients", "ccRecipients", "bccRecipients", "replyTo", "attachments",
        "internetMessageHeaders", "internetMessageId", "singleValueExtendedProperties", "importance", "categories",
        "conversationId", "isDeliveryReceiptRequested", "isReadReceiptRequested",
    }
)  # fmt: skip
_PROPERTY_ID = re.compile(
    r"(String|Integer|Boolean|Binary|SystemTime) (\{[0-9a-f-]{36}\} (Name \w+|Id 0x[0-9A-Fa-f]+)|0x[0-9A-Fa-f]+)"
)
_TEXT = r"'((?:[^']|'')*)'"
_BY_PROPERTY = re.compile(rf"singleValueExtendedProperties/any\(ep: ?ep/id eq {_TEXT} and ep/value eq {_TEXT}\)")
_BY_MESSAGE_ID = re.compile(rf"internetMessageId eq {_TEXT}")


@dataclass(frozen=True, slots=True)
class NewDraft:
    """What a request for a draft says."""

    mail: WrittenMail
    properties: Mapping[str, str]
    is_mime: bool


def new_draft(call: Call) -> NewDraft:
    """Read `POST /messages`: JSON, or base64 of MIME that calls itself `text/plain`."""
    kind = call.headers.get("content-type", "").partition(";")[0]
    if kind == "application/json":
        request = object_of(call)
        return NewDraft(_mail(request), properties_of(request), is_mime=False)
    if kind != "text/plain":
        raise ApiFailure(415, "RequestBodyRead", "The content type is not supported.")
    try:
        raw = base64.b64decode(call.body, validate=True)
    except binascii.Error as error:
        raise ApiFailure(400, "ErrorMimeContentInvalidBase64String", "Invalid base64 string for MIME.") from error
    return NewDraft(read_mail(raw), {}, is_mime=True)


def object_of(call: Call) -> Json:
    """The request's JSON object, below Graph's bound."""
    need_small(call)
    try:
        found = json.loads(call.body)
    except ValueError as error:
        raise ApiFailure(400, "BadRequest", "Unable to read JSON request payload.") from error
    if not isinstance(found, dict):
        raise ApiFailure(400, "BadRequest", "Unable to read JSON request payload.")
    return found


def need_small(call: Call) -> None:
    """Refuse a request of more than 4 MB."""
    if len(call.body) > LARGEST_REQUEST:
        raise ApiFailure(413, "RequestEntityTooLarge", "The request entity is too large.")


def properties_of(request: Json) -> dict[str, str]:
    """The extended properties that a request gives."""
    found = {}
    for one in request.get("singleValueExtendedProperties", []):
        if not _PROPERTY_ID.fullmatch(str(one.get("id"))) or not isinstance(one.get("value"), str):
            raise ApiFailure(400, "ErrorInvalidPropertyId", "The extended property is not valid.")
        found[one["id"]] = one["value"]
    return found


def new_file(request: Json) -> WrittenFile:
    """A file that is added by one request."""
    if request.get("@odata.type") != "#microsoft.graph.fileAttachment" or not request.get("name"):
        raise ApiFailure(400, "BadRequest", "An attachment needs a type and a name.")
    try:
        data = base64.b64decode(str(request.get("contentBytes")), validate=True)
    except binascii.Error as error:
        raise ApiFailure(400, "BadRequest", "Cannot convert the literal to the expected type.") from error
    return WrittenFile(request["name"], str(request.get("contentType") or "application/octet-stream"), data)


def matcher(text: str) -> Callable[[Message], bool]:
    """The messages that a `$filter` means; names are compared by case, values of properties are not."""
    if not text:
        return lambda _message: True
    found = _BY_PROPERTY.fullmatch(text)
    if found is not None:
        name, value = (one.replace("''", "'") for one in found.groups())
        return lambda message: message.properties.get(name, "").casefold() == value.casefold()
    found = _BY_MESSAGE_ID.fullmatch(text)
    if found is not None:
        wanted = found[1].replace("''", "'")
        return lambda message: message.mail.message_id == wanted
    raise ApiFailure(400, "ErrorInvalidUrlQueryFilter", "The query filter is not supported.")


def selected(document: Json, call: Call) -> Json:
    """Only the fields of `$select`; the id is always there."""
    names = call.first("$select")
    if not names:
        return document
    wanted = {"id", *names.split(",")}
    return {name: value for name, value in document.items() if name in wanted}


def _mail(request: Json) -> WrittenMail:
    unknown = set(request) - FIELDS
    if unknown:
        raise ApiFailure(400, "RequestBodyRead", f"The property '{min(unknown)}' does not exist on type 'message'.")
    body: dict[str, Any] = request.get("body") or {"contentType": "text", "content": ""}
    kind, content = str(body.get("contentType")).lower(), body.get("content")
    if kind not in {"text", "html"} or not isinstance(content, str):
        raise ApiFailure(400, "BadRequest", "The body is not valid.")
    sender = _people([request["from"]]) if request.get("from") else [("", "")]
    return WrittenMail(
        sender=sender[0],
        to=_people(request.get("toRecipients", [])),
        cc=_people(request.get("ccRecipients", [])),
        bcc=_people(request.get("bccRecipients", [])),
        reply_to=_people(request.get("replyTo", [])),
        subject=str(request.get("subject", "")),
        text=content if kind == "text" else None,
        html=content if kind == "html" else None,
        headers=_headers(request.get("internetMessageHeaders", [])),
        files=[new_file(one) for one in request.get("attachments", [])],
    )


def _headers(given: list[Json]) -> dict[str, str]:
    if len(given) > MOST_HEADERS:
        raise ApiFailure(400, "InvalidInternetMessageHeaderCollection", "Maximum number of headers is exceeded.")
    for one in given:
        if not str(one.get("name")).lower().startswith("x-"):
            raise ApiFailure(400, "InvalidInternetMessageHeader", "The name should start with 'x-' or 'X-'.")
    return {one["name"]: str(one.get("value")) for one in given}


def _people(given: list[Json]) -> list[tuple[str, str]]:
    try:
        found = [(str(one["emailAddress"].get("name", "")), str(one["emailAddress"]["address"])) for one in given]
    except (KeyError, TypeError) as error:
        raise ApiFailure(400, "ErrorInvalidRecipients", "At least one recipient is not valid.") from error
    if not all(re.fullmatch(r"[^\n]+@[^@\s]+", address) for _, address in found):
        raise ApiFailure(400, "ErrorInvalidRecipients", "At least one recipient is not valid.")
    return found
