"""The Gmail emulator's control API as typed methods: accounts, deliveries, a person's actions, lags, tokens, pushes."""

import base64
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote

from sandbox.emulator.client import ControlRefused, EmulatorControl, JournalledCall
from sandbox.emulator.fault_order import FaultOrder

__all__ = [
    "ControlRefused",
    "EmulatorControl",
    "FaultOrder",
    "GmailAccount",
    "GmailControl",
    "JournalledCall",
    "MailboxState",
    "MessagePlace",
]


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """A message after a control call: its thread, labels and the mailbox's history id."""

    message_id: str
    thread_id: str
    history_id: int
    mailbox_history_id: int


@dataclass(frozen=True, slots=True)
class MailboxState:
    """A whole mailbox, for assertions; field names as in `sandbox.google.mailbox.person.state_of`."""

    email: str
    history_id: int
    history_floor: int
    messages: list[dict[str, Any]]
    drafts: list[dict[str, Any]]
    labels: list[dict[str, Any]]
    threads: dict[str, list[str]]

    def message(self, message_id: str) -> dict[str, Any] | None:
        """A message's facts, or None when it is gone."""
        return next((each for each in self.messages if each["message_id"] == message_id), None)

    def labelled(self, label_id: str) -> list[dict[str, Any]]:
        """The messages that carry a label."""
        return [each for each in self.messages if label_id in each["label_ids"]]

    def label_names(self, message_id: str) -> set[str]:
        """The names of a message's labels."""
        names = {label["id"]: label["name"] for label in self.labels}
        message = self.message(message_id) or {"label_ids": []}
        return {names.get(label_id, label_id) for label_id in message["label_ids"]}


class GmailControl(EmulatorControl):
    """The whole emulator: accounts, clock, push."""

    def create_account(self, email: str, access_token: str, refresh_token: str, **options: object) -> "GmailAccount":
        """An empty mailbox.

        Options: `seed`, `history_id`, `expires_in_s`, `aliases` ({address: status}), `send_as` ({address: more facts of
        it in `settings.sendAs.list`}).
        """
        wish = {"email": email, "access_token": access_token, "refresh_token": refresh_token, **options}
        self.post("/_control/accounts", wish)
        return self.account(email)

    def account(self, email: str) -> "GmailAccount":
        """An account that exists."""
        return GmailAccount(self, email)

    def advance_clock(self, seconds: float) -> float:
        """Let time pass for tokens, quotas, watches and new mail; returns the emulator's time."""
        return float(self.post("/_control/clock", {"advance_s": seconds})["now"])

    def register_client(
        self, client_id: str, client_secret: str, *redirect_uris: str, subjects: dict[str, str] | None = None
    ) -> None:
        """Let an application ask for consent; `subjects` are the user ids of addresses, where they matter."""
        wish = {"client_id": client_id, "client_secret": client_secret, "redirect_uris": redirect_uris}
        self.post("/_control/oauth_client", wish | {"subjects": subjects or {}})

    def configure_push(self, url: str, audience: str, **options: object) -> dict[str, Any]:
        """Where to push from now on.

        Options: `service_account`, `subscription`, `enabled`, `loss`, `min_interval_s` (Gmail's own is 1.0, here 0),
        `delay_s`, `retry_initial_s`, `timeout_s`, `seed`. An empty URL stops the pushes and drops what waits.
        """
        return self.post("/_control/push_config", {"url": url, "audience": audience, **options})

    def push_state(self) -> dict[str, Any]:
        """The configuration, and under `pending` how many deliveries wait."""
        return self.get("/_control/push_config")

    def push(self, email: str, **options: object) -> list[int | None]:
        """Push once, now; the endpoint's statuses.

        Options: `copies` (at the same time, one Pub/Sub id), `history_id`, `history_id_as_number`,
        `url_safe_unpadded`, `garbage` (the data as it is), `audience`, `service_account`, `expired`, `unknown_kid`.
        """
        return list(self.post("/_control/push", {"email": email, **options})["statuses"])


class GmailAccount:
    """One mailbox, and what a person does with it."""

    def __init__(self, control: GmailControl, email: str) -> None:
        """The account must exist when a method is called."""
        self._control = control
        self.email = email
        self._path = f"/_control/accounts/{quote(email)}"

    def deliver(self, raw: bytes, **options: object) -> MessagePlace:
        """Mail from outside.

        Options: `label_ids`, `thread_id`, `internal_date` (ms since the epoch), and how many looks miss it:
        `hidden_gets`, `hidden_history`, `hidden_searches`.
        """
        return self._place("/messages", {"raw": base64.urlsafe_b64encode(raw).decode(), **options})

    def state(self) -> MailboxState:
        """Everything in the mailbox."""
        return MailboxState(**self._control.get(self._path))

    def raw(self, message_id: str) -> bytes:
        """A message's bytes."""
        return self._control.fetch("GET", f"{self._path}/messages/{message_id}/raw")

    def edit_draft(self, draft_id: str, **changes: str) -> MessagePlace:
        """Edit as a person: `text` and `subject`, or `raw` (base64url)."""
        return self._place(f"/drafts/{draft_id}/edit", changes)

    def send_draft(self, draft_id: str) -> MessagePlace:
        """Send as a person."""
        return self._place(f"/drafts/{draft_id}/send", {})

    def discard_draft(self, draft_id: str) -> None:
        """Discard as a person."""
        self._control.request("DELETE", f"{self._path}/drafts/{draft_id}")

    def label_message(self, message_id: str, *, add: tuple[str, ...] = (), remove: tuple[str, ...] = ()) -> None:
        """Labels by id or name on one message; an unknown name becomes a phantom label id."""
        self._order("/labels", {"message_id": message_id, "add": list(add), "remove": list(remove)})

    def label_thread(self, thread_id: str, *, add: tuple[str, ...] = (), remove: tuple[str, ...] = ()) -> None:
        """Labels by id or name on a conversation: one event per message."""
        self._order("/labels", {"thread_id": thread_id, "add": list(add), "remove": list(remove)})

    def archive(self, thread_id: str) -> None:
        """Take a conversation out of the inbox."""
        self.label_thread(thread_id, remove=("INBOX",))

    def delete_message(self, message_id: str) -> None:
        """Delete a message for good."""
        self._order("/delete", {"message_id": message_id})

    def delete_thread(self, thread_id: str) -> None:
        """Delete a conversation for good."""
        self._order("/delete", {"thread_id": thread_id})

    def turn(self, **knobs: int | None) -> Self:
        """Set any of `sandbox.google.mailbox.mailbox.Knobs`: search lag, quota, concurrency and so on."""
        self._order("/knobs", dict(knobs))
        return self

    def expire_history(self, floor: int | None = None) -> None:
        """Forget history before `floor`, or all of it so far."""
        self._order("/history", {"expire": True if floor is None else floor})

    def blank_history_pages(self, count: int) -> None:
        """Let the next `count` listings begin with a page that has a token and no `history`."""
        self._order("/history", {"blank_pages": count})

    def expire_access(self) -> None:
        """Invalidate every access token."""
        self._order("/tokens", {"expire_access": True})

    def revoke(self) -> None:
        """Withdraw the consent: refreshes answer `invalid_grant`."""
        self._order("/tokens", {"revoke": True})

    def consent(self, access_token: str, refresh_token: str) -> None:
        """Consent again with other tokens."""
        self._order("/tokens", {"consent": {"access_token": access_token, "refresh_token": refresh_token}})

    def lapse_watch(self) -> int:
        """Let the week of its watch be over; returns the history id of the last change that a push may tell of."""
        return int(self._order("/watch/lapse", {})["history_id"])

    def grant(self, scope: str) -> None:
        """Let the consent cover this scope and no other."""
        self._order("/tokens", {"scope": scope})

    def set_token_policy(self, *, expires_in_s: int | None = None, rotate: bool | None = None) -> None:
        """How long new access tokens live, and whether a refresh replaces the refresh token."""
        wish = {"expires_in_s": expires_in_s, "rotate": rotate}
        self._order("/tokens", {name: value for name, value in wish.items() if value is not None})

    def _order(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._control.post(self._path + path, body)

    def _place(self, path: str, body: dict[str, Any]) -> MessagePlace:
        return MessagePlace(**self._order(path, body))
