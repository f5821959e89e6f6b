"""The peers and the settings found good for each; a tuning round decides which is best on this machine."""

from functools import partial

from bench.contenders.contender import Setting, processes
from bench.contenders.peer import Kind

QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat")


def _program(peer: str, *words: str, count: int = 2) -> Setting:
    label = f"{count} x {' '.join(words)}".strip()
    return Setting(label, processes(("-m", f"bench.peers.with_{peer}", "worker", *words), count), ready=count)


def _celery(
    label: str,
    *words: str,
    program: str = "celery",
    count: int = 1,
    ready: int = 2,
    prefetch: int = 64,
    safe: bool = True,
) -> Setting:
    queue = program.replace("celery", "plain")
    command = ("-m", "celery", "-A", f"bench.peers.with_{program}", "worker", "-Q", queue, *QUIET, *words)
    environment = {"BENCH_PREFETCH": str(prefetch), "BENCH_ACK_EMULATION": str(int(safe)), "USE_FAST_LOCALS": "1"}
    return Setting(label, processes(command, count), ready, environment)


def _of_mail(program: str, prefetch: int) -> tuple[Setting, ...]:
    """The settings for programs whose tasks wait for others: two processes, for one is bound by its GIL."""
    setting = partial(_celery, program=program, prefetch=prefetch)
    return (
        setting("prefork 2, late acks", "-P", "prefork", "-c", "2"),
        setting("2 x threads 4, late acks", "-P", "threads", "-c", "4", count=2),
    )


PLAIN_CELERY = Kind(
    "celery",
    None,
    drain=(_celery("prefork 2, late acks", "-P", "prefork", "-c", "2"),),
    io_bound=_celery("threads 200, late acks", "-P", "threads", "-c", "200", ready=1, prefetch=2),
    idle=_celery("prefork 2, late acks", "-P", "prefork", "-c", "2"),
)

WRITING_CELERY = Kind("celery_writes", None, drain=_of_mail("celery_writes", prefetch=64), tables="message_rows")
PIPELINE_CELERY = Kind("celery_pipeline", None, drain=_of_mail("celery_pipeline", prefetch=4))

SAFE_CELERY = Kind(
    "celery",
    None,
    drain=(
        _celery("2 x solo, late acks", "-P", "solo", count=2),
        _celery("3 x solo, late acks", "-P", "solo", count=3, ready=3),
        _celery("4 x solo, late acks", "-P", "solo", count=4, ready=4),
        _celery("2 x solo, late acks, prefetch 256", "-P", "solo", count=2, prefetch=256),
        _celery("2 x solo, late acks, prefetch 4", "-P", "solo", count=2, prefetch=4),
        _celery("2 x threads 4, late acks", "-P", "threads", "-c", "4", count=2),
        _celery("2 x gevent 10, late acks", "-P", "gevent", "-c", "10", count=2),
        _celery("prefork 2, late acks, prefetch 256", "-P", "prefork", "-c", "2", prefetch=256),
        _celery("2 x prefork 1, late acks", "-P", "prefork", "-c", "1", count=2),
    ),
)

# Without kombu's emulation of acknowledgements a killed worker loses its messages.
UNSAFE_CELERY = Kind(
    "celery",
    None,
    drain=(
        _celery("prefork 2, no ack emulation", "-P", "prefork", "-c", "2", safe=False),
        _celery("2 x solo, no ack emulation", "-P", "solo", count=2, safe=False),
    ),
)

DURABLE = (
    Kind(
        "pgqueuer",
        "select count(*) from pgqueuer",
        drain=(
            _program("pgqueuer", "100", count=1),
            _program("pgqueuer", "200", count=1),
            _program("pgqueuer", "100"),
            _program("pgqueuer", "200"),
            _program("pgqueuer", "200", count=3),
            _program("pgqueuer", "400"),
            _program("pgqueuer", "400", count=3),
            _program("pgqueuer", "800"),
        ),
        io_bound=_program("pgqueuer", "100", "200", count=1),
        idle=_program("pgqueuer", "10", count=1),
    ),
    Kind(
        "oban",
        "select count(*) from oban_jobs where state <> 'completed'",
        drain=(
            _program("oban", "100"),
            _program("oban", "200"),
            _program("oban", "400"),
            _program("oban", "200", count=3),
        ),
        io_bound=_program("oban", "200", count=1),
        idle=_program("oban", "10", count=1),
    ),
    Kind(
        "dbos",
        "select count(*) from dbos.workflow_status where status <> 'SUCCESS'",
        drain=(_program("dbos", "100", "0.05"), _program("dbos", "400", "0.05"), _program("dbos", "100", "0.01")),
        io_bound=_program("dbos", "200", "0.05", count=1),
    ),
    Kind(
        "procrastinate",
        "select count(*) from procrastinate_jobs where status <> 'succeeded'",
        drain=(_program("procrastinate", "10"), _program("procrastinate", "20")),
        io_bound=_program("procrastinate", "200", count=1),
        idle=_program("procrastinate", "10", count=1),
    ),
    Kind(
        "chancy",
        "select count(*) from chancy_jobs where state <> 'succeeded'",
        drain=(_program("chancy", "100"), _program("chancy", "500")),
        io_bound=_program("chancy", "200", count=1),
    ),
)

# A step of the mail pipeline blocks, so each runs in a thread: DBOS has one for each workflow that runs, the event
# loops of the others have six on two cores.
PIPELINE_SETTINGS = {
    "pgqueuer": (("5", "10"), ("10", "20")),
    "dbos": (("8", "0.05"), ("20", "0.05")),
    "procrastinate": (("4",), ("6",)),
}
DURABLE_PIPELINES = tuple(
    Kind(
        f"{kind.name}_pipeline",
        kind.unfinished,
        drain=tuple(_program(f"{kind.name}_pipeline", *words) for words in PIPELINE_SETTINGS[kind.name]),
    )
    for kind in DURABLE
    if kind.name in PIPELINE_SETTINGS
)


def _dramatiq(label: str, workers: int, threads: int) -> Setting:
    words = ("-m", "dramatiq", "bench.peers.with_dramatiq", "-p", str(workers), "-t", str(threads))
    return Setting(label, processes(words, 1), ready=workers)


def _taskiq(workers: int, tasks: int) -> Setting:
    words = (
        "-m",
        "taskiq",
        "worker",
        "bench.peers.with_taskiq:broker",
        "--log-level",
        "ERROR",
        "--workers",
        str(workers),
    )
    more = ("--max-async-tasks", str(tasks), "--max-prefetch", str(tasks), "--ack-type", "when_executed")
    return Setting(f"{workers} x {tasks}, stream", processes((*words, *more), 1), ready=workers)


def _huey(workers: int, kind: str, ready: int) -> Setting:
    words = ("-m", "huey.bin.huey_consumer", "bench.peers.with_huey.huey", "-q", "-w", str(workers), "-k", kind)
    return Setting(f"{workers} x {kind}", processes(words, 1), ready=ready)


OTHERS = (
    Kind(
        "dramatiq",
        None,
        drain=(_dramatiq("2 x 4 threads", 2, 4), _dramatiq("2 x 1 thread", 2, 1)),
        io_bound=_dramatiq("1 x 200 threads", 1, 200),
    ),
    Kind("taskiq", None, drain=(_taskiq(2, 200), _taskiq(2, 50)), io_bound=_taskiq(1, 200)),
    Kind("huey", None, drain=(_huey(2, "process", 2), _huey(4, "process", 4)), io_bound=_huey(200, "thread", 1)),
    Kind(
        "arq",
        None,
        drain=(_program("arq", "100", "0.01"), _program("arq", "500", "0.01")),
        io_bound=_program("arq", "200", "0.01", count=1),
    ),
    Kind("rq", None, drain=(_program("rq"),)),
)
