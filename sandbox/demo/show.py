"""One run of the demo: connect a mailbox, deliver mail in groups, play the acts, count."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg

from sandbox.demo import set_up
from sandbox.demo.doors import HttpDoor
from sandbox.demo.evidence import Ledger, Outside, read_outside
from sandbox.demo.fleet import Fleet
from sandbox.demo.letters import SECRET
from sandbox.demo.mailbox_story import OWNER
from sandbox.demo.predictions import Played, find_endings, find_steps
from sandbox.demo.report import Outcome
from sandbox.demo.screen import Screen
from sandbox.demo.steps.agent import LABEL
from sandbox.demo.steps.step import Stage
from sandbox.demo.story import (
    ACCESS_TOKEN,
    ACTS,
    ORG,
    REFRESH_TOKEN,
    STEPS,
    Act,
    deliver,
    make_mailbox,
    predicted_endings,
    split_story,
)
from sandbox.demo.watching import Watching
from sandbox.emulator.control import MessagePlace


class DemoRun:
    """One run of the scenario."""

    def __init__(self, fleet: Fleet, screen: Screen, connection: psycopg.Connection[Any], *, deadline: float) -> None:
        """`deadline` is a time of the monotonic clock, in seconds."""
        self._fleet = fleet
        self._screen = screen
        self._mailbox = make_mailbox(fleet.gmail)
        self._places: dict[str, MessagePlace] = {}
        self._played: list[Played] = []
        self._watching = Watching(fleet, screen, connection, self._places, deadline=deadline)

    def run(self) -> None:
        """Play the whole scenario; raises `Late` when the deadline passes first."""
        there, waves = split_story()
        self._places.update(deliver(self._mailbox, there))
        stage = self._set_up()
        self._screen.tell(f"{OWNER} is connected, with an agent and two rules; {len(there)} messages lie there")
        with self._screen.bars("stored", "decided", "drafted"):
            self._watching.wait(self._not_watched)
            for wave in waves:
                self._watching.wait(self._watching.not_stored)
                self._places.update(deliver(self._mailbox, wave))
                self._screen.tell(f"{len(wave)} messages arrive, each with a signed push; {len(self._places)} in all")
            stage.deliver(SECRET.name, SECRET.raw(OWNER))
            self._watching.rest()
            self._screen.tell(f"{len(self._places)} messages are stored, classified and, where it fits, drafted")
            for act in ACTS:
                self._play(act, stage)
        self._screen.tell("The fleet has seen all of it, and is at rest")

    def evidence(self) -> tuple[Ledger, Outside]:
        """What the report is counted from, read now."""
        return self._watching.look(), self._outside()

    def outcomes(self, evidence: tuple[Ledger, Outside]) -> tuple[list[Outcome], list[Outcome]]:
        """The end of each step and of each message beside the predicted one."""
        steps = find_steps(self._played, STEPS[len(self._played) :], self._places, evidence)
        return steps, find_endings(predicted_endings(), self._places, evidence)

    def _set_up(self) -> Stage:
        tokens = {"access_token": ACCESS_TOKEN, "refresh_token": REFRESH_TOKEN}
        set_up.make_label(self._fleet.addresses.gmail, ACCESS_TOKEN, LABEL)
        account_id = set_up.connect(self._fleet, org=ORG, email=OWNER, **tokens)
        door = self._equip(account_id)
        return Stage(
            self._mailbox,
            self._fleet.gmail,
            self._fleet.anthropic,
            self._fleet.discord,
            self._fleet.resend,
            door,
            account_id,
            self._watching.wait,
            self._watching.rest,
            self._receive,
            lambda access, refresh: set_up.connect(
                self._fleet, org=ORG, email=OWNER, access_token=access, refresh_token=refresh
            ),
            self._fleet.keep,
            self._places,
        )

    def _equip(self, account_id: str) -> HttpDoor:
        """Set up what is independent at the same time: a command takes seconds to begin, and one processor."""
        with ThreadPoolExecutor() as operators:
            door = operators.submit(set_up.open_door, self._fleet, org=ORG)
            others = [
                operators.submit(set_up.ask_on_discord, self._fleet, org=ORG, owner=OWNER),
                operators.submit(set_up.choose_sender, self._fleet, org=ORG),
                operators.submit(set_up.save_workflow, self._fleet, org=ORG),
            ]
            set_up.employ_agent(self._fleet, door.result(), org=ORG, email=OWNER, account_id=account_id)
            for one in others:
                one.result()
            return door.result()

    def _play(self, act: Act, stage: Stage) -> None:
        self._screen.tell(act.says)
        now: list[Played] = []
        for step in act.steps:
            now.append(Played(step, step.play(stage)))
            self._played.append(now[-1])
        self._watching.wait(lambda ledger: self._watching.not_at_rest(ledger) or self._not_ended(now, ledger))

    def _receive(self, name: str, raw: bytes) -> MessagePlace:
        self._places[name] = self._mailbox.deliver(raw)
        return self._places[name]

    def _outside(self) -> Outside:
        fleet = self._fleet
        return read_outside(self._mailbox, fleet.gmail, fleet.anthropic, fleet.discord, fleet.resend)

    def _not_watched(self, _ledger: Ledger) -> str:
        return "" if self._fleet.gmail.journal("watch") else "the mailbox's push watch"

    def _not_ended(self, played: list[Played], ledger: Ledger) -> str:
        ends = find_steps(played, (), self._places, (ledger, self._outside()))
        return "; ".join(f"{one.what} ({one.about}): {one.found}" for one in ends if not one.holds)
