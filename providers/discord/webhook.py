"""An alert as a message in a Discord channel (docs: alerts.md#discord)."""

import json
import re
from collections.abc import Callable
from datetime import datetime
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from providers.discord.failures import worded_wait
from providers.discord.messages import LONGEST_CONTENT, NOBODY, SUPPRESS_EMBEDS
from providers.ports import Meter, Notice
from providers.rest_client import utc_now
from providers.webhooks.post import PostClient

_MARKDOWN = re.compile(r"([\\*_~`|>\[\]()#<])")


class DiscordWebhook(PostClient):
    """Implements `providers.ports.AlertChannel` by an incoming webhook, whose address is its password."""

    def __init__(self, url: str, *, timeout_s: float, meter: Meter, clock: Callable[[], datetime] = utc_now) -> None:
        """As `PostClient`; `url` is what Discord shows when the webhook is made."""
        super().__init__(waiting(url), timeout_s=timeout_s, meter=meter, clock=clock)

    def send(self, notice: Notice) -> str | None:
        """Post it and wait until Discord has stored it; returns the message's id."""
        message = {"content": content_of(notice), "allowed_mentions": NOBODY, "flags": SUPPRESS_EMBEDS}
        answer = self.post(json.dumps(message).encode(), {}, wait=worded_wait)
        found = answer.field("id")
        return str(found) if found else None


def waiting(url: str) -> str:
    """The address with `wait=true`: without it the answer comes before the message is stored, and names no id."""
    parts = urlsplit(url)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "wait"]
    return urlunsplit(parts._replace(query=urlencode([*query, ("wait", "true")])))


def content_of(notice: Notice) -> str:
    """Title, text and id, within Discord's limit; a text that is too long loses its end, the id never."""
    head, end = f"**{plain(notice.title)}**\n", f"\n`{notice.notice_id}`"
    return (head + plain(notice.text))[: LONGEST_CONTENT - len(end)] + end


def plain(text: str) -> str:
    """The text as Discord shows it literally: a job's type may be any words, a link under another name among them."""
    return _MARKDOWN.sub(r"\\\1", text)
