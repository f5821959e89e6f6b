"""The table that turns what obstore raises into our failures.

No reason quotes the library's words: they hold addresses, keys of objects and what the server said. The status is taken
out of them. Source: https://developmentseed.org/obstore/latest/api/exceptions/.
"""

import re
from collections.abc import Sequence

from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError

from domain.jobs.failures import CallState, Conflict, Failure, Gone, Transient

ERRORS = (BaseError, OSError)
"""What a call raises: the library's own, `FileNotFoundError` where nothing lies, `TimeoutError` by our own limit."""

BY_WORDS: Sequence[tuple[re.Pattern[str], str, str]] = (
    (re.compile("NoSuchBucket"), "the bucket of artifacts does not exist", "no_bucket"),
    # ENOSPC and EDQUOT of Linux (errno(3)), and how a bucket with a quota says so.
    (re.compile(r"os error (?:28|122)\b|QuotaExceeded"), "the store of artifacts is full", "full"),
)
BY_CLASS: Sequence[tuple[tuple[type[Exception], ...], type[Failure], str, str]] = (
    ((FileNotFoundError,), Gone, "nothing lies there in the store of artifacts", "nothing_there"),
    ((AlreadyExistsError,), Conflict, "something lies there in the store of artifacts", "is_there"),
    (
        (PermissionDeniedError, UnauthenticatedError, PermissionError),
        Transient,
        "the store of artifacts refuses the fleet's credentials or rights",
        "refused",
    ),
)
"""What a store refuses passes when its operator mends the settings: nothing of that is for good."""

_STATUS = re.compile(r"status code: (\d{3})")


def failure_of(error: Exception) -> Failure:
    """Our failure."""
    words = str(error)
    for pattern, reason, code in BY_WORDS:
        if pattern.search(words):
            return Transient(reason, code=f"artifacts.{code}")
    for kinds, failure, reason, code in BY_CLASS:
        if isinstance(error, kinds):
            return failure(reason, code=f"artifacts.{code}")
    return _in_doubt(error, _STATUS.search(words))


def _in_doubt(error: Exception, status: re.Match[str] | None) -> Failure:
    """What may have been done all the same."""
    reason, code = f"the store of artifacts did not do it: {type(error).__name__}", "unavailable"
    if isinstance(error, TimeoutError):
        reason, code = "the store of artifacts did not answer in time", "slow"
    elif status is not None:
        reason, code = f"the store of artifacts did not do it: status {status[1]}", f"http_{status[1]}"
    return Transient(reason, code=f"artifacts.{code}", call_state=CallState.IN_DOUBT)
