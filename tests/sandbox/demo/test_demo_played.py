"""Every step of the demo's story, played by one process: a step's end is seen without a fleet, and where it breaks.

It takes some seconds, for it is the whole story; only the messages that the steps are about are delivered.
"""

from dataclasses import replace

from psycopg import Connection

from sandbox.demo.day.cast import QUESTIONS, Person
from sandbox.demo.day.troubles import ConsentRevoked, LostAnswers, QuotaErrors, WatchLapses
from sandbox.demo.letters import SECRET, Letter
from sandbox.demo.mailbox_story import OWNER
from sandbox.demo.report import find_deviations, find_problems, make_report
from sandbox.demo.story import STEPS, deliver, predicted_endings, whole_story
from settings import Settings
from tests.sandbox.demo.story_environment import running_story

ME = Person("owner", "The Example Org", 0)
"""The mailbox of the environment."""


def _letters(kind: str) -> list[Letter]:
    return [
        Letter(f"{kind} {at}", f"Dora <{kind}{at}@example.org>", f"{kind} {at}", "It is fine.\n", ends="skipped")
        for at in (1, 2)
    ]


def test_every_trouble_of_the_day_is_weathered(settings: Settings, database: Connection) -> None:
    troubles = (
        LostAnswers(ME, QUESTIONS),
        WatchLapses(replace(ME, token="access-1"), _letters("lapsed")),
        QuotaErrors(ME, _letters("refused")),
        ConsentRevoked(ME, _letters("revoked")),
    )
    with running_story(settings, database) as story:
        for trouble in troubles:
            outcome = story.play(trouble)
            assert outcome.holds, outcome


def test_every_step_and_message_of_the_story_ends_as_predicted(settings: Settings, database: Connection) -> None:
    wanted = {name for step in STEPS for name in step.targets}
    with running_story(settings, database) as story:
        mails = [one for one in whole_story() if one.story.file in wanted]
        story.places.update(deliver(story.env.mailbox, mails))
        story.receive(SECRET.name, SECRET.raw(OWNER))
        story.env.sync()
        for step in STEPS:
            outcome = story.play(step)
            assert outcome.holds, outcome
        # A later step has not disturbed an earlier one.
        assert find_deviations(story.outcomes(), story.endings(predicted_endings())) == []
        ledger, outside = story.evidence()
        assert find_problems(make_report(ledger, outside), ledger) == []
