"""The drain of a mix like the product's: messages whose jobs enqueue the next ones, against plain Celery."""

from collections.abc import Callable, Iterable

from bench.contenders.ours import MAIL, PREFORK, THREADS
from bench.contenders.peer_settings import PLAIN_CELERY
from bench.contest import Contest, Target, best, take_turns
from bench.drain import DrainRun, drain
from bench.measured_job import MAIL_JOBS, MESSAGES
from bench.setup import ContestGroup, Setup, Sizes

NAME = "drain_mix_vs_celery"
JOBS = 18_000
"""Jobs in all, for 8,000 messages: plain Celery drains them within the time limit."""
TARGET = Target("ratio", "at least", 5)
OURS = {"ours_threads": THREADS, "ours_prefork": PREFORK}
PEER = PLAIN_CELERY.name


def run_contests(setup: Setup) -> Iterable[Contest]:
    """Drain the messages, all contenders in turns."""
    share = MESSAGES / MAIL_JOBS
    runs = {
        name: DrainRun(setup.ours, setting, MAIL, JOBS, setup.sizes.time_limit_s, backlog_share=share)
        for name, setting in OURS.items()
    }
    if peer := setup.peer(PLAIN_CELERY):
        runs[PEER] = DrainRun(peer, PLAIN_CELERY.drain[0], MAIL, JOBS, setup.sizes.time_limit_s, backlog_share=share)

    def runner(name: str) -> Callable[[], float]:
        return lambda: drain(runs[name], setup.folder).rate

    rounds = take_turns(
        {name: runner(name) for name in runs}, setup.sizes.rounds, lambda line: setup.print_line(f"mail mix, {line}")
    )
    setup.note_dropped("mix", dict(rounds.dropped))
    ours = best(rounds.figures, list(OURS))
    if ours and PEER in rounds.figures:
        facts = {"jobs": JOBS, "ours_setting": runs[ours].setting.label, "peer_setting": runs[PEER].title}
        yield Contest(NAME, rounds.figures[ours], rounds.figures[PEER], targets=(TARGET,), facts=facts)


def names(_sizes: Sizes) -> list[str]:
    """The one contest of this group."""
    return [NAME]


GROUP = ContestGroup("mix", names, run_contests)
