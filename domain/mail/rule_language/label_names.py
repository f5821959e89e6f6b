"""Labels in rules: people write names, rules keep ids, for names change."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from domain.documents.paths import Path
from domain.mail.correspondence import label_key
from domain.mail.mailbox import SYSTEM_LABELS, MailboxLabel
from domain.mail.rule_language.defects import defect


@dataclass(frozen=True, slots=True)
class LabelNames:
    """The labels that a rule may name, by id and by name; letter case does not count in names."""

    by_id: Mapping[str, str]
    by_name: Mapping[str, str]
    any_id: bool = False
    """Take every text for an id."""
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

    def id_of(self, text: str, path: Path) -> str:
        """The id of a label, given by id or name."""
        if self.any_id or text in self.by_id:
            return text
        found = self.by_name.get(label_key(text))
        if found is None:
            raise defect(path, f"names no label of {self.of_whom}: {text[:60]!r}")
        return found


AS_GIVEN = LabelNames({}, {}, any_id=True)
"""Where no account is known, as when a rule is written back: labels are given by id."""
