"""Hand over work to Postroom, and wait for its results: by HTTP here, in SQL by `postroom_client.sql`."""

from postroom_client.async_client import AsyncClient
from postroom_client.client import Client
from postroom_client.conversation import Conversation, Pace
from postroom_client.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotAnswered,
    NotFound,
    OutputLeftOut,
    PostroomError,
    Refused,
    TooManyRequests,
    Unauthorised,
)
from postroom_client.options import JobOptions
from postroom_client.records import (
    Canceled,
    Enqueued,
    Job,
    JobNotSucceeded,
    NotEnded,
    Run,
    RunEvent,
    RunNode,
    RunNotSucceeded,
    SentEvent,
    StartedRun,
)
from postroom_client.retries import Retries

__all__ = [
    "AsyncClient",
    "Canceled",
    "Client",
    "Conflict",
    "Conversation",
    "Enqueued",
    "Forbidden",
    "Invalid",
    "Job",
    "JobNotSucceeded",
    "JobOptions",
    "NotAnswered",
    "NotEnded",
    "NotFound",
    "OutputLeftOut",
    "Pace",
    "PostroomError",
    "Refused",
    "Retries",
    "Run",
    "RunEvent",
    "RunNode",
    "RunNotSucceeded",
    "SentEvent",
    "StartedRun",
    "TooManyRequests",
    "Unauthorised",
]
