"""What `celery -A tasks worker` takes where its options do not say: threads, and three jobs at once."""

from typing import Any

import pytest
from celery.bin.base import CLIContext
from celery.bin.worker import worker
from celery.concurrency.prefork import TaskPool as Prefork
from celery.concurrency.thread import TaskPool as Threads

from engine.app import app


@pytest.mark.parametrize(
    ("words", "pool", "concurrency"),
    [
        ([], Threads, 3),
        (["--pool", "prefork"], Prefork, 3),
        (["-P", "prefork", "-c", "2"], Prefork, 2),
        (["--concurrency", "8"], Threads, 8),
    ],
)
def test_a_worker_has_three_threads_unless_it_is_asked_for_others(
    words: list[str], pool: type[Any], concurrency: int
) -> None:
    given = worker.make_context("worker", ["-Q", "critical", *words], obj=CLIContext(app, no_color=True, workdir=None))
    assert (given.params["pool"], given.params["concurrency"]) == (pool, concurrency)


def test_the_environment_names_another_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELERY_WORKER_POOL", "prefork")
    context = CLIContext(app, no_color=True, workdir=None)
    given = worker.make_context("worker", ["-Q", "critical"], obj=context, auto_envvar_prefix="CELERY_WORKER")
    assert given.params["pool"] is Prefork
