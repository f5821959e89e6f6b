"""The day as data: in each hour mail arrives for each person, something goes wrong, and people work."""

from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.demo.day.cast import ANNA, BEN, CAST, CLEO, QUESTIONS, Person
from sandbox.demo.day.mail import bulk_mail, personal_share
from sandbox.demo.day.troubles import ConsentRevoked, LostAnswers, LostForward, Mail, QuotaErrors, WatchLapses
from sandbox.demo.letters import Letter
from sandbox.demo.mailbox_story import Delivery, read_story
from sandbox.demo.predictions import predict
from sandbox.demo.steps.actions import ArchiveAndUndo, ForwardUnapproved, SnoozeAndWake
from sandbox.demo.steps.drafts import Discard, Edit, Rework, Send
from sandbox.demo.steps.labels import MarkDone
from sandbox.demo.steps.step import Step

IN_TROUBLE = 10
"""How many messages arrive in the middle of each trouble."""


@dataclass(frozen=True, slots=True)
class Hour:
    """Mail that arrives at its beginning, and then the steps, each of one person."""

    says: str
    mail: tuple[tuple[Person, Mail], ...] = ()
    steps: tuple[tuple[Person, Step], ...] = ()


def morning() -> dict[Person, list[Delivery]]:
    """The mail of each mailbox when it is connected: together the 60 messages of the demo's story."""
    return {person: personal_share(person.email, number, len(CAST)) for number, person in enumerate(CAST)}


def hours() -> tuple[Hour, ...]:
    """The day after the mailboxes are connected."""
    bulk = bulk_mail()
    lapsed, lapsed_too, revoked, refused = (bulk[IN_TROUBLE * at : IN_TROUBLE * (at + 1)] for at in range(4))
    rest = bulk[4 * IN_TROUBLE :]
    parts = [tuple(_dealt(rest[at::4])) for at in range(4)]
    return (
        Hour("Mail arrives, and answers of Gmail get lost", parts[0], ((CLEO, LostAnswers(CLEO, QUESTIONS)),)),
        Hour(
            "Anna works at her mailbox",
            parts[1],
            (
                (ANNA, Send("easy-ham-1-00307.eml")),
                (ANNA, Edit("easy-ham-1-00889.eml")),
                (ANNA, MarkDone("easy-ham-1-01678.eml")),
                (BEN, Rework("easy-ham-1-01310.eml")),
            ),
        ),
        Hour(
            "Gmail refuses Ben's calls; the watches of Anna and Cleo lapse",
            parts[2],
            (
                (BEN, QuotaErrors(BEN, refused)),
                (ANNA, WatchLapses(ANNA, lapsed)),
                (CLEO, WatchLapses(CLEO, lapsed_too)),
            ),
        ),
        Hour("Cleo withdraws her consent, and gives it again", (), ((CLEO, ConsentRevoked(CLEO, revoked)),)),
        Hour(
            "All three work",
            parts[3],
            (
                (BEN, Discard("easy-ham-1-01736.eml")),
                (CLEO, Send("easy-ham-1-01029.eml")),
                (CLEO, Send("easy-ham-1-00276.eml")),
                (ANNA, SnoozeAndWake("easy-ham-1-01426.eml")),
                (BEN, ForwardUnapproved("easy-ham-1-01199.eml")),
                (CLEO, LostForward("easy-ham-2-00476.eml")),
                (CLEO, ArchiveAndUndo("easy-ham-1-01737.eml")),
            ),
        ),
    )


def predicted_endings(day: tuple[Hour, ...]) -> dict[str, str]:
    """The predicted state of every message's record, by the message's name."""
    steps = [step for hour in day for _, step in hour.steps]
    letters: list[Letter] = [letter for step in steps if isinstance(step, LostAnswers) for letter in step.letters]
    return predict(read_story(), letters, steps) | {mail.name: mail.ends for mail in bulk_mail()}


def _dealt(mails: Sequence[Mail]) -> list[tuple[Person, Mail]]:
    """One to each person in turn."""
    return [(CAST[at % len(CAST)], mail) for at, mail in enumerate(mails)]
