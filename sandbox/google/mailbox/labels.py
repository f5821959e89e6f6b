"""A mailbox's labels and Gmail's rules for their names."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sandbox.emulator.exchange import ApiFailure, Json
from sandbox.google.mailbox.palette import PALETTE

SYSTEM_LABELS = (
    "INBOX", "SENT", "DRAFT", "TRASH", "SPAM", "UNREAD", "STARRED", "IMPORTANT", "CHAT",
    "CATEGORY_PERSONAL", "CATEGORY_SOCIAL", "CATEGORY_PROMOTIONS", "CATEGORY_UPDATES", "CATEGORY_FORUMS",
)  # fmt: skip
FIXED_LABELS = frozenset({"SENT", "DRAFT"})
"""Neither added nor removed by anyone (docs: gmail.md#drafts)."""
RESERVED_NAMES = frozenset(
    {"all mail", "bin", "chats", "drafts", "muted", "scheduled", "snoozed"}
    | {name.casefold() for name in SYSTEM_LABELS}
)
LONGEST_NAME = 225
MOST_LABELS = 10_000


@dataclass(slots=True)
class Label:
    """One label. The id never changes; the name may."""

    label_id: str
    name: str
    kind: str = "user"
    extras: Json = field(default_factory=dict)

    def as_json(self) -> Json:
        """The resource without counts, as `labels.list` shows it."""
        return {"id": self.label_id, "name": self.name, "type": self.kind, **self.extras}


class LabelBook:
    """The labels of one mailbox."""

    def __init__(self, most: int = MOST_LABELS) -> None:
        """System labels only."""
        self._labels = {name: Label(name, name, "system") for name in SYSTEM_LABELS}
        self._next = 1
        self.most = most

    def all(self) -> list[Label]:
        """Every label, system labels first."""
        return list(self._labels.values())

    def get(self, label_id: str) -> Label:
        """A label by id, or 404."""
        try:
            return self._labels[label_id]
        except KeyError:
            raise ApiFailure(404, "notFound", "Requested entity was not found.") from None

    def named(self, name: str) -> Label | None:
        """A label by its exact name."""
        return next((label for label in self._labels.values() if label.name == name), None)

    def create(self, wish: Json) -> Label:
        """Make a user label; 409 when the name or a look-alike exists, 400 when it cannot be a name."""
        name = str(wish.get("name", ""))
        self._check_name(name)
        if len(self._labels) - len(SYSTEM_LABELS) >= self.most:
            raise ApiFailure(400, "invalidArgument", "Too many labels")
        label = Label(f"Label_{self._next}", name, extras=_extras(wish))
        self._next += 1
        self._labels[label.label_id] = label
        return label

    def update(self, label_id: str, wish: Json) -> Label:
        """Rename or recolour a user label."""
        label = self._own(label_id)
        name = str(wish.get("name", label.name))
        self._check_name(name, besides=label_id)
        label.name = name
        label.extras = {**label.extras, **_extras(wish)}
        return label

    def delete(self, label_id: str) -> None:
        """Remove a user label; system labels stay."""
        del self._labels[self._own(label_id).label_id]

    def check_change(self, add: Iterable[str], remove: Iterable[str]) -> None:
        """Refuse with 400 what Gmail refuses: unknown ids, SENT and DRAFT, more than 100 of either."""
        for label_ids in (list(add), list(remove)):
            if len(label_ids) > 100:  # noqa: PLR2004  # Gmail's own number, docs: gmail.md#labels
                raise ApiFailure(400, "invalidArgument", "Too many labels: at most 100 may be given")
            for label_id in label_ids:
                if label_id not in self._labels or label_id in FIXED_LABELS:
                    raise ApiFailure(400, "invalidArgument", f"Invalid label: {label_id}")

    def _own(self, label_id: str) -> Label:
        label = self.get(label_id)
        if label.kind == "system":
            raise ApiFailure(400, "invalidArgument", "Cannot change a system label")
        return label

    def _check_name(self, name: str, besides: str = "") -> None:
        if not name.strip() or len(name) > LONGEST_NAME:
            raise ApiFailure(400, "invalidArgument", "Invalid label name")
        taken = {look_alike(label.name) for label in self._labels.values() if label.label_id != besides}
        if name.casefold() in RESERVED_NAMES or look_alike(name) in taken:
            raise ApiFailure(409, "aborted", "Label name exists or conflicts")


def look_alike(name: str) -> str:
    """What Gmail takes for the same name: case, and `/` for `-` (docs: gmail.md#labels)."""
    return name.casefold().replace("/", "-")


def _extras(wish: Json) -> Json:
    color = wish.get("color")
    if color is not None and not {color.get("backgroundColor"), color.get("textColor")} <= PALETTE:
        raise ApiFailure(400, "invalidArgument", "Label color is not on the allowed color palette")
    names = ("color", "labelListVisibility", "messageListVisibility")
    return {name: wish[name] for name in names if name in wish}
