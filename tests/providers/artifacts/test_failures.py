"""What a store's errors mean: about us, about this file, or about now."""

from datetime import timedelta

import pytest
from obstore.exceptions import AlreadyExistsError, GenericError, NotFoundError, PermissionDeniedError

from domain.jobs.failures import CallState, Conflict, Failure, Gone, Scope, Throttled, Transient
from providers.artifacts.failures import AWAY_FOR, OF_MARK, OF_READS, SOON, TABLE, failure_of

FLEET, ORG = Scope.PROVIDER, Scope.ORG_PROVIDER
WHERE = "/var/lib/postroom/artifacts/org/one"


def os_error(number: int) -> GenericError:
    return GenericError(f"Generic LocalFileSystem error: Unable to open file {WHERE}#1: words (os error {number})")


def http(status: int, code: str = "") -> GenericError:
    return GenericError(f"Generic S3 error: Error performing PUT {WHERE}, status code: {status}, <Code>{code}</Code>")


def no_answer(kind: str) -> GenericError:
    return GenericError(f"Generic S3 error: HTTP error: error sending request\n\nHttpError {{\n    kind: {kind},\n}}")


@pytest.mark.parametrize(
    ("error", "code", "scope", "wait"),
    [
        (os_error(30), "read_only", FLEET, AWAY_FOR),
        (os_error(28), "full", FLEET, AWAY_FOR),
        (os_error(122), "full", FLEET, AWAY_FOR),
        (os_error(5), "broken", FLEET, AWAY_FOR),
        (os_error(13), "refused", FLEET, AWAY_FOR),
        (os_error(116), "away", FLEET, AWAY_FOR),
        (OSError(30, "read-only"), "read_only", FLEET, AWAY_FOR),
        (PermissionError(13, "denied"), "refused", FLEET, AWAY_FOR),
        (PermissionDeniedError("status code: 403, AccessDenied"), "refused", FLEET, AWAY_FOR),
        (http(401), "refused", FLEET, AWAY_FOR),
        (http(403, "QuotaExceeded"), "full", FLEET, AWAY_FOR),
        (NotFoundError("status code: 404, <Code>NoSuchBucket</Code>"), "no_bucket", FLEET, AWAY_FOR),
        (no_answer("Connect"), "away", FLEET, AWAY_FOR),
        (no_answer("Timeout"), "unavailable", ORG, SOON),
        (no_answer("ConnectionReset"), "unavailable", ORG, SOON),
        (TimeoutError(), "slow", ORG, SOON),
        (http(503, "SlowDown"), "http_503", ORG, SOON),
        (http(429), "http_429", ORG, SOON),
    ],
)
def test_a_store_that_does_not_do_it_is_waited_for(error: Exception, code: str, scope: Scope, wait: timedelta) -> None:
    failure = failure_of(error)
    assert isinstance(failure, Throttled)
    assert (failure.code, failure.scope, failure.retry_after) == (f"artifacts.{code}", scope, wait)
    assert (failure.provider, failure.grows) == ("artifacts", scope is FLEET)
    assert WHERE not in failure.reason
    assert failure.reason.startswith("the store of artifacts: ")


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (FileNotFoundError(2, "none"), Gone, "nothing_there"),
        (AlreadyExistsError("status code: 412"), Conflict, "is_there"),
        (os_error(21), Transient, "unavailable"),
        (http(400), Transient, "http_400"),
        (http(416), Transient, "http_416"),
    ],
)
def test_what_is_about_one_file_ends(error: Exception, kind: type[Failure], code: str) -> None:
    failure = failure_of(error)
    assert (type(failure), failure.code) == (kind, f"artifacts.{code}")


def test_a_file_that_cannot_be_read_in_a_folder_that_can_keeps_back_its_org_alone() -> None:
    for error in (os_error(5), os_error(13)):
        failure = failure_of(error, OF_READS)
        assert isinstance(failure, Throttled)
        assert (failure.scope, failure.code) == (ORG, "artifacts.unreadable")
    gone = failure_of(FileNotFoundError(2, "none"), OF_MARK)
    assert isinstance(gone, Throttled)
    assert (gone.scope, gone.code) == (FLEET, "artifacts.away")


def test_only_what_writes_is_in_doubt() -> None:
    """An effect at a vendor may read a file while it is made: the store's silence says nothing of the vendor."""
    for error in (http(503), no_answer("Timeout"), TimeoutError()):
        assert failure_of(error, TABLE).call_state is CallState.IN_DOUBT
        assert failure_of(error, OF_READS).call_state is CallState.NOT_DONE
