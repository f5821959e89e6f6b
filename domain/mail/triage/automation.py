"""Whether a mail is automated, and whether a reply may be written (docs: automated-mail.md#signals)."""

from collections.abc import Iterable
from dataclasses import dataclass

from domain.mail.parsing.limits import MOST_EVIDENCE
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.mail.triage.automation_signals import FINDERS, AutomationKind, Owner, Signal, Weight

_STRENGTH = {Weight.NONE: 0, Weight.CLASS: 1, Weight.MEDIUM: 2, Weight.STRONG: 3, Weight.CERTAIN: 4}
_FORBIDS_REPLY = frozenset({Weight.CERTAIN, Weight.STRONG})


@dataclass(frozen=True, slots=True)
class Automation:
    """The finding with its reasons; `evidence` names the signs found, the deciding kind's first."""

    kind: AutomationKind
    weight: Weight
    evidence: tuple[str, ...] = ()


HUMAN = Automation(AutomationKind.HUMAN, Weight.NONE)
"""No sign of automation; also of a message that nobody has looked through."""


def detect_automation(
    message: ParsedMessage,
    label_ids: Iterable[str] = (),
    owner: Owner = Owner(),  # noqa: B008 -- an immutable value
) -> Automation:
    """Gather every sign, then take the first kind in an order that never loses people's mail on lists.

    bounce, auto-reply, self, calendar, list where people write or a known person wrote, bulk, other list,
    automated, human. The weight is that of the strongest sign; on a list signs of bulk do not count, because every
    list manager sends them.
    """
    labels = frozenset(label_ids)
    signals = [signal for finder in FINDERS for signal in finder(message, owner, labels)]
    kind = _kind(signals, known=_is_known(message, owner))
    counted = [one for one in signals if not (kind is AutomationKind.LIST and one.kind is AutomationKind.BULK)]
    weight = max((one.weight for one in counted), key=_STRENGTH.__getitem__, default=Weight.NONE)
    evidence = sorted(signals, key=lambda one: one.kind is not kind)
    return Automation(kind, weight, tuple(dict.fromkeys(one.evidence for one in evidence))[:MOST_EVIDENCE])


def replies_allowed(automation: Automation) -> bool:
    """Whether a reply may be drafted at all: never for certain or strong automated mail."""
    return automation.weight not in _FORBIDS_REPLY


def _kind(signals: list[Signal], *, known: bool) -> AutomationKind:
    found = {signal.kind for signal in signals}
    for kind in (AutomationKind.BOUNCE, AutomationKind.AUTO_REPLY, AutomationKind.SELF, AutomationKind.CALENDAR):
        if kind in found:
            return kind
    if AutomationKind.LIST in found and (known or any(signal.posting for signal in signals)):
        return AutomationKind.LIST
    for kind in (AutomationKind.BULK, AutomationKind.LIST, AutomationKind.AUTOMATED):
        if kind in found:
            return kind
    return AutomationKind.HUMAN


def _is_known(message: ParsedMessage, owner: Owner) -> bool:
    return message.from_ is not None and message.from_.key in owner.correspondents
