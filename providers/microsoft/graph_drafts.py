"""From a mail to the request that makes its draft, and whether a draft holds the mail's files; pure (docs: graph.md).

JSON can carry our own property in the same call, by which the draft is found again. It takes only `x-` headers and one
body, so a mail with another header, or with a text beside its HTML, becomes a draft from MIME, found by its Message-ID.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from domain.mail.outgoing.outgoing_mail import AttachmentBody, MailMessage, attachment_name, message_bytes
from domain.payloads.mail_address import Address
from providers.ports.email import EmailAttachment, OutgoingEmail

PROPERTY = "String {3a1d9c52-7b0e-4a7c-9a53-6f2c8f0f4b11} Name PostroomReference"
"""Our own extended property: a name in a namespace of ours, so that no other application has the same."""
MOST_HEADERS = 5
"""`internetMessageHeaders` of one message
(https://learn.microsoft.com/en-us/graph/api/resources/internetmessageheader)."""
LARGEST_REQUEST = 3_500_000
"""Bytes of a request that makes a draft: more than 4 MB are answered by 413, and a gateway may count otherwise."""
UPLOAD_FROM = 3_000_000
"""Bytes from which a file is uploaded in parts: one request was seen to take 3,145,611, an upload at least 2,097,152
(https://github.com/microsoftgraph/msgraph-sdk-java/pull/52)."""

_X_HEADER = re.compile(r"[xX]-[A-Za-z0-9-]{1,60}")
_LOCAL_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """The body that makes a draft."""

    content_type: str
    body: bytes
    is_mime: bool


class ListedFile(NamedTuple):
    """An attachment as a draft lists it."""

    name: str
    size: int


class Difference(NamedTuple):
    """What a draft lacks of the mail's files, by their index, and how many it has that are none of them."""

    missing: tuple[int, ...]
    surplus: int


def draft_request(email: OutgoingEmail) -> DraftRequest:
    """The request of the draft: with the files if that is small enough, else without."""
    make = _mime_request if needs_mime(email) else _json_request
    whole = make(email, email.attachments)
    if len(whole.body) <= LARGEST_REQUEST or not email.attachments:
        return whole
    return make(email, ())


def needs_mime(email: OutgoingEmail) -> bool:
    """Whether JSON cannot say what the mail is."""
    has_both = email.text is not None and email.html is not None
    return has_both or len(email.headers) > MOST_HEADERS or not all(map(_X_HEADER.fullmatch, email.headers))


def message_id_of(email: OutgoingEmail) -> str:
    """The Message-ID of a draft from MIME: the same for each attempt."""
    local = email.reference
    if not _LOCAL_PART.fullmatch(local):
        local = hashlib.sha256(local.encode()).hexdigest()[:48]
    return f"<{local}@{email.sender.domain}>"


def mark(reference: str) -> bytes:
    """The request that gives our property to a draft that lacks it."""
    return json.dumps({"singleValueExtendedProperties": [_property(reference)]}).encode()


def property_filter(reference: str) -> str:
    """The `$filter` of messages that carry our property."""
    return f"singleValueExtendedProperties/any(ep: ep/id eq {_quoted(PROPERTY)} and ep/value eq {_quoted(reference)})"


def message_id_filter(message_id: str) -> str:
    """The `$filter` of messages with a Message-ID."""
    return f"internetMessageId eq {_quoted(message_id)}"


def compare_files(wanted: Sequence[EmailAttachment], listed: Sequence[ListedFile]) -> Difference:
    """Compare by name and size. Exchange counts what it stores beside a file, so a listed size may be the greater one.

    Source: https://github.com/microsoftgraph/microsoft-graph-docs/issues/9796.
    """
    left = sorted(listed, key=lambda one: one.size)
    missing = []
    for index, one in sorted(enumerate(wanted), key=lambda pair: -pair[1].size):
        name = attachment_name(one.name)
        found = next((file for file in left if file.name == name and file.size >= one.size), None)
        if found is None:
            missing.append(index)
        else:
            left.remove(found)
    return Difference(tuple(sorted(missing)), len(left))


def file_document(one: EmailAttachment) -> dict[str, Any]:
    """A file that is added by one request."""
    return {
        "@odata.type": "#microsoft.graph.fileAttachment",
        "name": attachment_name(one.name),
        "contentType": one.content_type,
        "contentBytes": base64.b64encode(one.read()).decode(),
    }


def upload_document(one: EmailAttachment) -> dict[str, Any]:
    """What announces a file that is uploaded in parts."""
    name = attachment_name(one.name)
    item = {"attachmentType": "file", "name": name, "size": one.size, "contentType": one.content_type}
    return {"AttachmentItem": item}


def _json_request(email: OutgoingEmail, files: Sequence[EmailAttachment]) -> DraftRequest:
    is_html = email.html is not None
    document: dict[str, Any] = {
        "subject": email.subject,
        "body": {"contentType": "html" if is_html else "text", "content": email.html if is_html else email.text},
        "from": _recipient(email.sender),
        "toRecipients": [_recipient(one) for one in email.to],
        "singleValueExtendedProperties": [_property(email.reference)],
    }
    for name, addresses in (("ccRecipients", email.cc), ("bccRecipients", email.bcc), ("replyTo", email.reply_to)):
        if addresses:
            document[name] = [_recipient(one) for one in addresses]
    if email.headers:
        document["internetMessageHeaders"] = [{"name": name, "value": text} for name, text in email.headers.items()]
    if files:
        document["attachments"] = [file_document(one) for one in files]
    return DraftRequest("application/json", json.dumps(document).encode(), is_mime=False)


def _mime_request(email: OutgoingEmail, files: Sequence[EmailAttachment]) -> DraftRequest:
    """Graph takes MIME as base64 that calls itself `text/plain`.

    Source: https://learn.microsoft.com/en-us/graph/api/user-post-messages.
    """
    raw = message_bytes(
        MailMessage(
            sender=email.sender,
            to=email.to,
            cc=email.cc,
            bcc=email.bcc,
            subject=email.subject,
            text=email.text or "",
            html=email.html or "",
            token=None,
            date=None,
            reply_to=email.reply_to,
            files=tuple(AttachmentBody(one.name, one.content_type, one.read()) for one in files),
            message_id=message_id_of(email),
            headers=email.headers,
        )
    )
    return DraftRequest("text/plain", base64.b64encode(raw), is_mime=True)


def _recipient(one: Address) -> dict[str, Any]:
    named = {"name": one.name} if one.name else {}
    return {"emailAddress": {"address": one.address, **named}}


def _property(reference: str) -> dict[str, str]:
    return {"id": PROPERTY, "value": reference}


def _quoted(text: str) -> str:
    """A text of OData, in which a quotation mark is doubled (OData 4.01, URL conventions, 5.1.1.6.1)."""
    return "'" + text.replace("'", "''") + "'"
