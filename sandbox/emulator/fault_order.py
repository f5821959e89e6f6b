"""A fault ordered from an emulator: the format that the control API's client writes and the emulator reads."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Ending = Literal["whole", "cut", "reset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultOrder:
    """One order: which calls it hits, and what happens to them.

    | fields | meaning |
    |---|---|
    | `operation`, `method`, `account`, `body_contains` | a call must match all that are given; `operation` takes `*` |
    | `path` | the same, a regular expression that is searched |
    | `skip`, `times` | the first `skip` matching calls pass, the next `times` are hit (None: all, until cleared) |
    | `delay_s` | wait before anything else, until the orders are cleared at the latest |
    | `drop` | close the connection `before` or `after` the call is executed, without an answer |
    | `status`, `reason`, `message`, `headers`, `body` | the answer, given instead of executing the call |
    | `after_execution` | execute the call, and then give that answer |
    | `text` | the answer's body as it is, JSON or not, instead of `body` |
    | `ending` | the answer is `cut` off in the middle of its body, or the connection is `reset` in place of it |
    | `hang_s` | wait as long before the answer; the journal has the call by then |
    | `answer` | passed to the service, which defines its meaning |
    """

    operation: str | None = None
    method: str | None = None
    path: str | None = None
    account: str | None = None
    body_contains: str | None = None
    skip: int = 0
    times: int | None = 1
    delay_s: float = 0.0
    hang_s: float = 0.0
    drop: Literal["before", "after"] | None = None
    status: int | None = None
    after_execution: bool = False
    reason: str = ""
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    text: str | None = None
    ending: Ending = "whole"
    answer: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """All fields by name."""
        return asdict(self)
