"""Celery's result backend that reads the ledger: `AsyncResult(job_id)` says how a job stands, and waits for its end."""

import threading
import time
from datetime import timedelta
from functools import cached_property
from typing import Any

from celery.backends.base import BaseBackend
from celery.exceptions import TimeoutError as ResultTimeoutError
from celery.states import READY_STATES
from pydantic import SecretStr

from domain.jobs.results import JobResult, pauses
from engine.results.metas import Meta, meta_of
from engine.runtime import runtime
from settings import load
from storage.jobs import results
from storage.postgres.database import Database
from storage.postgres.execution import DatabaseUnavailable

LONGEST_LOOK = timedelta(seconds=5)
"""How long one query may take. It reads by two keys: one that takes longer waits for a lock or a lost connection."""


class LedgerBackend(BaseBackend):  # type: ignore[misc] # Celery ships no types
    """Reads results; they are written by the ledger, and leave with their jobs.

    By default it uses the process's own connections. `ledger+postgresql://…` names a ledger login for a client that has
    no other setting. Whoever has such a login can read the results of all orgs.
    """

    def __init__(self, app: Any, url: str | None = None, **options: Any) -> None:  # noqa: ANN401 - Celery's signature
        """Nothing connects yet."""
        super().__init__(app, url=url, **options)
        self._given_url = url

    def get_task_meta(self, task_id: str, cache: bool = True) -> Meta:  # noqa: ARG002, FBT001, FBT002 - Celery's signature
        """How a job stands now; raises `DatabaseUnavailable`."""
        return self._look(str(task_id), LONGEST_LOOK)

    def task_result_exists(self, task_id: str) -> bool:
        """Whether the ledger knows of such a job."""
        return self._find(str(task_id), LONGEST_LOOK) is not None

    def wait_for(
        self,
        task_id: str,
        timeout: float | None = None,
        interval: float = 0.5,
        no_ack: bool = True,  # noqa: ARG002, FBT001, FBT002 - Celery's signature
        on_interval: Any = None,  # noqa: ANN401 - a callback or a promise
    ) -> Meta:
        """Wait for a job's end, looking ever more rarely, every `interval` seconds at last.

        Raises Celery's `TimeoutError` when `timeout` seconds have passed. A database that is away is waited for, too.
        """
        until = None if timeout is None else time.monotonic() + timeout
        for pause in pauses(interval):
            left = None if until is None else until - time.monotonic()
            try:
                meta = self._look(task_id, LONGEST_LOOK if left is None else min(LONGEST_LOOK, timedelta(seconds=left)))
            except DatabaseUnavailable:
                meta = None
            if meta is not None and meta["status"] in READY_STATES:
                return meta
            if on_interval:
                on_interval()
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                break
            threading.Event().wait(pause if left is None else min(pause, left))
        raise ResultTimeoutError("The operation timed out.")

    def store_result(self, _task_id: str, result: object, *_given: object, **_options: object) -> object:
        """Nothing to store: the ledger has what became of the job."""
        return result

    def forget(self, task_id: str) -> None:
        """Nothing to forget: a result leaves with its job, by retention."""

    def as_uri(self, include_password: bool = True) -> str:  # noqa: ARG002, FBT001, FBT002 - Celery's signature
        """What Celery's banner and logs show; never a password."""
        return "ledger://"

    def close(self) -> None:
        """Close the connections of a backend that was given a URL; those of the process stay open."""
        if "_own_database" in vars(self):
            self._own_database.dispose()

    def _look(self, task_id: str, within: timedelta) -> Meta:
        meta: Meta = self.meta_from_decoded(meta_of(task_id, self._find(task_id, within)))
        return meta

    def _find(self, task_id: str, within: timedelta) -> JobResult | None:
        with self._database.ledger() as tx:
            return results.find(tx, task_id, within=within)

    @property
    def _database(self) -> Database:
        # Not kept: after a fork the process has another.
        return runtime().database if self._given_url is None else self._own_database

    @cached_property
    def _own_database(self) -> Database:
        return Database(load().model_copy(update={"ledger_database_url": SecretStr(str(self._given_url))}))
