"""Threads about other engines as workflows of ours, in `known/<engine>-<number>.yaml`: what was wrong, what is right.

| key | what it is |
|---|---|
| `thread`, `trap` | where it was told, and what went wrong there |
| `workflow`, `others` | the definition, and those of the workflows that it runs |
| `input` | of the run; `list_of: n` is `list` with the numbers below n, `text_of: n` is `text` of n letters |
| `faults` | the JSON pointers of the definition's faults: it cannot be saved |
| `rounds` | the run, and each resume of it |

A round has `broken` (jobs of `workflow_jobs.echo` with one of these words fail), `events` (name and payload, sent
before the run's first advance), `waits` (how a wait for a person ends: approved, denied, timeout), `newer` (the
definition by which it is resumed), and what comes out: `state` and `code` of the run, `output`, `nodes` (the state, or
why the node was skipped), `begun` (in which rounds the work of a node has begun by then).
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "known"


@dataclass(frozen=True)
class Round:
    """A round of a run: what happens in it, and what comes out."""

    state: str
    nodes: dict[str, str]
    code: str | None = None
    output: Any = None
    begun: dict[str, list[int]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    waits: dict[str, str] = field(default_factory=dict)
    events: list[tuple[str, Any]] = field(default_factory=list)
    newer: dict[str, Any] | None = None


@dataclass(frozen=True)
class Thread:
    """What a file says."""

    workflow: dict[str, Any]
    others: list[dict[str, Any]]
    input: dict[str, Any]
    faults: list[str]
    rounds: list[Round]


def names() -> list[str]:
    """The threads, each by its engine and number."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def thread(name: str) -> Thread:
    """What the file of a thread says."""
    told = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    assert told.keys() <= {"thread", "trap", "workflow", "others", "input", "faults", "rounds"}
    assert told["thread"].endswith(f"/{name.rpartition('-')[2]}")
    assert told["workflow"]["name"] == name
    given = dict(told.get("input", {}))
    if "list_of" in given:
        given["list"] = list(range(given.pop("list_of")))
    if "text_of" in given:
        given["text"] = "x" * given.pop("text_of")
    rounds = [Round(**one) for one in told.get("rounds", ())]
    return Thread(told["workflow"], told.get("others", []), given, told.get("faults", []), rounds)
