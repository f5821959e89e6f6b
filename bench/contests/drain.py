"""The drains: ours in each pool against Celery in three configurations and every other peer, in turns."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from bench.contenders.ours import FEW_THREADS, PREFORK
from bench.contenders.peer import Kind
from bench.contenders.peer_settings import DURABLE, OTHERS, PLAIN_CELERY, SAFE_CELERY, UNSAFE_CELERY
from bench.contest import Contest, Target, best, take_turns
from bench.drain import DrainRun, drain
from bench.setup import ContestGroup, Setup, Sizes
from bench.tuning import best_setting

SMALL = 20_000
OUR_THREADS, OUR_PREFORK = "ours_threads", "ours_prefork"
OWN = {
    OUR_THREADS: (FEW_THREADS, "noop"),
    OUR_PREFORK: (PREFORK, "noop"),
}
PLAIN, SAFE, UNSAFE = "celery", "celery_best_safe", "celery_unsafe"
FAMILIES: dict[str, Kind] = {PLAIN: PLAIN_CELERY, SAFE: SAFE_CELERY, UNSAFE: UNSAFE_CELERY} | {
    kind.name: kind for kind in (*DURABLE, *OTHERS)
}


@dataclass(frozen=True)
class Comparison:
    """One contest: the best of our entries against the best of the named peers."""

    name: str
    ours: tuple[str, ...]
    peers: tuple[str, ...]
    targets: tuple[Target, ...] = ()


def comparisons() -> Iterator[Comparison]:
    """All drains of the full backlog."""
    threads = (OUR_THREADS,)
    yield Comparison("drain_vs_celery", threads, (PLAIN,), (_at_least(18),))
    yield Comparison("drain_vs_celery_best_safe", threads, (PLAIN, SAFE), (_at_least(5),))
    yield Comparison("drain_vs_celery_unsafe", threads, (UNSAFE,))
    yield Comparison("drain_vs_best_durable", threads, tuple(kind.name for kind in DURABLE), (_at_least(1.2),))
    yield from (Comparison(f"drain_vs_{kind.name}", threads, (kind.name,)) for kind in (*DURABLE, *OTHERS))
    yield Comparison("drain_prefork_vs_celery", (OUR_PREFORK,), (PLAIN,), (_at_least(2),))


def small_comparisons() -> Iterator[Comparison]:
    """The same on the small backlog, without the peers whose cost per job does not depend on its size."""
    for match in comparisons():
        if not set(match.peers) & {kind.name for kind in OTHERS}:
            yield replace(match, name=f"{match.name}_20k", targets=())


def run_contests(setup: Setup) -> Iterable[Contest]:
    """Drain the full backlog, then the small one."""
    jobs = setup.sizes.jobs
    yield from _run_contests(setup, jobs, "", [match for match in comparisons() if setup.wants(match.name)])
    if jobs > SMALL:
        yield from _run_contests(
            setup, SMALL, "_20k", [match for match in small_comparisons() if setup.wants(match.name)]
        )


def names(sizes: Sizes) -> list[str]:
    """Every contest of this group."""
    return [match.name for match in (*comparisons(), *(small_comparisons() if sizes.jobs > SMALL else ()))]


GROUP = ContestGroup("drain", names, run_contests)


def _run_contests(setup: Setup, jobs: int, suffix: str, chosen: list[Comparison]) -> Iterator[Contest]:
    needed = dict.fromkeys(name for match in chosen for name in (*match.ours, *match.peers))
    entries = {name: run for name in needed if (run := _entry(setup, name, jobs))}
    seen: dict[str, bool] = {}

    def runner(name: str) -> Callable[[], float]:
        def run() -> float:
            drained = drain(entries[name], setup.folder)
            seen[name] = drained.whole and seen.get(name, True)
            return drained.rate

        return run

    rounds = take_turns({name: runner(name) for name in entries}, setup.sizes.rounds, setup.print_line)
    setup.note_dropped(f"drain{suffix}", dict(rounds.dropped))
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


def _entry(setup: Setup, name: str, jobs: int) -> DrainRun | None:
    def rate(run: DrainRun) -> float:
        return drain(run, setup.folder).rate

    if name in OWN:
        setting, job = OWN[name]
        return best_setting(setup, name, [DrainRun(setup.ours, setting, job, jobs, setup.sizes.time_limit_s)], rate)
    kind = FAMILIES[name]
    peer = setup.peer(kind)
    if peer is None:
        return None
    return best_setting(
        setup, name, [DrainRun(peer, setting, "noop", jobs, setup.sizes.time_limit_s) for setting in kind.drain], rate
    )


def _at_least(value: float) -> Target:
    return Target("ratio", "at least", value)
