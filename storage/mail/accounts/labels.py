"""The mailboxes' labels: ids are stable, names are not, and a few of them have a role."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from domain.jobs.failures import Gone
from domain.jobs.job import JsonObject
from domain.mail.correspondence import LabelRole
from domain.mail.mailbox import MailboxLabel
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.transaction import Asked


@dataclass(frozen=True, slots=True)
class StoredLabel:
    """A label as Gmail listed it, with what we and the user know of it."""

    label: MailboxLabel
    role: LabelRole | None
    description: str
    for_classifier: bool

    def line(self) -> JsonObject:
        """The label as lists show it."""
        return {
            "label_id": self.label.label_id,
            "name": self.label.name,
            "kind": self.label.kind,
            "role": None if self.role is None else _stored(self.role),
            "for_classifier": self.for_classifier,
            "description": self.description,
        }


@dataclass(frozen=True, slots=True)
class Synced:
    """What a label sync found: labels that vanished, and the rules that were disabled because they name one."""

    vanished: frozenset[str]
    disabled_rules: frozenset[UUID]


def sync(tx: Transaction, account_id: UUID, labels: Sequence[MailboxLabel]) -> Synced:
    """Store the labels that Gmail lists now, all of them; user fields and roles are kept.

    A vanished label keeps its row, and the rules that name it are disabled with the reason (docs: gmail.md#labels).
    """
    rows = tx.run("retire_labels", account_id=account_id, ids=[label.label_id for label in labels])
    add(tx, account_id, labels)
    return Synced(frozenset(rows[0].labels), frozenset(rows[0].disabled_rules))


def add(tx: Transaction, account_id: UUID, labels: Sequence[MailboxLabel]) -> None:
    """Store some labels, for instance one just made; nothing else is taken to have vanished."""
    tx.run(
        "upsert_labels",
        account_id=account_id,
        ids=[label.label_id for label in labels],
        names=[label.name for label in labels],
        kinds=[label.kind for label in labels],
    )


def list_all(tx: Transaction, account_id: UUID) -> tuple[StoredLabel, ...]:
    """An account's labels, by id."""
    return ask_for_all(tx, account_id).answer


def ask_for_all(tx: Transaction, account_id: UUID) -> Asked[tuple[StoredLabel, ...]]:
    """As `list_all`, whose answer is wanted later."""
    return tx.ask("list_labels", _stored_labels, account_id=account_id)


def _stored_labels(rows: Sequence[Row]) -> tuple[StoredLabel, ...]:
    return tuple(
        StoredLabel(
            MailboxLabel(row.label_id, row.name, row.kind),
            None if row.role is None else _role(row.role),
            row.description,
            row.for_classifier,
        )
        for row in rows
    )


def ids_by_role(tx: Transaction, account_id: UUID) -> dict[LabelRole, str]:
    """Which label has which role."""
    return by_role(list_all(tx, account_id))


def of_person(stored: Iterable[StoredLabel]) -> dict[str, str]:
    """The ids of the labels that are the person's own, by name."""
    return {one.label.name: one.label.label_id for one in stored if one.label.kind == "user" and one.role is None}


def by_role(stored: Iterable[StoredLabel]) -> dict[LabelRole, str]:
    """Which of these labels has which role."""
    return {one.role: one.label.label_id for one in stored if one.role is not None}


def roles_by_id(tx: Transaction, account_id: UUID) -> dict[str, LabelRole]:
    """Which role a label has, for the labels that have one."""
    return {label_id: role for role, label_id in ids_by_role(tx, account_id).items()}


def roles_ever(tx: Transaction, account_id: UUID) -> frozenset[LabelRole]:
    """The roles for which there is a label, or was one until its person deleted it."""
    return frozenset(_role(row.role) for row in tx.run("list_label_roles", account_id=account_id))


def assign_role(tx: Transaction, account_id: UUID, label_id: str, role: LabelRole) -> bool:
    """Give a live label its role, taking it from any other; false when there is no such label."""
    return bool(tx.run("assign_label_role", account_id=account_id, label_id=label_id, role=_stored(role)))


def describe(tx: Transaction, account_id: UUID, label_id: str, *, description: str, for_classifier: bool) -> bool:
    """What the user says of a label; false when there is no such label."""
    given = {"description": description, "for_classifier": for_classifier}
    return bool(tx.run("describe_label", account_id=account_id, label_id=label_id, **given))


def change_description(
    tx: Transaction, account_id: UUID, label_id: str, *, description: str | None, for_classifier: bool | None
) -> StoredLabel:
    """Change what the owner says of a label, and keep what is None; raises `Gone`."""
    label = next((one for one in list_all(tx, account_id) if one.label.label_id == label_id), None)
    if label is None:
        raise Gone(f"the account has no label {label_id}")
    after = replace(
        label,
        description=label.description if description is None else description,
        for_classifier=label.for_classifier if for_classifier is None else for_classifier,
    )
    describe(tx, account_id, label_id, description=after.description, for_classifier=after.for_classifier)
    return after


def translate(tx: Transaction, account_id: UUID, label_ids: Collection[str]) -> dict[str, str | None]:
    """For each known id the id that stands for it now: a label deleted and made again has another; None when gone."""
    rows = tx.run("translate_labels", account_id=account_id, ids=list(label_ids))
    return {row.old_id: row.new_id for row in rows}


def _stored(role: LabelRole) -> str:
    return role.name.lower()


def _role(stored: str) -> LabelRole:
    return LabelRole[stored.upper()]
