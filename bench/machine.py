"""What a reader of the figures must know: machine, date, versions, sizes, and which peers were left out."""

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from bench.setup import Setup

OUR_LIBRARIES = ("celery", "kombu", "psycopg", "sqlalchemy", "redis", "hiredis")


def describe(setup: Setup) -> dict[str, object]:
    """The content of `machine.json`."""
    peers = {peer: _named(peer, versions) for peer, versions in setup.environments.versions.items()}
    return {
        **here_and_now(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in OUR_LIBRARIES},
        "servers": {"postgresql": setup.stores.postgres_version(), "valkey": setup.stores.valkey_version()},
        "durability": "fsync, synchronous_commit, full_page_writes on; max_wal_size 8GB; nothing of the broker on disk",
        "sizes": asdict(setup.sizes),
        "peers": peers,
        "settings_tried": setup.tuning_rounds,
        "minutes": setup.minutes,
        "left_out": setup.skipped,
        "load_before": [round(load, 2) for load in os.getloadavg()],
    }


def here_and_now() -> dict[str, object]:
    """Date and machine of each single result, because `results.json` may hold results of several runs."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _named(peer: str, versions: Mapping[str, str]) -> dict[str, str]:
    names = (peer, "python", "asyncpg", "psycopg", "redis", "uvloop")
    return {name: versions[name] for name in names if name in versions}


def _processor() -> str:
    """The processor's name where `/proc/cpuinfo` has it, else the architecture."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
