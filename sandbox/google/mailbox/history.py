"""A mailbox's history as Gmail keeps it: ids with random gaps, a floor below which records are forgotten, pages."""

import base64
import binascii
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from sandbox.emulator.exchange import ApiFailure, Json

ChangeKind = Literal["messagesAdded", "messagesDeleted", "labelsAdded", "labelsRemoved"]
TYPE_NAMES: dict[str, ChangeKind] = {
    "messageAdded": "messagesAdded",
    "messageDeleted": "messagesDeleted",
    "labelAdded": "labelsAdded",
    "labelRemoved": "labelsRemoved",
}
LARGEST_GAP = 240
LARGEST_ID = 2**64 - 1


@dataclass(slots=True)
class HistoryRecord:
    """One change of one message. The next `hidden` listings that reach it end before it."""

    history_id: int
    kind: ChangeKind
    message: Json
    label_ids: list[str] = field(default_factory=list)
    hidden: int = 0

    def as_json(self) -> Json:
        """The record with `messages` repeating what the specific list says, as Gmail does."""
        detail: Json = {"message": self.message}
        if self.kind in ("labelsAdded", "labelsRemoved"):
            detail["labelIds"] = self.label_ids
        bare = {name: self.message[name] for name in ("id", "threadId")}
        return {"id": str(self.history_id), "messages": [bare], self.kind: [detail]}

    def concerns(self, label_id: str) -> bool:
        """Whether a listing limited to a label shows it."""
        return label_id in self.label_ids or label_id in self.message.get("labelIds", [])


class History:
    """The records of one mailbox, oldest first."""

    def __init__(self, start: int, random: Random) -> None:
        """`start` is the current id of the empty history; ids are unsigned 64-bit numbers."""
        self.current = start
        self.floor = start
        """Listings from below this id answer 404."""
        self.blank_pages = 0
        """How many of the next listings begin with a page that has a token and no `history`."""
        self._random = random
        self._records: list[HistoryRecord] = []

    def add(self, kind: ChangeKind, message: Json, label_ids: Collection[str] = (), hidden: int = 0) -> HistoryRecord:
        """Append a change under the next id, which is a random step away."""
        self.current = min(self.current + self._random.randint(1, LARGEST_GAP), LARGEST_ID)
        record = HistoryRecord(self.current, kind, message, sorted(label_ids), hidden)
        self._records.append(record)
        return record

    def expire(self, floor: int | None = None) -> int:
        """Forget everything before `floor` (default: everything so far); returns the new floor."""
        self.floor = self.current if floor is None else floor
        return self.floor

    def forget_labels(self, message_id: str) -> None:
        """Say no labels of a message any more in the records so far."""
        for record in self._records:
            if record.message["id"] == message_id:
                record.message.pop("labelIds", None)

    def page(self, start: int, kinds: Collection[ChangeKind], label_id: str, size: int, token: str) -> Json:
        """One page of `history.list`; 404 for a start id that is too old or unknown."""
        if start < self.floor or start > self.current:
            raise ApiFailure(404, "notFound", "Requested entity was not found.")
        if not token and self.blank_pages > 0:
            self.blank_pages -= 1
            return {"nextPageToken": page_token(start), "historyId": str(self.current)}
        after = read_page_token(token) if token else start
        visible, current = self._visible(after)
        wanted = [record for record in visible if _is_wanted(record, kinds, label_id)]
        answer: Json = {"historyId": str(current)}
        if wanted:
            answer["history"] = [record.as_json() for record in wanted[:size]]
        if len(wanted) > size:
            answer["nextPageToken"] = page_token(wanted[size - 1].history_id)
        return answer

    def _visible(self, after: int) -> tuple[Sequence[HistoryRecord], int]:
        """The records after an id up to the first one still hidden, and the id a cursor may take."""
        seen: list[HistoryRecord] = []
        for record in self._records:
            if record.history_id <= after:
                continue
            if record.hidden > 0:
                record.hidden -= 1
                return seen, seen[-1].history_id if seen else after
            seen.append(record)
        return seen, self.current


def _is_wanted(record: HistoryRecord, kinds: Collection[ChangeKind], label_id: str) -> bool:
    return (not kinds or record.kind in kinds) and (not label_id or record.concerns(label_id))


def page_token(position: int, listing: int = 0) -> str:
    """An opaque token that names a position, and may be unlike that of another listing."""
    return base64.urlsafe_b64encode(json.dumps({"after": position, "listing": listing}).encode()).decode()


def read_page_token(token: str) -> int:
    """The position that a token names; refused with 400 when it is unknown."""
    try:
        return int(json.loads(base64.urlsafe_b64decode(token))["after"])
    except (ValueError, KeyError, TypeError, binascii.Error) as error:
        raise ApiFailure(400, "invalidArgument", "Invalid pageToken") from error
