"""The drains of a mix like the product's: messages whose jobs enqueue the next ones, against plain Celery.

In the second mix each job also writes a row: ours in the transaction of its settlement, Celery's in a transaction that
commits before the next task is enqueued.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from bench.contenders.ours import MAIL, PREFORK, THREADS, WRITING_MAIL
from bench.contenders.peer import Kind
from bench.contenders.peer_settings import PLAIN_CELERY, WRITING_CELERY
from bench.contest import Contest, Target, best, take_turns
from bench.drain import DrainRun, drain
from bench.measured_job import MAIL_JOBS, MESSAGES
from bench.setup import ContestGroup, Setup, Sizes

JOBS = 18_000
"""Jobs in all, for 8,000 messages: plain Celery drains them within the time limit."""
OURS = {"ours_threads": THREADS, "ours_prefork": PREFORK}


@dataclass(frozen=True)
class Mix:
    """One mix of jobs, plain Celery's settings for it, and what is asked of ours."""

    name: str
    job: str
    kind: Kind
    target: Target


MIXES = (
    Mix("drain_mix_vs_celery", MAIL, PLAIN_CELERY, Target("ratio", "at least", 4)),
    Mix("drain_mix_writes_vs_celery", WRITING_MAIL, WRITING_CELERY, Target("ratio", "at least", 0.8)),
)


def run_contests(setup: Setup) -> Iterable[Contest]:
    """Drain the messages of each mix that was asked for."""
    for mix in MIXES:
        if setup.wants(mix.name):
            yield from _run_contest(setup, mix)


def names(_sizes: Sizes) -> list[str]:
    """Both mixes."""
    return [mix.name for mix in MIXES]


GROUP = ContestGroup("mix", names, run_contests)


def _run_contest(setup: Setup, mix: Mix) -> Iterator[Contest]:
    """All contenders in turns."""
    share, limit = MESSAGES / MAIL_JOBS, setup.sizes.time_limit_s
    runs = {
        name: DrainRun(setup.ours, setting, mix.job, JOBS, limit, backlog_share=share) for name, setting in OURS.items()
    }
    peers = []
    if peer := setup.peer(mix.kind):
        for setting in mix.kind.drain:
            peers.append(setting.label)
            runs[setting.label] = DrainRun(peer, setting, mix.job, JOBS, limit, backlog_share=share)

    def runner(name: str) -> Callable[[], float]:
        return lambda: drain(runs[name], setup.folder).rate

    rounds = take_turns(
        {name: runner(name) for name in runs}, setup.sizes.rounds, lambda line: setup.print_line(f"{mix.name}, {line}")
    )
    setup.note_dropped(mix.name, dict(rounds.dropped))
    ours, theirs = best(rounds.figures, list(OURS)), best(rounds.figures, peers)
    if ours and theirs:
        facts = {"jobs": JOBS, "ours_setting": runs[ours].setting.label, "peer_setting": runs[theirs].title}
        yield Contest(mix.name, rounds.figures[ours], rounds.figures[theirs], targets=(mix.target,), facts=facts)
