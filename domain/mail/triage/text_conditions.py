"""Conditions that compare a text of a message: its subject, its body, its headers."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, model_validator

from domain.mail.triage.mail_facts import MailFacts
from domain.mail.triage.safe_pattern import Pattern, found_in
from domain.spelling.normal_form import normal_form, normal_pattern, searched_forms

Text = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class FrozenCondition(BaseModel):
    """A condition is data: it cannot change, and a field it does not know is a refusal."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class _TextCondition(FrozenCondition):
    """Exactly one way to compare a text, in the form in which it looks the same to a reader."""

    equals: Text | None = None
    contains: Text | None = None
    pattern: Pattern | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if sum(way is not None for way in (self.equals, self.contains, self.pattern)) > 1:
            raise ValueError("takes only one of equals, contains and pattern")
        return self

    def holds_for(self, text: str) -> bool:
        if self.equals is not None:
            return normal_form(text).strip() == normal_form(self.equals).strip()
        if self.contains is not None:
            return normal_form(self.contains) in normal_form(text)
        if self.pattern is None:
            return True
        pattern = normal_pattern(self.pattern)
        return any(found_in(pattern, form) for form in searched_forms(text))


class Subject(_TextCondition):
    """The subject equals, contains or matches; with none of them, there is a subject."""

    kind: Literal["subject"]

    def matches(self, facts: MailFacts) -> bool:
        """Look at the decoded subject."""
        return bool(facts.message.subject) and self.holds_for(facts.message.subject)


class Body(_TextCondition):
    """The plain text equals, contains or matches; with none of them, there is a text."""

    kind: Literal["body"]

    def matches(self, facts: MailFacts) -> bool:
        """Look at the plain text, quoted replies included."""
        return bool(facts.message.text) and self.holds_for(facts.message.text)


class Header(_TextCondition):
    """Any header of this name equals, contains or matches; with none of them, the header exists."""

    kind: Literal["header"]
    name: Annotated[str, StringConstraints(pattern=r"^[!-9;-~]{1,100}$")]

    def matches(self, facts: MailFacts) -> bool:
        """Look at every decoded value of the header."""
        return any(self.holds_for(value) for value in facts.message.header_values(self.name.lower()))
