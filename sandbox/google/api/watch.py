"""Gmail's watch: which mailboxes push which changes, until when, and in which envelope."""

import base64
import json
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json
from sandbox.google.api.pubsub_push import PushService
from sandbox.google.mailbox.mailbox import Mailbox

WEEK_S = 7 * 86_400


@dataclass(frozen=True, slots=True)
class ActiveWatch:
    """One mailbox's watch."""

    topic: str
    label_ids: frozenset[str]
    exclude: bool
    expires_at: float

    def concerns(self, label_ids: frozenset[str]) -> bool:
        """Whether a change of a message with these labels is pushed."""
        return not self.label_ids or bool(self.label_ids & label_ids) != self.exclude


class Watches:
    """The watches of all mailboxes."""

    def __init__(self, push: PushService) -> None:
        """No watches."""
        self._push = push
        self._active: dict[str, ActiveWatch] = {}

    def start(self, mailbox: Mailbox, call: Call) -> Answer:
        """`users.watch`: for a week; another topic is refused, the same renews; one push comes at once."""
        wish = call.json()
        topic = str(wish.get("topicName", ""))
        if not re.fullmatch(r"projects/[^/]+/topics/[^/]+", topic):
            raise ApiFailure(400, "invalidArgument", f"Invalid topicName does not match projects/…/topics/*: {topic}")
        current = self.of(mailbox)
        if current and current.topic != topic:
            message = "Only one user push notification client allowed per developer (call /stop then try again)"
            raise ApiFailure(400, "invalidArgument", message)
        behaviour = str(wish.get("labelFilterBehavior", wish.get("labelFilterAction", "include"))).lower()
        expires_at = mailbox.clock.now() + WEEK_S
        watch = ActiveWatch(topic, frozenset(wish.get("labelIds", [])), behaviour == "exclude", expires_at)
        self._active[mailbox.email] = watch
        self._push.notify(mailbox.email, envelope(mailbox.email, mailbox.history.current, self._push), watch_start=True)
        body = {"historyId": str(mailbox.history.current), "expiration": str(int(expires_at * 1000))}
        return Answer(body=body, summary={"topic": topic, "expiration": body["expiration"]})

    def stop(self, mailbox: Mailbox, _call: Call) -> Answer:
        """`users.stop`: no more pushes; stopping twice is fine."""
        self._active.pop(mailbox.email, None)
        return Answer(204)

    def lapse(self, mailbox: Mailbox) -> None:
        """The week of a mailbox's watch is over; Gmail tells nobody."""
        watch = self._active.get(mailbox.email)
        if watch:
            self._active[mailbox.email] = replace(watch, expires_at=mailbox.clock.now())

    def of(self, mailbox: Mailbox) -> ActiveWatch | None:
        """The watch of a mailbox that has not lapsed."""
        watch = self._active.get(mailbox.email)
        return watch if watch and watch.expires_at > mailbox.clock.now() else None

    def changed(self, mailbox: Mailbox, history_id: int, label_ids: frozenset[str]) -> None:
        """Push a change, if the mailbox is watched."""
        watch = self.of(mailbox)
        if watch and watch.concerns(label_ids):
            self._push.notify(mailbox.email, envelope(mailbox.email, history_id, self._push))

    def reset(self) -> None:
        """No watches."""
        self._active.clear()


def envelope(email: str, history_id: int, push: PushService) -> Json:
    """A notification as Pub/Sub posts it."""
    data = base64.b64encode(json.dumps({"emailAddress": email, "historyId": str(history_id)}).encode()).decode()
    return wrap(data, push)


def wrap(data: str, push: PushService) -> Json:
    """Any data in Pub/Sub's envelope; with both spellings of id and time, as the real service sends them."""
    message_id = push.next_message_id()
    published = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    message = {
        "data": data,
        "messageId": message_id,
        "message_id": message_id,
        "publishTime": published,
        "publish_time": published,
    }
    return {"message": message, "subscription": push.config.subscription}
