"""Reads in SQL text how a statement locks rows of `jobs`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

COMMENT = re.compile(r"--[^\n]*")
PARAMETER = re.compile(r"%\((\w+)\)s")
LOCK = re.compile(
    r"\bfor\s+(?:no\s+key\s+update|update|key\s+share|share)\b(?:\s+of\s+(?P<of>\w+))?(?P<passes>\s+(?:skip\s+locked|nowait))?",
    re.IGNORECASE,
)
WRITE = re.compile(
    r"\b(?:update\s+(?:only\s+)?|delete\s+from\s+)(?:public\.)?jobs\b(?:\s+(?:as\s+)?(?P<alias>\w+))?", re.IGNORECASE
)
READ = re.compile(r"\b(?:from|join|using)\s+(?:public\.)?jobs\b(?:\s+(?:as\s+)?(?P<alias>\w+))?", re.IGNORECASE)
ONE = re.compile(r"(?<!\w)(?:(?P<of>\w+)\.)?id\s*=\s*(?P<whose>:?\w+)(?!\w|\.|\s*\()", re.IGNORECASE)
"""One row by its id: a parameter or a variable, and no column of another row."""
BY_ID = re.compile(r"\border\s+by\s+(?:\w+\.)?id(?:\s+asc)?\s*\Z", re.IGNORECASE)
NAMED = re.compile(r"\b(?P<name>\w+)\s+as\s+(?:not\s+)?(?:materialized\s+)?\(", re.IGNORECASE)
OWN = frozenset({"held_job"})
"""What functions call the job whose claim their caller holds."""


class Lock(NamedTuple):
    """One way in which a statement locks rows of `jobs`."""

    text: str
    waits: bool
    """Whether it waits for whoever has locked a row."""
    whose: str = ""
    """The parameter or variable of the one row that it locks; empty when it may lock several."""
    is_by_id: bool = False
    is_held: bool = False
    """Whether it writes rows that the same statement has locked before."""


def misfits(sql: str) -> list[str]:
    """What of a statement, or of a function's body, could deadlock with the others."""
    locks = list(locks_of(sql))
    passed = {lock.whose for lock in locks if not lock.waits and lock.whose}
    held = {lock.whose for lock in locks if lock.whose in OWN}
    found = []
    for lock in locks:
        if not lock.waits or lock.is_by_id or lock.is_held:
            continue
        if not lock.whose:
            found.append(f"locks several jobs in no order: {lock.text}")
        elif held and lock.whose not in OWN | passed:
            found.append(f"waits for another job while it holds its own: {lock.text}")
    return found


def locks_of(sql: str) -> Iterator[Lock]:
    """Every lock of rows of `jobs`, in the order of the text."""
    plain = PARAMETER.sub(r":\1", COMMENT.sub("", sql))
    if re.search(r"\bheld_job\b", plain) and "hold_claim" in plain:
        yield Lock("hold_claim", waits=True, whose="held_job")
    holders = _holders(plain)
    for found in LOCK.finditer(plain):
        query = _flat(plain[_opening(plain, found.start()) : found.start()])
        if _locks_jobs(query, found["of"]):
            yield Lock(
                _short(query + found[0]), not found["passes"], _one(query), is_by_id=bool(BY_ID.search(query.rstrip()))
            )
    for found in WRITE.finditer(plain):
        whole = plain[found.start() : _closing(plain, found.start())]
        query = _flat(whole)
        is_held = _holds(whole) or any(_mentions(whole, name) for name in holders)
        yield Lock(_short(query), waits=True, whose=_one(query), is_held=is_held)


def _holders(plain: str) -> set[str]:
    """The sub-queries of a statement that hold job rows: they lock them, or read from one that does."""
    bodies = {one["name"]: plain[one.end() : _closing(plain, one.end())] for one in NAMED.finditer(plain)}
    holders = {name for name, body in bodies.items() if _holds(body)}
    while more := {
        name for name, body in bodies.items() if name not in holders and any(_mentions(body, one) for one in holders)
    }:
        holders |= more
    return holders


def _holds(text: str) -> bool:
    """Whether a query in it locks jobs by a clause, which is looked at by itself."""
    clauses = ((found["of"], text[_opening(text, found.start()) : found.start()]) for found in LOCK.finditer(text))
    return any(_locks_jobs(_flat(query), of) for of, query in clauses)


def _locks_jobs(query: str, of: str | None) -> bool:
    names = _names(query)
    return bool(names) and (of is None or of in names)


def _names(query: str) -> set[str]:
    """What the query calls `jobs`; nothing when it does not read them."""
    found = [*READ.finditer(query), *WRITE.finditer(query)]
    return {one["alias"] for one in found if one["alias"]} | ({"jobs"} if found else set())


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?:\b(?:from|join)\s+|,\s*){name}\b", text, re.IGNORECASE) is not None


def _one(query: str) -> str:
    _, where, conditions = query.partition("where")
    for found in ONE.finditer(conditions) if where else ():
        if (found["of"] is None or found["of"] in _names(query)) and found["whose"].lower() not in {"any", "all"}:
            return found["whose"].lstrip(":")
    return ""


def _opening(text: str, end: int) -> int:
    """Where the query begins that stands before `end`: after its bracket, or after the statement before it."""
    depth = 0
    for place in range(end - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[place], 0)
        if depth < 0 or (depth == 0 and text[place] == ";"):
            return place + 1
    return 0


def _closing(text: str, begin: int) -> int:
    """Where the query ends that begins there."""
    depth = 0
    for place in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth < 0 or (depth == 0 and text[place] == ";"):
            return place
    return len(text)


def _flat(query: str) -> str:
    """The query without what stands in brackets."""
    while (shorter := re.sub(r"\([^()]*\)", "", query)) != query:
        query = shorter
    return query


def _short(text: str) -> str:
    return " ".join(text.split())[-160:]
