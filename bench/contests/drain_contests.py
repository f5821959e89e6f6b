"""The drains: ours, light and ordinary, against Celery at three settings and against every other peer, all in turns."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from bench.arena import Arena, Sizes, Stage
from bench.contest import Contest, Target, best, take_turns
from bench.drain import Heat, drain
from bench.heats import best_of
from bench.lineup import DURABLE, OTHERS, PLAIN_CELERY, SAFE_CELERY, UNSAFE_CELERY
from bench.ours import FEW_THREADS, PREFORK, THREADS
from bench.peer import Kind

LIGHT, ORDINARY = "drain_light", "drain_ordinary"
SMALL = 20_000
OUR_LIGHT, OUR_THREADS, OUR_PREFORK = "ours_light", "ours_threads", "ours_prefork"
OWN = {
    OUR_LIGHT: (FEW_THREADS, "light_noop"),
    OUR_THREADS: (THREADS, "noop"),
    OUR_PREFORK: (PREFORK, "noop"),
}
PLAIN, SAFE, UNSAFE = "celery", "celery_best_safe", "celery_unsafe"
FAMILIES: dict[str, Kind] = {PLAIN: PLAIN_CELERY, SAFE: SAFE_CELERY, UNSAFE: UNSAFE_CELERY} | {
    kind.name: kind for kind in (*DURABLE, *OTHERS)
}


@dataclass(frozen=True)
class Match:
    """One contest: the best of our entries against the best of the peers'."""

    name: str
    ours: tuple[str, ...]
    peers: tuple[str, ...]
    targets: tuple[Target, ...] = ()


def matches() -> Iterator[Match]:
    """All drains, by name."""
    light = (OUR_LIGHT,)
    yield Match(f"{LIGHT}_vs_celery", light, (PLAIN,), (_at_least(10),))
    yield Match(f"{LIGHT}_vs_celery_best_safe", light, (PLAIN, SAFE), (_at_least(5),))
    yield Match(f"{LIGHT}_vs_celery_unsafe", light, (UNSAFE,))
    yield Match(f"{LIGHT}_vs_best_durable", light, tuple(kind.name for kind in DURABLE), (_at_least(1),))
    yield from (Match(f"{LIGHT}_vs_{kind.name}", light, (kind.name,)) for kind in (*DURABLE, *OTHERS))
    yield Match(f"{ORDINARY}_vs_celery", (OUR_PREFORK, OUR_THREADS), (PLAIN,), (_at_least(2),))
    yield Match(f"{ORDINARY}_prefork_vs_celery", (OUR_PREFORK,), (PLAIN,))
    yield Match(f"{ORDINARY}_threads_vs_celery", (OUR_THREADS,), (PLAIN,))


def small_matches() -> Iterator[Match]:
    """The same on the small backlog, without those whose cost does not depend on it."""
    for match in matches():
        if not set(match.peers) & {kind.name for kind in OTHERS}:
            yield replace(match, name=f"{match.name}_20k", targets=())


def hold(arena: Arena) -> Iterable[Contest]:
    """The full backlog, and beside it the small one, for those whose cost depends on the backlog."""
    jobs = arena.sizes.jobs
    yield from _hold(arena, jobs, "", [match for match in matches() if arena.wants(match.name)])
    if jobs > SMALL:
        yield from _hold(arena, SMALL, "_20k", [match for match in small_matches() if arena.wants(match.name)])


def names(sizes: Sizes) -> list[str]:
    """What it can hold."""
    return [match.name for match in (*matches(), *(small_matches() if sizes.jobs > SMALL else ()))]


STAGE = Stage("drain", names, hold)


def _hold(arena: Arena, jobs: int, suffix: str, chosen: list[Match]) -> Iterator[Contest]:
    needed = dict.fromkeys(name for match in chosen for name in (*match.ours, *match.peers))
    entries = {name: heat for name in needed if (heat := _entry(arena, name, jobs))}
    seen: dict[str, bool] = {}

    def runner(name: str) -> Callable[[], float]:
        def run() -> float:
            drained = drain(entries[name], arena.folder)
            seen[name] = drained.whole and seen.get(name, True)
            return drained.rate

        return run

    rounds = take_turns({name: runner(name) for name in entries}, arena.sizes.rounds, arena.tell)
    arena.dropped(f"drain{suffix}", dict(rounds.dropped))
    for match in chosen:
        ours, peer = best(rounds.figures, match.ours), best(rounds.figures, match.peers)
        if ours is None or peer is None:
            continue
        facts = {
            "jobs": jobs,
            "ours_setting": entries[ours].setting.label,
            "peer_setting": entries[peer].title,
            "peer_emptied_backlog": seen[peer],
        }
        yield Contest(match.name, rounds.figures[ours], rounds.figures[peer], targets=match.targets, facts=facts)


def _entry(arena: Arena, name: str, jobs: int) -> Heat | None:
    def rate(heat: Heat) -> float:
        return drain(heat, arena.folder).rate

    if name in OWN:
        setting, job = OWN[name]
        return best_of(arena, name, [Heat(arena.ours, setting, job, jobs, arena.sizes.box_s)], rate)
    kind = FAMILIES[name]
    peer = arena.peer(kind)
    if peer is None:
        return None
    return best_of(arena, name, [Heat(peer, setting, "noop", jobs, arena.sizes.box_s) for setting in kind.drain], rate)


def _at_least(value: float) -> Target:
    return Target("ratio", "at least", value)
