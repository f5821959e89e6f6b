"""Conditions that compare a text of a message: its subject, its body, its headers."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, ClassVar, Self

from pydantic import ConfigDict, Field, ValidationInfo, model_validator

from domain.documents.language import AS_TEXT, Words
from domain.jobs.contract import misfit
from domain.jobs.failures import Invalid
from domain.mail.rule_language.safe_pattern import (
    LONGEST_PATTERN,
    check_boundaries,
    compiled,
    found_in,
    matches_everything,
)
from domain.mail.rule_language.values import Text, context_of
from domain.mail.triage.mail_facts import MailFacts
from domain.orgs.spelling.normal_form import normal_form, normal_pattern, searched_forms

Pattern = Annotated[str, Field(max_length=LONGEST_PATTERN), AS_TEXT]
"""A pattern as it is kept. It is compiled when it is saved, and when it is first used, not when it is read."""


class TextCondition(Words):
    """At most one way to compare a text, in the form in which it looks the same to a reader."""

    model_config = ConfigDict(json_schema_extra={"maxProperties": 1})

    has_lines: ClassVar[bool] = False
    """Whether the text may have several."""

    equals: Text | None = None
    contains: Text | None = None
    pattern: Pattern | None = Field(None, alias="matches")

    @model_validator(mode="after")
    def _compares_in_one_way(self, info: ValidationInfo) -> Self:
        if sum(way is not None for way in (self.equals, self.contains, self.pattern)) > 1:
            raise ValueError("takes only one of equals, contains and matches")
        if self.pattern is not None and context_of(info) is not None:
            _check_pattern(self.pattern, has_lines=self.has_lines)
        return self

    @abstractmethod
    def texts(self, facts: MailFacts) -> Sequence[str]:
        """The texts of a message that are compared; none where it has no such text."""

    def matches(self, facts: MailFacts) -> bool:
        """Whether one of the texts compares; without a way to compare, whether there is one."""
        return any(self._holds_for(text) for text in self.texts(facts))

    def _holds_for(self, text: str) -> bool:
        if self.equals is not None:
            return normal_form(text).strip() == normal_form(self.equals).strip()
        if self.contains is not None:
            return normal_form(self.contains) in normal_form(text)
        if self.pattern is None:
            return True
        pattern = normal_pattern(self.pattern)
        return any(found_in(pattern, form) for form in searched_forms(text))


class Subject(TextCondition):
    """The subject equals, contains or matches; with none of them, there is a subject."""

    short = "contains"

    def texts(self, facts: MailFacts) -> Sequence[str]:
        """The decoded subject."""
        return (facts.message.subject,) if facts.message.subject else ()


class Body(TextCondition):
    """The plain text equals, contains or matches; with none of them, there is a text."""

    short = "contains"
    has_lines = True

    def texts(self, facts: MailFacts) -> Sequence[str]:
        """The plain text, quoted replies included."""
        return (facts.message.text,) if facts.message.text else ()


class Header(TextCondition):
    """Any header of this name equals, contains or matches; with none of them, the header exists."""

    model_config = ConfigDict(json_schema_extra={"maxProperties": 2})

    name: str = Field(coerce_numbers_to_str=True, pattern=r"^[!-9;-~]{1,100}$")

    def texts(self, facts: MailFacts) -> Sequence[str]:
        """Every decoded value of the header."""
        return tuple(facts.message.header_values(self.name.lower()))


def _check_pattern(pattern: str, *, has_lines: bool) -> None:
    try:
        check_boundaries(pattern)
        compiled(normal_pattern(pattern))
        finds_all = matches_everything(normal_pattern(pattern), has_lines=has_lines)
    except Invalid as refusal:
        raise misfit("matches", refusal.reason.partition(": ")[2]) from None
    if finds_all:
        raise misfit("matches", "matches every text: leave it out")
