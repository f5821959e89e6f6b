"""A mail as an emulated provider took it, and the bytes that its recipients get."""

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import formataddr, getaddresses
from typing import Any

from sandbox.emulator.exchange import Json

LINES = policy.SMTP.clone(max_line_length=990)
"""Where Python 3.11 folds a subject before its first word, it reads a space that nobody wrote."""
OWN_HEADERS = frozenset(
    {
        "from", "to", "cc", "bcc", "reply-to", "subject", "message-id", "mime-version", "content-type",
        "content-transfer-encoding",
    }
)  # fmt: skip
"""Headers that are fields of a mail; the rest are its further headers."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """An attachment."""

    name: str
    content_type: str
    data: bytes = field(repr=False)

    def as_json(self) -> Json:
        """With its content, for a test to compare."""
        return {
            "name": self.name,
            "content_type": self.content_type,
            "size": len(self.data),
            "sha256": hashlib.sha256(self.data).hexdigest(),
            "content": base64.b64encode(self.data).decode(),
        }


@dataclass(slots=True)
class WrittenMail:
    """What a provider was given; addresses as `(name, address)`."""

    sender: tuple[str, str]
    to: list[tuple[str, str]]
    subject: str
    text: str | None = None
    html: str | None = None
    cc: list[tuple[str, str]] = field(default_factory=list)
    bcc: list[tuple[str, str]] = field(default_factory=list)
    reply_to: list[tuple[str, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    files: list[WrittenFile] = field(default_factory=list)
    message_id: str = ""

    @property
    def size(self) -> int:
        """Bytes of its content, about."""
        return sum(len(one.data) for one in self.files) + len(self.text or "") + len(self.html or "")

    def as_json(self) -> Json:
        """Everything in it."""
        return {
            "sender": list(self.sender),
            **{name: [list(one) for one in getattr(self, name)] for name in ("to", "cc", "bcc", "reply_to")},
            "subject": self.subject,
            "text": self.text,
            "html": self.html,
            "headers": dict(self.headers),
            "attachments": [one.as_json() for one in self.files],
            "message_id": self.message_id,
        }

    def raw(self) -> bytes:
        """The bytes that a recipient gets, without the hidden recipients."""
        mail = EmailMessage(policy=LINES)
        mail["From"] = _line([self.sender])
        for name, addresses in (("To", self.to), ("Cc", self.cc), ("Reply-To", self.reply_to)):
            if addresses:
                mail[name] = _line(addresses)
        mail["Subject"] = self.subject
        if self.message_id:
            mail["Message-ID"] = self.message_id
        for name, value in self.headers.items():
            mail[name] = value
        mail.set_content(self.text or "", charset="utf-8")
        if self.html is not None:
            if self.text is None:
                mail.set_content(self.html, subtype="html", charset="utf-8")
            else:
                mail.add_alternative(self.html, subtype="html", charset="utf-8")
        for one in self.files:
            maintype, _, subtype = one.content_type.partition("/")
            mail.add_attachment(one.data, maintype=maintype, subtype=subtype or "octet-stream", filename=one.name)
        return mail.as_bytes()


def read_mail(raw: bytes) -> WrittenMail:
    """The mail of RFC 822 bytes."""
    mail = message_from_bytes(raw, policy=policy.default)
    text, html = (mail.get_body((kind,)) for kind in ("plain", "html"))
    sender = _addresses(mail, "from")
    return WrittenMail(
        sender=sender[0] if sender else ("", ""),
        to=_addresses(mail, "to"),
        cc=_addresses(mail, "cc"),
        bcc=_addresses(mail, "bcc"),
        reply_to=_addresses(mail, "reply-to"),
        subject=str(mail.get("subject", "")),
        text=None if text is None else _content(text),
        html=None if html is None else _content(html),
        headers={name: str(value) for name, value in mail.items() if name.lower() not in OWN_HEADERS},
        files=[_file(part) for part in mail.iter_attachments()],
        message_id=str(mail.get("message-id", "")),
    )


def _content(part: Any) -> str:  # noqa: ANN401 - the policy decides the class
    return str(part.get_content()).replace("\r\n", "\n")


def _addresses(mail: Any, name: str) -> list[tuple[str, str]]:  # noqa: ANN401 - the policy decides the class
    return getaddresses([str(one) for one in mail.get_all(name, [])])


def _file(part: Any) -> WrittenFile:  # noqa: ANN401 - the policy decides the class
    return WrittenFile(part.get_filename() or "", part.get_content_type(), part.get_payload(decode=True) or b"")


def _line(addresses: Iterable[tuple[str, str]]) -> str:
    return ", ".join(formataddr(one) for one in addresses)
