"""What a person asks of a machine draft: the text that they wrote above its words (docs: drafts-by-hand.md#rework)."""

from dataclasses import dataclass

from domain.clean_text import clean_text
from domain.mail.parsing.parsed_message import Defect, ParsedMessage
from domain.mail.replies.draft_fingerprint import words_of
from domain.mail.replies.drafting import LONGEST_INSTRUCTION, LONGEST_REPLY, fingerprint

MOST_LINES = 100
"""Of an instruction. It bounds the work: the words below each of these lines are compared with the machine's."""

LONGEST_DRAFT = 2 * LONGEST_REPLY + LONGEST_INSTRUCTION
"""Characters of a draft that is read for an instruction. The machine's words are shorter, also when a mailer has
wrapped and indented them."""

CUT = frozenset({Defect.TRUNCATED_TEXT, Defect.TOO_MANY_RECIPIENTS, Defect.TOO_MANY_PARTS, Defect.TOO_DEEP})
"""What was not read whole cannot be written again whole."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """What is asked, and the draft that it is asked of."""

    text: str
    """Empty when the person only wants another version."""
    words: str
    """The machine's words; empty when the person has emptied the draft."""


def read_instruction(text: str, made: str) -> Instruction | None:
    """The instruction in a draft's text, whose machine's words had the fingerprint `made`; None when there is none.

    An instruction is the text above the machine's words, as long as these are all there and nothing follows them. An
    emptied draft asks for another version. Anything else is a person's own text, and nobody may write over it.
    """
    clean = clean_text(text)
    if not clean.strip():
        return Instruction("", "")
    if len(clean) > LONGEST_DRAFT:
        return None
    lines = clean.splitlines()
    for number in range(min(len(lines), MOST_LINES + 1)):
        below = "\n".join(lines[number:])
        if fingerprint(below) == made:
            above = "\n".join(lines[:number]).strip()
            # A longer one would reach the model in part, and vanish as a whole.
            return Instruction(above, below.strip()) if len(above) <= LONGEST_INSTRUCTION else None
    return None


def instruction_of(draft: ParsedMessage, made: str) -> Instruction | None:
    """The instruction in a draft as it is in the mailbox; None when a person's own text or files are in it."""
    if draft.attachments or CUT & set(draft.defects):
        return None
    return read_instruction(draft.text, words_of(made))
