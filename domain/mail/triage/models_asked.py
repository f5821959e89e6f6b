"""Which models are asked what a message wants, and how long a message is left alone that none of them could decide."""

from dataclasses import dataclass

from domain.mail.triage.prompts import PROMPT_VERSION

LONGEST_NAME = 300
"""Of what is remembered, in characters; the names of models come from settings, which bound none."""


@dataclass(frozen=True, slots=True)
class ModelsAsked:
    """The model that classifies."""

    model: str

    @property
    def name(self) -> str:
        """What an undecided message is remembered under: whoever is asked the same again would hardly answer better."""
        return f"{self.model}, prompt {PROMPT_VERSION}"[:LONGEST_NAME]


def is_final(undecided_by: str | None, asked: ModelsAsked) -> bool:
    """Whether an earlier decision is one, for models that would be asked now; `undecided_by` names who made none.

    A message without an answer to use is paid for, or refused, once per models and prompt. Another model or prompt may
    do better. A person who wants another look at once says so with `force`.
    """
    return undecided_by is None or undecided_by == asked.name
