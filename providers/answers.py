"""What a vendor's error answer means: one reader for the tables of all vendors (docs: vendor-answers.md).

An answer is *about us* (credit, plan, key, quota of the day: whoever would meet it again is parked), *about this
request* (the job fails), or *about now* (the job waits as long as the answer asks). There is no fourth. Whether the
call may have had its effect all the same is another question, which the status answers.
"""

import re
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from domain.jobs.failures import (
    CallState,
    CredentialsLost,
    Failure,
    Permanent,
    Scope,
    Throttled,
    Transient,
    Unauthorised,
)
from providers.rest_client import RestAnswer
from providers.retry_after import header_wait, worded_wait

HOUR = timedelta(hours=1)
"""For a cause that somebody may mend at any time, and of which the vendor names no end. The gate's wait grows. It is
also the most that a header, or an answer about now, parks for: a wrong one must not stop a fleet for a month."""
EVERY = range(10_000)
UNPROVEN = (408, *range(500, 1000))
"""Statuses that do not say whether a write was carried out. A time to wait beside one proves nothing: a gateway names a
time for what its backend has taken, too."""

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.]{0,63}")


@dataclass(frozen=True, slots=True)
class Us:
    """About us: the scope is parked until the moment that the answer's words name, else for at least `wait`.

    A wait that is a guess grows while the cause stays. Without a wait the credentials are lost: others must be given.
    """

    wait: timedelta | Callable[[datetime], timedelta] | None = None
    """How long; or how long from a given time, where the end is known without asking, as a month's is."""
    scope: Scope = Scope.PROVIDER


@dataclass(frozen=True, slots=True)
class Request:
    """About this request: the job fails, and its kind of failure says what else is known."""

    kind: type[Permanent] = Permanent


@dataclass(frozen=True, slots=True)
class Now:
    """About now: the scope waits as long as the answer asks, an hour at most, else for `wait`.

    Without both, the job waits by its retry policy.
    """

    scope: Scope
    wait: timedelta | None = None
    in_doubt: bool = False
    """Whether an earlier call of the same effect may still be at work, whatever the status."""


Meaning = Us | Request | Now


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """An answer that is an error, reduced to what a table looks at."""

    status: int
    """0 where the vendor has none, as a folder."""
    words: tuple[str, ...] = ()
    """The vendor's own words or numbers for the error, the most exact first; they go into codes and reasons."""
    text: str = ""
    """For people; it may quote what was sent, and goes nowhere."""
    asked: timedelta | None = None
    """How long its header asks to wait."""
    named: timedelta | None = None
    """How long it is until the moment that its text names."""
    scope: Scope | None = None
    """Whom its limit concerns, where the answer says so."""

    @classmethod
    def read(cls, status: int, words: Iterable[object], text: object, retry_after: str | None, now: datetime) -> Self:
        """Without what is no word and no text."""
        said = text if isinstance(text, str) else ""
        known = tuple(word for word in words if isinstance(word, str) and _WORD.fullmatch(word))
        return cls(status, known, said, header_wait(retry_after, now), worded_wait(said, now))


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One line of a table: it applies when the status, one of the words (separated by blanks), and the text agree."""

    statuses: Container[int]
    meaning: Meaning
    words: str = ""
    text: str = ""
    """Somewhere in the answer's text, in small letters."""
    begins: tuple[str, ...] = ("",)
    """With one of these the text begins, in small letters: what comes later may quote a mail."""
    wordless: bool = False
    """Applies to an answer without a word of the vendor's own, such as a firewall's or a proxy's page."""
    code: str = ""
    """In place of the vendor's word."""

    def names_of(self, answer: ErrorAnswer) -> tuple[str, str] | None:
        """What the code and the reason name the answer by; None where the line does not apply."""
        wanted, text = self.words.split(), answer.text.casefold()
        known = [word for word in answer.words if word in wanted] if wanted else list(answer.words)
        applies = (
            answer.status in self.statuses
            and (known or not wanted)
            and not (self.wordless and answer.words)
            and self.text in text
            and text.startswith(self.begins)
        )
        word = next(iter(known), "")
        return (self.code or word, word if wanted else self.code or word) if applies else None


Table = Sequence[AnswerRow]
"""The first line that applies decides; an answer that no line knows is about the request."""
OTHERWISE = AnswerRow(EVERY, Request())


@dataclass(frozen=True, slots=True)
class VendorCall:
    """The call that failed: enough to translate its answer and to name it."""

    provider: str
    """The prefix of every code."""
    now: datetime
    name: str = ""
    """What the reason begins with; the provider where there is nothing better."""
    account: str | None = None
    """Whose consent it was made with; None for an org's credentials at the provider."""
    writes: bool = True
    """Whether the call changes anything at the vendor; then a lost answer leaves it in doubt."""
    detail: str = ""
    """What operators should see besides, at the end of the reason."""
    gate: str = ""
    """The provider whose gate parks the jobs, where the code's prefix is another."""


def rest_failure(
    table: Table, answer: RestAnswer, words: Iterable[object], call: VendorCall, text: object = ""
) -> Failure | None:
    """Our failure for an answer over HTTP, None for a 2xx; pure."""
    if answer.is_success:
        return None
    return failure_of(
        table, ErrorAnswer.read(answer.status, words, text, answer.headers.get("retry-after"), call.now), call
    )


def row_of(table: Table, answer: ErrorAnswer) -> AnswerRow:
    """The line that decides an answer."""
    return next((row for row in table if row.names_of(answer)), OTHERWISE)


def failure_of(table: Table, answer: ErrorAnswer, call: VendorCall) -> Failure:
    """Our failure for an answer that is an error; pure. No reason carries the answer's text."""
    row = row_of(table, answer)
    meaning, (name, shown) = row.meaning, row.names_of(answer) or ("", "")
    said = ", ".join(filter(None, (f"status {answer.status}" if answer.status else "", shown)))
    reason = f"{call.name or call.provider}: {said}{call.detail}"
    failure = _failure(meaning, answer, call, reason, f"{call.provider}.{name or f'http_{answer.status}'}")
    is_doubtful = answer.status in UNPROVEN or (isinstance(meaning, Now) and meaning.in_doubt)
    failure.call_state = CallState.IN_DOUBT if call.writes and is_doubtful else CallState.NOT_DONE
    return failure


def _failure(meaning: Meaning, answer: ErrorAnswer, call: VendorCall, reason: str, code: str) -> Failure:
    if isinstance(meaning, Request):
        return meaning.kind(reason, code=code)
    waits, grows = [min(wait, HOUR) for wait in (answer.asked, answer.named) if wait is not None], False
    if isinstance(meaning, Now):
        wait = max(waits, default=meaning.wait)
        if wait is None:
            return Transient(reason, code=code)
    elif meaning.wait is None:
        if call.account is None:
            return CredentialsLost(reason, provider=call.provider, code=code)
        return Unauthorised(reason, account=call.account, code=code)
    elif callable(meaning.wait):
        wait = meaning.wait(call.now)
    else:
        wait = answer.named or max(*waits, meaning.wait, timedelta())
        grows = wait == meaning.wait
    scope, provider = answer.scope or meaning.scope, call.gate or call.provider
    return Throttled(reason, retry_after=wait, scope=scope, provider=provider, code=code, grows=grows)
