"""One run of the day: connect three mailboxes, play the hours, count."""

from dataclasses import replace
from functools import partial
from typing import Any

import psycopg

from sandbox.demo import set_up
from sandbox.demo.addresses import GMAIL_UNITS
from sandbox.demo.day.cast import CAST, Person
from sandbox.demo.day.hours import Hour, hours, morning, predicted_endings
from sandbox.demo.doors import HttpDoor
from sandbox.demo.evidence import Ledger, Outside, read_outside
from sandbox.demo.fleet import Fleet
from sandbox.demo.predictions import Played, find_endings, find_steps
from sandbox.demo.report import Outcome
from sandbox.demo.screen import Screen
from sandbox.demo.steps.step import Stage
from sandbox.demo.story import deliver
from sandbox.demo.watching import Watching
from sandbox.emulator.control import GmailAccount, MailboxState, MessagePlace


class DayRun:
    """One run of the day."""

    def __init__(self, fleet: Fleet, screen: Screen, connection: psycopg.Connection[Any], *, deadline: float) -> None:
        """`deadline` is a time of the monotonic clock, in seconds."""
        self._fleet = fleet
        self._screen = screen
        self._places: dict[str, MessagePlace] = {}
        self._played: list[tuple[Person, Played]] = []
        self._watching = Watching(fleet, screen, connection, self._places, deadline=deadline)
        self._mailboxes = {person: _make_mailbox(fleet, person) for person in CAST}
        self._day = hours()

    def run(self) -> None:
        """Play the whole day; raises `Late` when the deadline passes first."""
        for person, there in morning().items():
            self._places.update(deliver(self._mailboxes[person], there))
        stages = self._set_up()
        self._screen.tell(f"{len(stages)} mailboxes of 2 orgs are connected; {len(self._places)} messages lie there")
        with self._screen.bars("stored", "decided", "drafted"):
            self._watching.wait(self._not_watched)
            self._watching.rest()
            for hour in self._day:
                self._play(hour, stages)
        self._screen.tell(f"The day is over: {len(self._places)} messages, and the fleet is at rest")

    def evidence(self) -> tuple[Ledger, Outside]:
        """What the report is counted from, read now; the three mailboxes as one."""
        outsides = [self._outside(person) for person in CAST]
        states = [one.mailbox for one in outsides]
        merged = MailboxState(
            ", ".join(one.email for one in states),
            0,
            0,
            [message for one in states for message in one.messages],
            [draft for one in states for draft in one.drafts],
            [],
            {thread: ids for one in states for thread, ids in one.threads.items()},
        )
        return self._watching.look(), replace(outsides[0], mailbox=merged)

    def outcomes(self, evidence: tuple[Ledger, Outside]) -> tuple[list[Outcome], list[Outcome]]:
        """The end of each step and of each message beside the predicted one."""
        steps = [step for hour in self._day for _, step in hour.steps]
        ends = self._ends(self._played, evidence[0]) + find_steps(
            [], steps[len(self._played) :], self._places, evidence
        )
        return ends, find_endings(predicted_endings(self._day), self._places, evidence)

    def _set_up(self) -> dict[Person, Stage]:
        stages: dict[Person, Stage] = {}
        doors: dict[str, HttpDoor] = {}
        for person in CAST:
            account_id = self._connect(person, person.access_token, person.refresh_token)
            if person.org not in doors:
                doors[person.org] = set_up.open_door(self._fleet, org=person.org)
                if person.approves:
                    set_up.ask_on_discord(self._fleet, org=person.org, owner=person.email)
            stages[person] = Stage(
                self._mailboxes[person],
                self._fleet.gmail,
                self._fleet.anthropic,
                self._fleet.discord,
                self._fleet.resend,
                doors[person.org],
                account_id,
                self._watching.wait,
                self._watching.rest,
                partial(self._receive, person),
                partial(self._connect, person),
                self._fleet.keep,
                self._places,
            )
        return stages

    def _connect(self, person: Person, access: str, refresh: str) -> str:
        return set_up.connect(
            self._fleet, org=person.org, email=person.email, access_token=access, refresh_token=refresh
        )

    def _play(self, hour: Hour, stages: dict[Person, Stage]) -> None:
        self._screen.tell(f"{hour.says}; {len(hour.mail)} messages arrive")
        for person, mail in hour.mail:
            self._receive(person, mail.name, mail.raw(person.email))
        now: list[tuple[Person, Played]] = []
        for person, step in hour.steps:
            now.append((person, Played(step, step.play(stages[person]))))
            self._played.append(now[-1])
        self._watching.wait(lambda ledger: self._watching.not_at_rest(ledger) or self._not_ended(now, ledger))

    def _receive(self, person: Person, name: str, raw: bytes) -> MessagePlace:
        self._places[name] = self._mailboxes[person].deliver(raw)
        return self._places[name]

    def _outside(self, person: Person) -> Outside:
        fleet = self._fleet
        return read_outside(self._mailboxes[person], fleet.gmail, fleet.anthropic, fleet.discord, fleet.resend)

    def _ends(self, played: list[tuple[Person, Played]], ledger: Ledger) -> list[Outcome]:
        outsides = {person: self._outside(person) for person in {person for person, _ in played}}
        return [
            end for person, one in played for end in find_steps([one], [], self._places, (ledger, outsides[person]))
        ]

    def _not_watched(self, _ledger: Ledger) -> str:
        watched = {call.account for call in self._fleet.gmail.journal("watch")}
        return ", ".join(f"the push watch of {one.email}" for one in CAST if one.email not in watched)

    def _not_ended(self, played: list[tuple[Person, Played]], ledger: Ledger) -> str:
        ends = self._ends(played, ledger)
        return "; ".join(f"{one.what} ({one.about}): {one.found}" for one in ends if not one.holds)


def _make_mailbox(fleet: Fleet, person: Person) -> GmailAccount:
    made = fleet.gmail.create_account(person.email, person.access_token, person.refresh_token, seed=person.seed)
    return made.turn(quota_per_minute=GMAIL_UNITS)
