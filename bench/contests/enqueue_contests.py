"""Enqueueing: many at once and one by one, against Celery's `apply_async`, and the durable peers beside it."""

from collections.abc import Callable, Iterable, Iterator

from bench.arena import Arena, Sizes, Stage
from bench.contest import Contest, Target, take_turns
from bench.lineup import DURABLE, PLAIN_CELERY
from bench.peer import Peer

MANY, ONE = "enqueue_many", "enqueue_one"
SINGLY = 10
"""One by one is timed on a tenth of what is enqueued at once."""

TARGETS = (Target("ours", "at least", 20_000), Target("ratio", "at least", 10))


def hold(arena: Arena) -> Iterable[Contest]:
    """Both, all in turns."""
    bulk = min(arena.sizes.jobs, 20_000)
    single = max(1, bulk // SINGLY)
    celery, durable = list(arena.peers([PLAIN_CELERY])), list(arena.peers(DURABLE))
    if any(map(arena.wants, _names_of(MANY))):
        runners = {peer.name: _bulk(peer, single if peer in celery else bulk) for peer in (*celery, *durable)}
        yield from _contests(arena, MANY, {"postroom": lambda: _ours_many(arena, bulk)} | runners, bulk)
    if any(map(arena.wants, _names_of(ONE))):
        runners = {peer.name: _singly(peer, single) for peer in (*celery, *durable)}
        yield from _contests(arena, ONE, {"postroom": lambda: _ours_singly(arena, single)} | runners, single)


def names(_sizes: Sizes) -> list[str]:
    """What it can hold."""
    return [*_names_of(MANY), *_names_of(ONE)]


STAGE = Stage("enqueue", names, hold)


def _names_of(what: str) -> list[str]:
    return [_name(what, kind.name) for kind in (PLAIN_CELERY, *DURABLE)]


def _name(what: str, peer: str) -> str:
    return f"{what}_vs_{'apply_async' if peer == PLAIN_CELERY.name else peer}"


def _contests(arena: Arena, what: str, runners: dict[str, Callable[[], float]], jobs: int) -> Iterator[Contest]:
    rounds = take_turns(runners, arena.sizes.rounds, lambda told: arena.tell(f"{what}, {told}"))
    arena.dropped(what, dict(rounds.dropped))
    ours = rounds.figures.get("postroom")
    for peer, figures in rounds.figures.items() if ours else ():
        if peer == "postroom":
            continue
        name = _name(what, peer)
        targets = TARGETS if name == f"{MANY}_vs_apply_async" else ()
        yield Contest(name, ours or (), figures, targets=targets, facts={"jobs": jobs})


def _bulk(peer: Peer, jobs: int) -> Callable[[], float]:
    return lambda: jobs / peer.enqueue_many("noop", jobs)


def _singly(peer: Peer, jobs: int) -> Callable[[], float]:
    return lambda: jobs / peer.enqueue_singly(jobs)


def _ours_many(arena: Arena, jobs: int) -> float:
    arena.ours.restore("light_noop", 0)
    return jobs / arena.ours.fill("light_noop", jobs)


def _ours_singly(arena: Arena, jobs: int) -> float:
    arena.ours.restore("light_noop", 0)
    return jobs / arena.ours.fill_singly("light_noop", jobs)
