"""What a mailbox costs in which nothing happens: CPU of a sync that finds no change, as each fallback sync does."""

import statistics
import threading
import time
from collections.abc import Iterable

import psycopg

from bench.contenders.contender import running
from bench.contenders.ours import THREADS
from bench.contest import Contest, take_turns
from bench.pipeline.contenders import OurPipeline
from bench.pipeline.mailboxes import MAILBOXES, Mailboxes, running_mailboxes
from bench.pipeline.usage import Cost, Memory, committed, used_until_now
from bench.run_folder import RunFolder
from bench.setup import ContestGroup, Setup
from bench.stores import RUN_DATABASE

NAME = "mailbox_poll_cpu_ms"
WARM, POLLS = 10, 50
"""Polls of every mailbox, before the counting and counted."""
POLL_S, MOST_S = 0.05, 30.0
"""How often is looked whether all are done, and how long that may take."""


def polls(setup: Setup) -> Iterable[Contest]:
    """CPU of workers and PostgreSQL for each sync, in milliseconds."""
    costs: list[Cost] = []
    with running_mailboxes(setup.folder) as mailboxes:

        def run() -> float:
            costs.append(_poll_often(setup, mailboxes))
            return costs[-1].cpu_ms

        rounds = take_turns({"postroom": run}, setup.sizes.rounds, setup.print_line)
    setup.note_dropped("polls", dict(rounds.dropped))
    if figures := rounds.figures.get("postroom"):
        each = [cost.as_facts() for cost in costs]
        facts = {name: round(statistics.median(facts[name] for facts in each), 2) for name in each[0]}
        facts_of_all = {"mailboxes": MAILBOXES, "ours_setting": THREADS.label, "ours_cost": facts}
        yield Contest(NAME, figures, unit="ms", better="lower", facts=facts_of_all)


GROUP = ContestGroup("polls", lambda _: [NAME], polls)


def _poll_often(setup: Setup, mailboxes: Mailboxes) -> Cost:
    boxes, _ = mailboxes.refill(0)
    ours = OurPipeline(setup.ours, setup.stores, mailboxes, (THREADS,))
    ours.connect(boxes)
    log, memory, looks = setup.folder / "polls.log", Memory(), 0
    with psycopg.connect(setup.stores.database_url(), autocommit=True) as owner:
        before = committed(owner, RUN_DATABASE)
        with running(ours, THREADS, RunFolder(setup.folder / "run"), log) as workers:
            for number in range(WARM + POLLS):
                if number == WARM:
                    start = used_until_now(owner, workers, setup.stores.postmaster)
                ours.poll()
                looks += _wait_until_done(owner, MAILBOXES * (number + 1))
            used = used_until_now(owner, workers, setup.stores.postmaster).since(start)
            memory.look(workers)
        commits = committed(owner, RUN_DATABASE) - before - looks
    return Cost(used, MAILBOXES * POLLS, commits / (MAILBOXES * (WARM + POLLS)), memory)


def _wait_until_done(owner: "psycopg.Connection[tuple[int]]", polls: int) -> int:
    """How often was looked until so many syncs had succeeded."""
    done = b"select count(*) from jobs where job_type = 'gmail.sync' and state = 'succeeded'"
    began, never = time.monotonic(), threading.Event()
    for looks in range(1, int(MOST_S / POLL_S)):
        if [row[0] for row in owner.execute(done)] == [polls]:
            return looks
        never.wait(POLL_S)
    raise TimeoutError(f"after {time.monotonic() - began:.0f} s not all of {polls} syncs had succeeded")
