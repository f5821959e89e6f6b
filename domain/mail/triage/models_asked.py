"""Which models are asked what a message wants, and how long a message is left alone that none of them could decide."""

from dataclasses import dataclass, replace

from domain.mail.triage.classification import Decision
from domain.mail.triage.prompts import PROMPT_VERSION

LONGEST_NAME = 300
"""Of what is remembered, in characters; the table takes no more, and two names that the settings allow are shorter."""


@dataclass(frozen=True, slots=True)
class ModelsAsked:
    """The model that classifies, and the cheaper one that is asked first, if there is one."""

    model: str
    first: str | None = None

    @property
    def name(self) -> str:
        """What an undecided message is remembered under: whoever is asked the same again would hardly answer better."""
        models, prompt = " then ".join(filter(None, (self.first, self.model))), f", prompt {PROMPT_VERSION}"
        return models[: LONGEST_NAME - len(prompt)] + prompt


def why_ask_again(first: Decision, sure_from: float) -> str | None:
    """Why the better model is asked after the cheaper one; None when the first answer is taken.

    Caution counts although the first model may be sure: what looks like an attack is what the better one is for.
    """
    if first.is_undecided:
        return "the first model gave no answer to use"
    if first.caution:
        return "the first model asked for caution"
    if first.confidence < sure_from:
        return f"the first model was unsure ({first.confidence:.2f})"
    return None


def decide_by_both(first: Decision, second: Decision) -> Decision:
    """The better model's decision, with the caution of both: a model's own flag can only add caution.

    Where the better model gives no usable answer, there is no decision: the first model was not sure enough.
    """
    return replace(second, caution=first.caution or second.caution)
