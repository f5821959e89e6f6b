"""A notification's template: its texts for each channel, the category, and the sample that proves that they work.

What is saved was rendered with its sample on every channel, so a fault is seen by who writes the template and not by
who waits for the message.
"""

import re
from dataclasses import dataclass
from datetime import timedelta
from html import escape
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from domain.jobs.contract import first_problem, misfit
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.notifications import liquid
from domain.notifications.channels import Channel, check_category
from domain.notifications.cutting import cut
from domain.notifications.sms_text import SmsText, cheapest, in_segments, measure

LONGEST_TITLE = 200
"""Characters of a subject or a title: mail programs and telephones show fewer."""
LONGEST_INBOX = 4_000
"""Characters of a body."""
LARGEST_PUSH_TITLE, LARGEST_PUSH_BODY = 400, 1_000
"""Bytes: FCM takes 4,096 in all, with the device's token and the link, which it gets twice. No telephone shows more."""
LARGEST_PUSH_LINK = 500
LONGEST_TOGETHER = 2 * liquid.LONGEST_SOURCE
"""Characters of all texts of a template: an e-mail as text and as HTML is most of them."""
DAY_S = 86_400
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Marks that turn the direction of what follows: a title could show another address than it has."""
_LINK = re.compile(r"https://[^\s<>\"]{1,1990}")

Text = Annotated[str, Field(min_length=1, max_length=liquid.LONGEST_SOURCE)]


class TitledText(BaseModel):
    """A title and a body, as a telephone or the inbox shows them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Text
    body: Text
    link: Text | None = Field(None, description="Where a press leads: an https address.")


class Template(BaseModel):
    """What is said by each channel. A channel without its text is not used."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    category: str = Field(description="What people turn on and off, such as `bookings`.")
    subject: Text | None = Field(None, description="Of the e-mail, in one line.")
    text: Text | None = Field(None, description="The e-mail as plain text.")
    html: Text | None = Field(None, description="The e-mail's body in HTML, set into the one frame.")
    sms: Text | None = None
    push: TitledText | None = None
    inbox: TitledText | None = None
    sample: dict[str, Any] = Field(default_factory=dict, description="Data with every value that the texts name.")
    max_age_s: int = Field(3 * DAY_S, ge=60, le=30 * DAY_S, description="A message that is older is not sent.")
    digest_every_s: int = Field(3_600, ge=60, le=7 * DAY_S, description="How long a digest collects.")
    most_segments: int = Field(3, ge=1, le=10, description="How many segments an SMS may have; each is paid for.")

    @model_validator(mode="after")
    def _has_whole_channels(self) -> "Template":
        if (self.subject is None) is not (self.text is None):
            raise misfit("subject", "an e-mail has a subject and a text")
        if self.html is not None and self.text is None:
            raise misfit("html", "an e-mail in HTML has a text, too, for those who read no HTML")
        if not self.channels:
            raise misfit("text", "there is no text for any channel: subject and text, sms, push or inbox")
        if sum(len(source) for _, source in _sources(self)) > LONGEST_TOGETHER:
            raise misfit("text", f"all texts together have more than {LONGEST_TOGETHER} characters")
        return self

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channels that it has texts for."""
        texts = {Channel.EMAIL: self.text, Channel.SMS: self.sms, Channel.PUSH: self.push, Channel.INBOX: self.inbox}
        return tuple(channel for channel, text in texts.items() if text is not None)

    @property
    def max_age(self) -> timedelta:
        """How old a message may be that is still sent."""
        return timedelta(seconds=self.max_age_s)

    @property
    def digest_every(self) -> timedelta:
        """How long a digest collects."""
        return timedelta(seconds=self.digest_every_s)


@dataclass(frozen=True, slots=True)
class RenderedWords:
    """What one channel says."""

    title: str
    body: str
    html: str | None = None
    link: str | None = None


class Said(BaseModel):
    """What a delivery says: kept when that is decided, so that each attempt sends the same."""

    model_config = ConfigDict(frozen=True)

    words: RenderedWords
    category: str
    max_age: timedelta
    approval_id: UUID | None = None
    """What its reader is asked to decide about."""


def read_template(document: object) -> Template:
    """A template from a document, checked with its sample; raises `Invalid` with the field and the reason."""
    try:
        template = Template.model_validate(document)
    except ValidationError as error:
        raise first_problem(error) from None
    check_category("category", template.category)
    for field, source in _sources(template):
        liquid.check(field, source, template.sample)
    for channel in template.channels:
        words_of(template, channel, template.sample)
    cost = None if template.sms is None else measure(_sms(template, template.sample, "UTC"))
    if cost is not None and cost.segments > template.most_segments:
        raise Invalid(
            "sms", f"has {cost.segments} segments ({cost.encoding}), and may have 1 to {template.most_segments}"
        )
    return template


def words_of(template: Template, channel: Channel, data: JsonObject, *, zone: str = "UTC") -> RenderedWords:
    """What the channel says of the data to a reader in that zone; raises `Invalid`."""

    def rendered(field: str, source: str | None, *, escapes: bool = False) -> str:
        return liquid.render(field, source or "", data, zone=zone, escapes=escapes)

    if channel is Channel.EMAIL:
        html = None if template.html is None else rendered("html", template.html, escapes=True)
        return RenderedWords(
            _title("subject", rendered("subject", template.subject)), rendered("text", template.text), html
        )
    if channel is Channel.SMS:
        return RenderedWords("", in_segments(_sms(template, data, zone), template.most_segments))
    titled = template.push if channel is Channel.PUSH else template.inbox
    if titled is None:
        raise Invalid("channel", f"the template has no text for {channel.value}")
    link = None if titled.link is None else rendered(f"{channel.value}.link", titled.link).strip()
    if link is not None and not _LINK.fullmatch(link):
        raise Invalid(f"{channel.value}.link", "is no https address")
    title = _title(f"{channel.value}.title", rendered(f"{channel.value}.title", titled.title))
    body = rendered(f"{channel.value}.body", titled.body).strip()
    if channel is Channel.INBOX:
        return RenderedWords(title, shortened(body, LONGEST_INBOX), link=link)
    if link is not None and len(link.encode()) > LARGEST_PUSH_LINK:
        raise Invalid("push.link", f"has more than {LARGEST_PUSH_LINK} bytes")
    return RenderedWords(in_bytes(title, LARGEST_PUSH_TITLE), in_bytes(body, LARGEST_PUSH_BODY), link=link)


def one_line(text: str) -> str:
    """A text as a header carries it, in one line without control characters: a value cannot begin another header."""
    return shortened(" ".join(_BIDI.sub("", _CONTROL.sub(" ", text)).split()), LONGEST_TITLE)


def shortened(text: str, most: int) -> str:
    """The text, cut where it is too long; the cut is seen."""
    return cut(text, lambda some: len(some) <= most)


def in_bytes(text: str, most: int) -> str:
    """The text, cut where it has more bytes in UTF-8; the cut is seen."""
    return cut(text, lambda some: len(some.encode()) <= most)


def _title(field: str, text: str) -> str:
    title = one_line(text)
    if not title:
        raise Invalid(field, "says nothing")
    return title


def _sms(template: Template, data: JsonObject, zone: str) -> str:
    """The whole text of the SMS, however long."""
    text = cheapest(liquid.render("sms", template.sms or "", data, zone=zone).strip())
    if not text:
        raise Invalid("sms", "says nothing")
    return text


def _sources(template: Template) -> list[tuple[str, str]]:
    found = [(name, getattr(template, name)) for name in ("subject", "text", "html", "sms")]
    for name in ("push", "inbox"):
        titled: TitledText | None = getattr(template, name)
        if titled is not None:
            found += [(f"{name}.{part}", getattr(titled, part)) for part in ("title", "body", "link")]
    return [(field, source) for field, source in found if source is not None]


@dataclass(frozen=True, slots=True)
class Preview:
    """What a template says of some data, by each channel, and what its SMS costs."""

    words: dict[Channel, RenderedWords]
    sms: SmsText | None


def preview(template: Template, data: JsonObject, *, zone: str = "UTC") -> Preview:
    """Every channel's words; raises `Invalid`."""
    words = {channel: words_of(template, channel, data, zone=zone) for channel in template.channels}
    return Preview(words, measure(words[Channel.SMS].body) if Channel.SMS in words else None)


_FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>{title}</title></head>
<body style="margin:0;padding:0"><div style="max-width:36rem;margin:0 auto;padding:24px 16px;\
font:16px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif">
{content}
{footer}</div></body></html>
"""
_FOOTER = '<p style="margin-top:32px;font-size:13px;opacity:.7">{words}</p>\n'


def frame(words: RenderedWords, category: str, unsubscribe_url: str | None) -> str:
    """The e-mail's HTML in its frame; with an address to unsubscribe where the category can be muted."""
    footer = ""
    if unsubscribe_url is not None:
        link = f'<a href="{escape(unsubscribe_url)}" style="color:inherit">Stop e-mail about {escape(category)}</a>'
        footer = _FOOTER.format(words=link)
    return _FRAME.format(title=escape(words.title), content=words.html or "", footer=footer)


def text_with_footer(words: RenderedWords, category: str, unsubscribe_url: str | None) -> str:
    """The e-mail's text; with the same address."""
    if unsubscribe_url is None:
        return words.body
    return f"{words.body.rstrip()}\n\n-- \nStop e-mail about {category}: {unsubscribe_url}\n"
