"""What can go wrong, in the few kinds that decide what happens next (docs: failures.md).

Providers translate every vendor's error into one of these at the border; nothing else crosses it.
"""

from datetime import timedelta
from enum import StrEnum


class CallState(StrEnum):
    """Whether a call that failed may have had its effect all the same."""

    NOT_DONE = "not_done"
    """The provider certainly did nothing: it answered with a refusal, or was never reached."""
    IN_DOUBT = "in_doubt"
    """The request went out and no trustworthy answer came back."""


class Failure(Exception):
    """A job failed in a way that the engine can treat.

    `reason` is for operators and must carry neither a secret nor mail content; `code` is a short
    machine-readable word such as `gmail.rateLimitExceeded`.
    """

    code = "failure"
    permanent = False

    def __init__(self, reason: str, *, code: str | None = None, call_state: CallState = CallState.NOT_DONE) -> None:
        """Keep the reason, the machine-readable code and whether the call may have had its effect."""
        super().__init__(reason)
        self.reason = reason
        self.code = code or type(self).code
        self.call_state = call_state


class Transient(Failure):
    """Something that passes: try again by the job's retry policy."""

    code = "transient"


class Scope(StrEnum):
    """How far a provider's 'slow down' reaches; becomes the scope of a gate."""

    ACCOUNT = "account"
    ORG = "org"
    PROVIDER = "provider"
    ORG_PROVIDER = "org_provider"
    """One org's calls of a provider at which each org has credentials of its own."""


class Throttled(Failure):
    """A provider said to slow down; nobody of the same scope calls it before `retry_after` has passed."""

    code = "throttled"

    def __init__(
        self,
        reason: str,
        *,
        retry_after: timedelta,
        scope: Scope,
        provider: str,
        code: str | None = None,
        grows: bool = False,
    ) -> None:
        """Keep how long to wait and for whom; `grows` says that the wait is a guess, and gets longer each time."""
        super().__init__(reason, code=code)
        self.retry_after = retry_after
        self.scope = scope
        self.provider = provider
        self.grows = grows


class Permanent(Failure):
    """Trying again cannot help."""

    code = "permanent"
    permanent = True


class Gone(Permanent):
    """The thing asked for does not exist (any more): a message, draft, thread, label or history id."""

    code = "gone"


class Conflict(Permanent):
    """The thing to be made exists already (Gmail: 409 on a label)."""

    code = "conflict"


class Refused(Permanent):
    """A provider will not take this very request: another with the same content would be refused as well."""

    code = "refused"


class Unauthorised(Failure):
    """The account's consent is gone; its jobs park until its owner connects it again."""

    code = "unauthorised"

    def __init__(self, reason: str, *, account: str, code: str | None = None) -> None:
        """Keep which account must be connected again."""
        super().__init__(reason, code=code)
        self.account = account


class CredentialsLost(Failure):
    """A provider refuses the org's own credentials, or the org has none; its jobs park until others are set."""

    code = "credentials_lost"

    def __init__(self, reason: str, *, provider: str, code: str | None = None) -> None:
        """Keep at which provider."""
        super().__init__(reason, code=code)
        self.provider = provider


class OverBudget(Failure):
    """The org may not spend more on the model now.

    The engine raises it when it has closed the org's gate at the provider: the job waits there, and no attempt is used.
    """

    code = "over_budget"


class Invalid(Permanent):
    """A payload or a model's answer cannot be understood; names the field and the reason."""

    code = "invalid"

    def __init__(self, field: str, reason: str) -> None:
        """Keep the offending field beside the reason."""
        super().__init__(f"{field}: {reason}")
        self.field = field


class Forbidden(Permanent):
    """Ownership or policy does not allow it."""

    code = "forbidden"


class ClaimLost(Failure):
    """The claim was taken away; this attempt may write nothing more (promise P4)."""

    code = "claim_lost"


class InFlight(Failure):
    """An earlier attempt's call may still be under way; the job comes back after that, without an attempt."""

    code = "effect.in_flight"

    def __init__(self, reason: str, *, wait: timedelta) -> None:
        """Keep after what time to look again; the call has certainly ended by then."""
        super().__init__(reason)
        self.wait = wait


class Busy(Failure):
    """Another job is at what this one needs; the job comes back soon, without an attempt."""

    code = "busy"

    def __init__(self, reason: str, *, wait: timedelta) -> None:
        """Keep after what time to look again."""
        super().__init__(reason)
        self.wait = wait


class ForOtherWorker(Failure):
    """This process was not given what the job needs, and another may have been; the job comes back for that one."""

    code = "other_worker"


class Uncertain(Permanent):
    """Nobody can know whether an outside effect happened; a person decides (promise P3)."""

    code = "uncertain"
