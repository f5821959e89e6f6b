"""Labels in rules: people write names, rules keep ids, for names change."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from domain.mail.correspondence import label_key
from domain.mail.mailbox import SYSTEM_LABELS, MailboxLabel


@dataclass(frozen=True, slots=True)
class LabelNames:
    """The labels that a rule may name, by id and by name; letter case does not count in names."""

    by_id: Mapping[str, str]
    by_name: Mapping[str, str]
    of_whom: str = "the account"

    @classmethod
    def of(cls, labels: Iterable[MailboxLabel]) -> "LabelNames":
        """From an account's labels."""
        known = list(labels)
        return cls({one.label_id: one.name for one in known}, {label_key(one.name): one.label_id for one in known})

    @classmethod
    def of_org(cls, known: Iterable[str]) -> "LabelNames":
        """For a rule of a whole org: ids only, since each mailbox has names of its own."""
        return cls({one: one for one in (*SYSTEM_LABELS, *known)}, {}, of_whom="any mailbox of the org, by its id")

    def id_of(self, text: str) -> str:
        """The id of a label, given by id or name; raises `ValueError` with the reason."""
        if text in self.by_id:
            return text
        found = self.by_name.get(label_key(text))
        if found is None:
            raise ValueError(f"names no label of {self.of_whom}: {text[:60]!r}")
        return found
