"""One run of the demo: connect a mailbox, deliver mail in groups, work with the drafts, count."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import psycopg

from sandbox.demo.evidence import Ledger, Outside, read_ledger, read_outside
from sandbox.demo.fleet import Fleet
from sandbox.demo.mailbox_story import OWNER, Delivery
from sandbox.demo.report import FINAL
from sandbox.demo.screen import Screen
from sandbox.demo.story import (
    ACCESS_TOKEN,
    ORG,
    REFRESH_TOKEN,
    PersonAction,
    deliver,
    make_mailbox,
    split_story,
    unseen,
    work_through_drafts,
)
from sandbox.emulator.control import GmailAccount

POLL_S = 0.25

Missing = Callable[[Ledger], str]
"""Says what is still missing, to complete "still missing: …"; an empty text when nothing is."""


class Late(Exception):
    """The time is up; the message says what is missing."""


class DemoRun:
    """One run of the scenario; all its waits have the same deadline."""

    def __init__(self, fleet: Fleet, screen: Screen, connection: psycopg.Connection[Any], *, deadline: float) -> None:
        """`deadline` is a time of the monotonic clock, in seconds."""
        self._fleet = fleet
        self._screen = screen
        self._connection = connection
        self._deadline = deadline
        self._mailbox: GmailAccount = make_mailbox(fleet.gmail)
        self._delivered = 0

    def run(self) -> None:
        """Play the whole scenario; raises `Late` when the deadline passes first."""
        there, waves = split_story()
        self._deliver(there)
        connect(self._fleet)
        self._screen.tell(f"{OWNER} is connected; {len(there)} messages are in the mailbox")
        with self._screen.bars("stored", "decided", "drafted"):
            self._wait(self._not_watched)
            for wave in waves:
                self._wait(self._not_stored)
                self._deliver(wave)
                self._screen.tell(f"{len(wave)} messages arrive, each with a signed push; {self._delivered} in all")
            ledger = self._wait(self._not_at_rest)
        self._screen.tell(f"{self._delivered} messages are synced, stored, classified and, where it fits, drafted")
        self._act(ledger)

    def evidence(self) -> tuple[Ledger, Outside]:
        """What the report is counted from, read now."""
        return self._look(), read_outside(self._mailbox, self._fleet.gmail, self._fleet.anthropic)

    def _act(self, ledger: Ledger) -> None:
        actions = work_through_drafts(self._mailbox, ledger)
        done = [
            f"{sum(action.what == what for action in actions)} {what}"
            for what in dict.fromkeys(d.what for d in actions)
        ]
        self._screen.tell(f"The person works at the mailbox: {', '.join(done)}")
        self._wait(lambda now: self._not_seen(actions, now) or self._not_at_rest(now))
        self._screen.tell("The fleet has seen all of it, and is at rest")

    def _deliver(self, deliveries: Sequence[Delivery]) -> None:
        deliver(self._mailbox, deliveries)
        self._delivered += len(deliveries)

    def _wait(self, missing: Missing) -> Ledger:
        never = threading.Event()
        while missing_now := missing(ledger := self._look()):
            self._fleet.check()
            if time.monotonic() >= self._deadline:
                raise Late(f"the time is up; still missing: {missing_now}")
            self._screen.move_bars(ledger, self._delivered)
            never.wait(POLL_S)
        self._screen.move_bars(ledger, self._delivered)
        return ledger

    def _look(self) -> Ledger:
        return read_ledger(self._connection)

    def _not_watched(self, _ledger: Ledger) -> str:
        return "" if self._fleet.gmail.journal("watch") else "the mailbox's push watch"

    def _not_stored(self, ledger: Ledger) -> str:
        return _fewer("stored messages", sum(one.direction == "incoming" for one in ledger.messages), self._delivered)

    def _not_at_rest(self, ledger: Ledger) -> str:
        decided = sum(one.classification is not None for one in ledger.messages)
        working = [job for job in ledger.jobs if job.state not in FINAL and not job.scheduled]
        pushes = int(self._fleet.gmail.push_state()["pending"])
        return (
            _fewer("decided messages", decided, self._delivered)
            or (f"the end of {len(working)} jobs, among them {working[0].job_type}" if working else "")
            or (f"the delivery of {pushes} pushes" if pushes else "")
        )

    def _not_seen(self, actions: Sequence[PersonAction], ledger: Ledger) -> str:
        left = unseen(actions, ledger, self._mailbox.state())
        return ", ".join(f"the fleet's notice of the thread {action.thread_id} being {action.what}" for action in left)


def connect(fleet: Fleet) -> None:
    """Connect the mailbox as an operator does; the tokens are in the environment, not visible in the process list."""
    tokens = {"POSTROOM_ACCOUNT_ACCESS_TOKEN": ACCESS_TOKEN, "POSTROOM_ACCOUNT_REFRESH_TOKEN": REFRESH_TOKEN}
    fleet.celery("accounts", "add", "--org", ORG, "--email", OWNER, secrets=tokens)


def _fewer(what: str, found: int, wanted: int) -> str:
    return f"{wanted - found} of {wanted} {what}" if found < wanted else ""
