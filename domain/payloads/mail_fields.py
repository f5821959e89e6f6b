"""Fields of an e-mail that is to be sent: what could break a header, or be read as another address, is refused.

Everything here is checked once more where the message is made; here the caller learns which field is wrong.
"""

import base64
import binascii
import re
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from domain.jobs.contract import LARGEST_PAYLOAD
from domain.payloads.mail_address import writable_address

LARGEST_ATTACHMENT = 180_000
"""Bytes of a file that travels in a payload. As base64 it takes 240,000 of the 262,144 bytes that a payload may have at
every entry point, and the rest is left to the words."""

LARGEST_FILES = 18_000_000
"""Bytes of the files of one mail together, which lie in artifacts. As base64 they take 24.6 MB: most mailboxes take
mails of 25 MB (https://support.google.com/mail/answer/6584), and no vendor that sends takes fewer."""
MOST_FILES = 20
"""Files of one mail that its sender names."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MAILBOX = re.compile(
    r'(?:(?P<quoted>"(?:[^"\\]|\\.)*+")|(?P<words>[^"\\<>()\[\],;:@]*+))\s*+<(?P<address>(?:"(?:[^"\\]|\\.)*+"|[^<>"])++)>'
)
_QUOTED_PAIR = re.compile(r"\\(.)")
_CONTENT_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,63}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,100}")


def _one_line(text: str) -> str:
    """The text, unless it holds what could end a header's line."""
    if _CONTROL.search(text):
        raise ValueError("holds a line break or another control character")
    return text


def mailbox_parts(text: str) -> tuple[str, str]:
    """The display name and the address, as it is written, of `ada@example.org` or `Ada Lovelace <ada@example.org>`.

    A name with a comma or other punctuation of addresses needs quotation marks (RFC 5322, 3.4). Raises `ValueError`
    for anything that is not exactly one address.
    """
    _one_line(text)
    whole = text.strip()
    found = _MAILBOX.fullmatch(whole)
    if found is None:
        name, address = "", whole
    else:
        name = _QUOTED_PAIR.sub(r"\1", found["quoted"][1:-1]) if found["quoted"] else found["words"].strip()
        address = found["address"].strip()
    return name, writable_address(address)


def _mailbox(text: str) -> str:
    mailbox_parts(text)
    return text


def _file_name(name: str) -> str:
    _one_line(name)
    if "/" in name or "\\" in name or name in {".", ".."}:
        raise ValueError("is a path: only a name may be given")
    return name


def _content_type(value: str) -> str:
    if not _CONTENT_TYPE.fullmatch(value):
        raise ValueError("is no media type such as application/pdf")
    if value.lower().startswith(("multipart/", "message/")):
        raise ValueError("is no type of a file: a message is attached as application/octet-stream")
    return value


def _file_content(text: str) -> str:
    try:
        size = len(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        raise ValueError("is not base64") from None
    if size > LARGEST_ATTACHMENT:
        raise ValueError(f"has {size} bytes; a file in a payload has at most {LARGEST_ATTACHMENT}")
    return text


HeaderText = Annotated[str, StringConstraints(max_length=998), AfterValidator(_one_line)]
"""One line of text in any script, as long as a subject that is read."""
MailboxText = Annotated[str, StringConstraints(min_length=3, max_length=1000), AfterValidator(_mailbox)]
"""`ada@example.org` or `Ada Lovelace <ada@example.org>`."""
FileName = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_file_name)]
ContentType = Annotated[str, StringConstraints(min_length=3, max_length=166), AfterValidator(_content_type)]
FileContent = Annotated[str, StringConstraints(max_length=LARGEST_PAYLOAD), AfterValidator(_file_content)]
"""Base64 with the standard alphabet and padding."""
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""Of a file's bytes, as hexadecimal digits."""
MessageId = Annotated[str, StringConstraints(min_length=3, max_length=998), AfterValidator(_one_line)]
"""An RFC 5322 message id with its angle brackets."""
GmailId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,100}$")]
"""The id that Gmail gives a message or a thread."""
