"""A direction as people give it: a text, and how far it reaches."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, ValidationError

from domain.clean_text import clean_text
from domain.documents.language import faults_of
from domain.documents.paths import as_field
from domain.jobs.failures import Invalid
from domain.mail.rule_language.rule_context import UNCHECKED
from domain.mail.rule_language.rule_words import Told, Whose
from domain.mail.triage.prompts import RuleScope


class _Direction(Whose):
    content: Annotated[Told, AfterValidator(clean_text)]


@dataclass(frozen=True, slots=True)
class WrittenDirection:
    """A standing order to the model; `ref` is the domain or address that a narrow scope names."""

    content: str
    scope: RuleScope
    ref: str | None = None


def read_direction(value: Mapping[str, object], *, of_account: bool) -> WrittenDirection:
    """A direction from `content` and at most one of `domain` and `sender`; raises `Invalid(field, reason)`."""
    given = {word: one for word, one in value.items() if one is not None}
    try:
        read = _Direction.model_validate(given, context=UNCHECKED)
    except ValidationError as error:
        first = next(faults_of(error, given))
        raise Invalid(as_field(first.path), first.reason) from None
    if not read.content:
        raise Invalid("content", "must not be empty")
    scope, ref = read.narrow or (RuleScope.ACCOUNT if of_account else RuleScope.GLOBAL, None)
    return WrittenDirection(read.content, scope, ref)
