"""Enqueueing, many at once and one by one: against Celery's `apply_async` and against the durable peers."""

from collections.abc import Callable, Iterable, Iterator

from bench.contenders.peer import Peer
from bench.contenders.peer_settings import DURABLE, PLAIN_CELERY
from bench.contest import Contest, Target, take_turns
from bench.setup import ContestGroup, Setup, Sizes

MANY, ONE = "enqueue_many", "enqueue_one"
SINGLY = 10
"""One by one is timed with a tenth of the jobs that are enqueued at once."""

TARGETS = {
    f"{MANY}_vs_apply_async": (Target("ours", "at least", 20_000), Target("ratio", "at least", 10)),
    f"{ONE}_vs_apply_async": (Target("ratio", "at least", 0.55),),
}


def run_contests(setup: Setup) -> Iterable[Contest]:
    """Run both kinds of contest, all contenders in turns."""
    bulk = min(setup.sizes.jobs, 20_000)
    single = max(1, bulk // SINGLY)
    celery, durable = list(setup.peers([PLAIN_CELERY])), list(setup.peers(DURABLE))
    if any(map(setup.wants, _names_of(MANY))):
        runners = {peer.name: _bulk(peer, single if peer in celery else bulk) for peer in (*celery, *durable)}
        yield from _contests(setup, MANY, {"postroom": lambda: _ours_many(setup, bulk)} | runners, bulk)
    if any(map(setup.wants, _names_of(ONE))):
        runners = {peer.name: _singly(peer, single) for peer in (*celery, *durable)}
        yield from _contests(setup, ONE, {"postroom": lambda: _ours_singly(setup, single)} | runners, single)


def names(_sizes: Sizes) -> list[str]:
    """Every contest of this group."""
    return [*_names_of(MANY), *_names_of(ONE)]


GROUP = ContestGroup("enqueue", names, run_contests)


def _names_of(what: str) -> list[str]:
    return [_name(what, kind.name) for kind in (PLAIN_CELERY, *DURABLE)]


def _name(what: str, peer: str) -> str:
    return f"{what}_vs_{'apply_async' if peer == PLAIN_CELERY.name else peer}"


def _contests(setup: Setup, what: str, runners: dict[str, Callable[[], float]], jobs: int) -> Iterator[Contest]:
    rounds = take_turns(runners, setup.sizes.rounds, lambda line: setup.print_line(f"{what}, {line}"))
    setup.note_dropped(what, dict(rounds.dropped))
    ours = rounds.figures.get("postroom")
    for peer, figures in rounds.figures.items() if ours else ():
        if peer == "postroom":
            continue
        name = _name(what, peer)
        yield Contest(name, ours or (), figures, targets=TARGETS.get(name, ()), facts={"jobs": jobs})


def _bulk(peer: Peer, jobs: int) -> Callable[[], float]:
    return lambda: jobs / peer.enqueue_many("noop", jobs)


def _singly(peer: Peer, jobs: int) -> Callable[[], float]:
    return lambda: jobs / peer.enqueue_singly(jobs)


def _ours_many(setup: Setup, jobs: int) -> float:
    setup.ours.restore("noop", 0)
    return jobs / setup.ours.fill("noop", jobs)


def _ours_singly(setup: Setup, jobs: int) -> float:
    setup.ours.restore("noop", 0)
    return jobs / setup.ours.fill_singly("noop", jobs)
