"""What a store of artifacts means by an error (docs: artifacts.md#a-store-that-is-away).

A store that is away, full, read-only or refuses the fleet is about us: its gate closes, and no job loses an attempt. No
reason quotes the library's words: they hold addresses, keys of objects and what the server said. A status and the
operating system's number are read out of them. Source: https://developmentseed.org/obstore/latest/api/exceptions/.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from errno import errorcode

from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError

from domain.jobs.failures import Conflict, Failure, Gone, Scope
from domain.planning.files.artifacts import STORE
from providers import answers
from providers.answers import EVERY, UNPROVEN, AnswerRow, ErrorAnswer, Now, Request, Table, Us, VendorCall

ERRORS = (BaseError, OSError)
"""What a call raises: the library's own, `FileNotFoundError` where nothing lies, `TimeoutError` by our own limit."""

AWAY_FOR = timedelta(minutes=1)
"""How long a store that is away is left alone first: a volume is mounted again within seconds, or by a person."""
SOON = timedelta(seconds=30)
"""When a bucket is asked again that gave a server's error or no whole answer; only the jobs of one org wait."""

NO_STATUS = (0,)
"""The status of what a folder says, and of a bucket that did not answer."""
IN_DOUBT = Now(Scope.ORG_PROVIDER, SOON, in_doubt=True)

TABLE: Table = (
    AnswerRow(EVERY, Us(AWAY_FOR), text="nosuchbucket", code="no_bucket"),
    AnswerRow(EVERY, Us(AWAY_FOR), text="quotaexceeded", code="full"),
    # How the library says that no connection came about.
    AnswerRow(EVERY, Us(AWAY_FOR), text="kind: connect,", code="away"),
    AnswerRow(EVERY, Us(AWAY_FOR), "ENODEV ENXIO ENOTCONN ESTALE EHOSTDOWN EHOSTUNREACH", code="away"),
    AnswerRow(EVERY, Us(AWAY_FOR), "ENOSPC EDQUOT", code="full"),
    AnswerRow(EVERY, Us(AWAY_FOR), "EROFS", code="read_only"),
    AnswerRow(EVERY, Us(AWAY_FOR), "EIO", code="broken"),
    AnswerRow(EVERY, Us(AWAY_FOR), "refused EACCES EPERM", code="refused"),
    AnswerRow((401, 403), Us(AWAY_FOR), code="refused"),
    AnswerRow(EVERY, Request(Gone), "nothing_there"),
    AnswerRow(EVERY, Request(Conflict), "is_there"),
    AnswerRow((429, *UNPROVEN), Now(Scope.ORG_PROVIDER, SOON)),
    AnswerRow(NO_STATUS, IN_DOUBT, "slow"),
    AnswerRow(NO_STATUS, IN_DOUBT, text="http error", code="unavailable"),
    # What nobody foresaw waits by the job's retry policy, and so ends.
    AnswerRow(NO_STATUS, Now(Scope.ORG_PROVIDER, in_doubt=True), code="unavailable"),
    AnswerRow(EVERY, Now(Scope.ORG_PROVIDER)),
)
"""For calls that write."""
OF_READS: Table = (
    # The folder has just shown its mark, so it is this file that cannot be read: other orgs' files may be well.
    AnswerRow(NO_STATUS, Us(AWAY_FOR, Scope.ORG_PROVIDER), "EIO refused EACCES EPERM", code="unreadable"),
    *TABLE,
)
OF_MARK: Table = (AnswerRow(EVERY, Us(AWAY_FOR), "nothing_there ENOENT ENOTDIR", code="away"), *TABLE)
"""For the folder itself and its mark."""

SAID: Mapping[str, str] = {
    "away": "it is away: a folder without its mark, or a bucket that cannot be reached",
    "broken": "its disk cannot be read or written",
    "full": "it is full",
    "no_bucket": "the bucket does not exist",
    "read_only": "it takes no writes",
    "refused": "it refuses the fleet's credentials or rights",
    "unreadable": "it has a file that the fleet cannot read",
}
"""What people are told beside the vendor's word, by the code."""

CLASSES: Sequence[tuple[tuple[type[Exception], ...], str]] = (
    ((FileNotFoundError,), "nothing_there"),
    ((AlreadyExistsError,), "is_there"),
    ((PermissionDeniedError, UnauthenticatedError, PermissionError), "refused"),
    ((TimeoutError,), "slow"),
)
_STATUS = re.compile(r"status code: (\d{3})")
_ERRNO = re.compile(r"os error (\d+)\b|\bcode: (\d+),\s+kind:")


def failure_of(error: Exception, table: Table = TABLE) -> Failure:
    """Our failure."""
    text = str(error)
    status, number = _STATUS.search(text), _ERRNO.search(text)
    known = next((word for kinds, word in CLASSES if isinstance(error, kinds)), "")
    name = errorcode.get(int(number[1] or number[2]) if number else getattr(error, "errno", None) or 0, "")
    answer = ErrorAnswer(int(status[1]) if status else 0, tuple(filter(None, (known, name))), text)
    said = SAID.get(answers.row_of(table, answer).code, "")
    call = VendorCall(
        STORE,
        datetime.now(UTC),
        name="the store of artifacts",
        writes=table is not OF_READS,
        detail=f": {said}" if said else "",
    )
    return answers.failure_of(table, answer, call)
