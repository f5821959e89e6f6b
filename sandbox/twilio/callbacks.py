"""Twilio's status callbacks: signed forms, sent when they are ordered, doubled and out of order if so ordered."""

import base64
import hashlib
import hmac
import urllib.error
import urllib.request
from dataclasses import dataclass
from random import Random
from urllib.parse import urlencode

from sandbox.emulator.exchange import Json
from sandbox.emulator.journal import Journal, JournalEntry

TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class CallbackOrder:
    """Which statuses of a message to post, and how.

    | field | meaning |
    |---|---|
    | `statuses` | `sent`, `delivered`, `undelivered`, `failed`, in the order in which they happened |
    | `copies` | how often each is posted |
    | `order` | `as_is`, `reversed`, or `shuffled` by `seed` |
    | `forged` | signed with another token |
    | `signed_url` | signed for another address than it is posted to |
    | `to_url` | posted to another address than the message's, and signed for the message's |
    | `error_code` | with each status that is a failure |
    """

    sid: str
    statuses: tuple[str, ...]
    copies: int = 1
    order: str = "as_is"
    seed: int = 0
    forged: bool = False
    signed_url: str = ""
    to_url: str = ""
    error_code: int = 30003


class Callbacks:
    """Posts to the address that came with the message; every post is a journal entry `callbacks.post`."""

    def __init__(self, journal: Journal, token: str) -> None:
        """`token` signs."""
        self._journal, self._token = journal, token

    def send(self, order: CallbackOrder, message: Json, url: str) -> list[int | None]:
        """Post what was ordered; returns the statuses, None where no answer came."""
        posts = [status for status in order.statuses for _ in range(order.copies)]
        if order.order == "reversed":
            posts.reverse()
        elif order.order == "shuffled":
            Random(order.seed).shuffle(posts)  # noqa: S311  # repeatable, not a secret
        return [self._post(order, message, status, url) for status in posts]

    def _post(self, order: CallbackOrder, message: Json, status: str, url: str) -> int | None:
        form = {
            "AccountSid": message["account_sid"],
            "MessageSid": message["sid"],
            "SmsSid": message["sid"],
            "MessageStatus": status,
            "SmsStatus": status,
            "To": message["to"],
            "From": message["from"] or "",
            "ApiVersion": "2010-04-01",
        }
        if status in {"failed", "undelivered"}:
            form["ErrorCode"] = str(order.error_code)
        signed_url, to_url = order.signed_url or url, order.to_url or url
        signature = signed("another" if order.forged else self._token, signed_url, form)
        headers = {"X-Twilio-Signature": signature, "Content-Type": "application/x-www-form-urlencoded"}
        request = urllib.request.Request(to_url, urlencode(form).encode(), headers, method="POST")  # noqa: S310  # the tester's own address
        answered: int | None
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310  # as above
                answered = answer.status
        except urllib.error.HTTPError as error:
            with error:
                answered = error.code
        except OSError:
            answered = None
        summary = {"sid": message["sid"], "message_status": status}
        self._journal.append(JournalEntry("callbacks.post", "POST", to_url, answered, summary=summary))
        return answered


def signed(token: str, url: str, form: Json) -> str:
    """Twilio's signature: the address, and each field's name and value by name, with HMAC-SHA1."""
    text = url + "".join(name + str(form[name]) for name in sorted(form))
    return base64.b64encode(hmac.new(token.encode(), text.encode(), hashlib.sha1).digest()).decode()
