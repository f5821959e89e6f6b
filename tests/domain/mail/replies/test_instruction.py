"""What of a draft's text is an instruction, and what is a person's own."""

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.replies.drafting import LONGEST_INSTRUCTION, fingerprint
from domain.mail.replies.instruction import LONGEST_DRAFT, MOST_LINES, Instruction, instruction_of, read_instruction
from tests.domain.mail.messages import make_message

WORDS = "Dear Ada,\n\nnoon on Friday suits me.\n\nBest regards\nOwner"
MADE = fingerprint(WORDS)
LINES = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), max_size=60)
WISHES = st.lists(LINES, min_size=1, max_size=5).map("\n".join).filter(lambda text: text.strip() != "")


@given(WISHES)
def test_what_stands_above_the_machines_words_is_the_instruction(wish: str) -> None:
    read = read_instruction(f"{wish}\n\n{WORDS}\n", MADE)
    assert read is not None
    assert read.text.split() == wish.split()
    assert read.words == WORDS


@given(WISHES, st.integers(20, 90), st.sampled_from(["\n", "\r\n"]))
def test_a_mailer_may_wrap_and_indent_the_words(wish: str, width: int, newline: str) -> None:
    wrapped = "\n".join(textwrap.indent(textwrap.fill(one, width), "  ") for one in WORDS.split("\n\n"))
    read = read_instruction(f"{wish}\n{wrapped}".replace("\n", newline), MADE)
    assert read is not None
    assert read.text.split() == wish.split()


@given(st.text(max_size=300), st.integers(0, 200))
def test_words_that_were_changed_are_never_taken_for_an_instruction(typed: str, place: int) -> None:
    """Whatever a person types into the machine's words or below them."""
    place = min(place, len(WORDS))
    changed = f"{WORDS[:place]}{typed}{WORDS[place:]}" if place else f"{WORDS}{typed}"
    read = read_instruction(changed, MADE)
    if read is not None:
        assert fingerprint(read.words) == MADE
        assert fingerprint(f"{read.text}\n{read.words}") == fingerprint(changed), "nothing of the text is left out"


def test_the_untouched_draft_and_the_emptied_one_ask_for_another_version() -> None:
    assert read_instruction(f"\n\n{WORDS}", MADE) == Instruction("", WORDS)
    assert read_instruction(" \n\t\n", MADE) == Instruction("", "")


@pytest.mark.parametrize(
    "text",
    [
        WORDS.replace("noon", "one o'clock"),
        f"Shorter, please.\n\n{WORDS.replace('noon', 'one')}",
        f"{WORDS}\n\nPS: bring the papers.",
        f"Shorter, please.\n\n{WORDS}\n-- \nOwner, Example Ltd",
        "Shorter, please.",
        WORDS.partition("\n\n")[2],
        f"Shorter. {WORDS}",
    ],
    ids=["words", "both", "below", "signature", "words deleted", "greeting deleted", "on the same line"],
)
def test_anything_else_stays_the_persons(text: str) -> None:
    assert read_instruction(text, MADE) is None


def test_what_would_not_reach_the_model_whole_is_no_instruction() -> None:
    assert read_instruction(f"{'x' * LONGEST_INSTRUCTION}\n{WORDS}", MADE) is not None
    assert read_instruction(f"{'x' * (LONGEST_INSTRUCTION + 1)}\n{WORDS}", MADE) is None
    assert read_instruction("\n" * MOST_LINES + WORDS, MADE) is not None
    assert read_instruction("x\n" * (MOST_LINES + 1) + WORDS, MADE) is None
    assert read_instruction("x" * (LONGEST_DRAFT + 1), fingerprint("x" * (LONGEST_DRAFT + 1))) is None


def test_a_draft_with_a_file_is_its_persons() -> None:
    plain = make_message(f"Shorter.\n\n{WORDS}", content_type="text/plain; charset=utf-8")
    assert instruction_of(plain, MADE) == Instruction("Shorter.", WORDS)
    assert instruction_of(plain, f"{MADE}.envelope") == Instruction("Shorter.", WORDS)
    parts = f"--x\nContent-Type: text/plain\n\nShorter.\n\n{WORDS}\n--x\nContent-Type: application/pdf\n"
    files = make_message(
        f"{parts}Content-Disposition: attachment; filename=a.pdf\n\nx\n--x--\n",
        mime_version="1.0",
        content_type="multipart/mixed; boundary=x",
    )
    assert files.attachments
    assert instruction_of(files, MADE) is None
