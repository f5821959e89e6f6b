"""Passwords of operators as argon2id, of which a process hashes two at a time.

A flood of sign-ins waits without a thread, and without the 19 MB that each hash takes.
"""

from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from domain.jobs.job import SYSTEM_ORG
from domain.orgs.access.operators import LONGEST_PASSWORD
from gateway.http.resources import resources_of

HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
"""OWASP's figures: 19 MiB, two rounds."""


async def hash_password(request: Request, password: str) -> str:
    """What is kept of a password; raises `Busy` when others sign in for too long."""
    async with resources_of(request).hashes.hold(SYSTEM_ORG):
        return await run_in_threadpool(HASHER.hash, password)


async def is_password(request: Request, password: str, kept: str | None) -> bool:
    """Whether a password is the one that is kept; raises `Busy`.

    Where none is kept, or the text is too long for one, it is compared with nobody's: an address that is known takes as
    long as any other.
    """
    is_possible = kept is not None and len(password) <= LONGEST_PASSWORD
    async with resources_of(request).hashes.hold(SYSTEM_ORG):
        is_equal = await run_in_threadpool(_is_equal, password[:LONGEST_PASSWORD], kept if is_possible else None)
    return is_possible and is_equal


def _is_equal(password: str, kept: str | None) -> bool:
    try:
        return HASHER.verify(kept or _nobodys(), password)
    except VerificationError:
        return False


@cache
def _nobodys() -> str:
    """The hash of a text that no form has: a field of a form holds no NUL that the browser would send."""
    return HASHER.hash("\0nobody")
