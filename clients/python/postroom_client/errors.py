"""What a call may raise, one class for each thing that a caller can do about it; see `records` for jobs that fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class PostroomError(Exception):
    """All that this package raises."""


class Refused(PostroomError):
    """Postroom did not do it, and says why; the same call is refused again until something changes.

    `field` is the field that is refused (`payload.` before a field of the payload) and `reason` what is wrong with it.
    `code` is a short word for programs, and `request_id` finds the request in Postroom's log. `status` is HTTP's; None
    where SQL refuses, or where the client itself does.
    """

    def __init__(self, code: str, reason: str, *, field: str | None = None, status: int | None = None) -> None:
        """Keep what is wrong."""
        super().__init__(f"{field}: {reason}" if field else reason or code)
        self.code = code
        self.field = field
        self.reason = reason
        self.status = status
        self.request_id: str | None = None
        self.retry_after_s: float | None = None
        self.document: Mapping[str, Any] = {}
        """The whole problem, as RFC 9457 has it: of a document with several faults, all of them."""


class Invalid(Refused):
    """A field is wrong; mend the request. Also a key of idempotency that belongs to another request."""


class Unauthorised(Refused):
    """The API key is unknown, expired or revoked."""


class Forbidden(Refused):
    """The API key's role does not allow it."""


class NotFound(Refused):
    """The key's org has nothing of this id or name."""


class Conflict(Refused):
    """What is asked for does not fit where the thing stands, such as canceling a job that has ended."""


class TooManyRequests(Refused):
    """The API key's minute is full, after all tries; `retry_after_s` says for how long."""


class NotAnswered(PostroomError):
    """No definite answer came, after all tries: the gateway is away, it failed, or its answer was lost.

    `maybe_done` says whether the request may have been carried out. The same call with the same key settles that. What
    came of the last try is the cause; where Postroom failed, it has the `request_id`.
    """

    def __init__(self, reason: str, *, maybe_done: bool) -> None:
        """Keep what happened last."""
        super().__init__(f"{reason}; the request {'may have been' if maybe_done else 'was not'} carried out")
        self.reason = reason
        self.maybe_done = maybe_done


class OutputLeftOut(PostroomError):
    """The output is larger than an answer may carry."""
