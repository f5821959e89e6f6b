"""A direction as people give it: a text, and how far it reaches."""

from collections.abc import Mapping
from dataclasses import dataclass

from domain.clean_text import clean_text
from domain.documents.paths import as_field
from domain.jobs.failures import Invalid
from domain.mail.rule_language.defects import DefectError, defect
from domain.mail.rule_language.rule_words import told
from domain.mail.rule_language.values import addresses, domains, mapping
from domain.mail.triage.prompts import RuleScope
from domain.payloads.mail_address import address_key, domain_key


@dataclass(frozen=True, slots=True)
class WrittenDirection:
    """A standing order to the model; `ref` is the domain or address that a narrow scope names."""

    content: str
    scope: RuleScope
    ref: str | None = None


def read_direction(value: object, *, of_account: bool) -> WrittenDirection:
    """A direction from `content` and at most one of `domain` and `sender`; raises `Invalid(field, reason)`."""
    try:
        given = mapping(value, (), ("content", "domain", "sender"))
        content = clean_text(told(given.get("content"), ("content",)))
        scope, ref = _reach(given, of_account=of_account)
        if not content:
            raise defect(("content",), "must not be empty")
    except DefectError as error:
        first = error.defects[0]
        raise Invalid(as_field(first.path), first.reason) from None
    return WrittenDirection(content, scope, ref)


def _reach(given: Mapping[str, object], *, of_account: bool) -> tuple[RuleScope, str | None]:
    domain, sender = given.get("domain"), given.get("sender")
    if domain is not None and sender is not None:
        raise Invalid("domain", "goes with no sender: give one of the two")
    if sender is not None:
        return RuleScope.SENDER, address_key(addresses(sender, ("sender",))[0])
    if domain is not None:
        return RuleScope.DOMAIN, domain_key(domains(domain, ("domain",))[0])
    return (RuleScope.ACCOUNT if of_account else RuleScope.GLOBAL), None
