"""What a reader must know to judge the figures: machine, date, versions, sizes, who was left out."""

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from bench.arena import Arena

OUR_LIBRARIES = ("celery", "kombu", "psycopg", "sqlalchemy", "redis", "hiredis")


def describe(arena: Arena) -> dict[str, object]:
    """Everything but the results."""
    peers = {peer: _telling(peer, versions) for peer, versions in arena.environments.versions.items()}
    return {
        **here_and_now(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in OUR_LIBRARIES},
        "servers": {"postgresql": arena.stores.postgres_version(), "valkey": arena.stores.valkey_version()},
        "durability": "fsync, synchronous_commit, full_page_writes on; max_wal_size 8GB; nothing of the broker on disk",
        "sizes": asdict(arena.sizes),
        "peers": peers,
        "settings_tried": arena.heats,
        "minutes": arena.minutes,
        "left_out": arena.skipped,
        "load_before": [round(load, 2) for load in os.getloadavg()],
    }


def here_and_now() -> dict[str, object]:
    """What each result carries of its own, for results of several runs stand beside one another."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _telling(peer: str, versions: Mapping[str, str]) -> dict[str, str]:
    named = (peer, "python", "asyncpg", "psycopg", "redis", "uvloop")
    return {name: versions[name] for name in named if name in versions}


def _processor() -> str:
    """The processor's name, where the system tells it."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
