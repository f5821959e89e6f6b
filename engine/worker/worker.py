"""Celery's worker command, made to stop within its grace and to give back what it still holds."""

import gc
import logging
import math
import os
import signal
import sys
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any, NoReturn

import structlog
from celery import signals
from celery.app.log import Logging
from celery.apps.worker import (
    REMAP_SIGTERM,
    install_worker_int_handler,
    install_worker_term_handler,
    install_worker_term_hard_handler,
    on_hard_shutdown,
    safe_say,
)
from celery.platforms import EX_FAILURE

from domain.jobs.failures import Failure
from domain.jobs.monitoring.liveness import WorkerCondition
from domain.payloads.own_packages import FLEET, package_of
from engine.catalogue import catalogue
from engine.celery_patches.draining_worker import DrainingWorker
from engine.celery_patches.prefork_sentinels import watch_again
from engine.database_away import retry_while_away
from engine.runtime import Runtime, runtime
from engine.worker.lease import LeaseKeeper, renew
from engine.worker.watchdog import ENDING_S, LOOK_S, Watchdog, end_without, report_deaths
from observability import logs
from storage.jobs import recovery
from storage.orgs.secrets import other_keys
from storage.postgres.readiness import database_checks

log = structlog.get_logger(__name__)

RELEASE = version("postroom")

COLLECT_EVERY = (10_000, 5, 5)
"""Python's garbage collector looks for cycles after so many new objects, by generation. Its own 700 were a sixth of
what a short job cost, for a batch of claims makes thousands of objects that live for a moment. If the older generations
wait much longer than by Python's own figures, a prefork worker grows by 20 MiB."""

RETURN_TRIES = 11
RETURN_PAUSE_S = 0.1
"""How often, and how far apart, a worker that stops tries to give back what a handler's transaction has locked."""


class FleetLogging(Logging):  # type: ignore[misc] # Celery ships no types
    """Structured, redacted records in place of Celery's."""

    def setup_logging_subsystem(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - Celery's signature
        """Connected here and not at import: other apps of the same environment load our commands too."""
        signals.setup_logging.connect(configure_logging, weak=False)
        return super().setup_logging_subsystem(*arguments, **options)


class FleetWorker(DrainingWorker):
    """One worker command."""

    def on_init_blueprint(self) -> None:
        """Take part in the fleet, with a lease before anything can be claimed."""
        super().on_init_blueprint()
        spare_the_collector()
        end_if_it_can_never_work()
        self.describe_itself()
        signals.worker_shutting_down.connect(self.begin_grace)
        signals.worker_shutdown.connect(return_claims, weak=False)
        report_deaths()
        watchdog = Watchdog(runtime(), self.condition, self.let_go)
        watchdog.start()
        self.watched_threads: list[threading.Thread] = [watchdog, keep_lease()]
        report_unknown_seals(runtime())

    def describe_itself(self) -> None:
        """Say in its row of the ledger, with its lease, what it is and serves."""
        process = runtime()
        served = process.broker_names.served(self.app.amqp.queues.consume_from)
        own = tuple(sorted(one.name for one in catalogue if package_of(one.payload) != FLEET))
        process.worker = replace(
            process.worker, version=RELEASE, queues=tuple(served), slots=self.concurrency, own_job_types=own
        )

    grace_ends_at = math.inf
    """Until when running jobs may go on; from the first signal, warm or cold, they have the grace."""

    end_is_near = False
    """Whether a cold shutdown was asked for."""

    def begin_grace(self, **_: object) -> None:
        """Begin to stop; what runs may end within the grace."""
        begin_stopping()
        self.grace_ends_at = min(self.grace_ends_at, time.monotonic() + runtime().settings.shutdown_grace_s)

    def condition(self) -> WorkerCondition | None:
        """What the watchdog looks at; None before there is a ledger loop."""
        consumer = getattr(self, "consumer", None)
        return consumer and consumer.condition()

    def let_go(self) -> None:
        """Give back what is held, and kill the pool's children: one that hangs would outlive this process."""
        try:
            return_claims()
        finally:
            for child in self.pool.info.get("processes", ()) if self.pool else ():
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)

    def install_platform_tweaks(self, worker: Any) -> None:  # noqa: ANN401 - Celery ships no types
        """Take the signals of a cold shutdown ourselves, and begin to stop before anybody is told so.

        Celery waits and stops the pool in the signal's handler, which may have interrupted the event loop in the middle
        of a child's report; the waiting is `terminate`'s, which the event loop comes to by itself.
        """
        super().install_platform_tweaks(worker)
        install_worker_term_hard_handler(worker, callback=FleetWorker.end_soon)
        install_worker_int_handler(worker, callback=FleetWorker.interrupted)
        if REMAP_SIGTERM == "SIGQUIT":
            install_worker_term_hard_handler(worker, sig="SIGTERM", callback=FleetWorker.end_soon)
        else:
            install_worker_term_handler(worker, callback=FleetWorker.begin_grace)

    def interrupted(self) -> None:
        """Let the next Ctrl+C begin a cold shutdown; this one begins a warm one."""
        safe_say("worker: Hitting Ctrl+C again will begin a cold shutdown, with a grace!", sys.__stdout__)
        install_worker_term_hard_handler(self, sig="SIGINT", callback=FleetWorker.end_soon, verbose=False)

    def end_soon(self) -> None:
        """Begin the grace, if none has begun; asked again, end it; asked once more, leave at once."""
        if not self.end_is_near:
            self.end_is_near = True
            self.begin_grace()
            safe_say("worker: Hitting Ctrl+C again will terminate all running tasks!", sys.__stdout__)
        elif self.grace_ends_at:
            self.grace_ends_at = 0.0
        else:
            on_hard_shutdown(self)

    def register_with_event_loop(self, hub: Any) -> None:  # noqa: ANN401 - kombu ships no types
        """Enter the event loop, with all children."""
        watch_again(self.pool)
        super().register_with_event_loop(hub)
        hub.call_repeatedly(LOOK_S, self.check)

    def check(self) -> None:
        """End when a thread that must live has ended, or too many slots hang; raises `WorkerShutdown`."""
        if not runtime().stopping.is_set():
            end_without(self.watched_threads)

    def stop(self, in_sighandler: bool = False, exitcode: int | None = None) -> None:  # noqa: FBT001, FBT002 - Celery's signature
        """Stop within the grace; soon after a failure, for what runs may never be heard of again."""
        self.begin_grace()
        if exitcode:
            self.grace_ends_at = min(self.grace_ends_at, time.monotonic() + ENDING_S)
        super().stop(in_sighandler, exitcode)

    def terminate(self, in_sighandler: bool = False) -> None:  # noqa: FBT001, FBT002 - Celery's signature
        """Let running jobs end within the grace, and give back what is held: after this Celery sends no signal."""
        self.begin_grace()
        self.drain()
        return_claims()
        super().terminate(in_sighandler)

    def drain(self) -> None:
        """Let running jobs end for as long as the grace lasts; then give them back and end with them.

        Celery cannot cancel a thread, and would wait for it for ever; a child ends with its parent.
        """
        begin_stopping()
        if self.consumer is None:
            return
        self.consumer.drain(lambda: self.grace_ends_at)
        if not self.consumer.ledger_loop.idle:
            with ExitStack() as ending:
                ending.push(partial(end_process, self.exitcode or EX_FAILURE))
                ending.callback(self.let_go)
                self._return_messages()

    def _return_messages(self) -> None:
        consumer: Any = self.consumer.task_consumer
        try:
            if consumer is not None:
                consumer.channel.close()
        except self.consumer.connection_errors as error:
            log.warning("messages_not_returned", error=type(error).__name__)


def end_process(status: int, _kind: object, error: BaseException | None, _trace: object) -> NoReturn:
    """End at once, whatever the pool is at and whatever went wrong: what was not given back waits for its lease."""
    if error is not None:
        log.error("claims_not_returned", exc_info=error)
    logging.shutdown()
    os._exit(status)


def configure_logging(**_: object) -> None:
    """Send every record of this process through the redacting formatter."""
    logs.configure(runtime().settings.log_level)


def spare_the_collector() -> None:
    """Let the collector pass over what has been imported, which stays; children then share those pages for longer."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_EVERY)


def end_if_it_can_never_work() -> None:
    """End with one line when a setting or the database must be mended first; a database that is away is waited for."""
    try:
        found = database_checks(runtime().database)
    except Failure as failure:
        raise SystemExit(f"Error: {failure.reason}") from None
    for check in found:
        if not check.ok and check.lasts:
            raise SystemExit(f"Error: {check.name}: {check.finding}; {check.remedy}")


def keep_lease() -> LeaseKeeper:
    """Register this worker command and keep its lease, under which its main process claims for all its children.

    Nothing is claimed before the lease stands, so a database that is away is waited for.
    """
    process = runtime()
    retry_while_away(process, lambda: renew(process))
    keeper = LeaseKeeper(process)
    keeper.start()
    return keeper


def report_unknown_seals(process: Runtime) -> None:
    """Log how much this process cannot open: `doctor` compares the keys of its own process only.

    A worker that cannot find out begins all the same: its jobs say so as well.
    """
    try:
        with process.database.ledger() as tx:
            found = other_keys.count(tx, process.sealer)
    except Failure as failure:
        log.warning("sealing_keys_not_compared", reason=failure.reason)
        return
    if found.mailboxes or found.secrets:
        # Not `secrets`: what is logged under that name is taken for one, and hidden.
        log.error(
            "sealing_keys_missing",
            mailboxes=found.mailboxes,
            org_secrets_count=found.secrets,
            remedy=other_keys.REMEDY,
        )


def begin_stopping(**_: object) -> None:
    """Let handlers notice at their next step that the worker stops, in the children too."""
    runtime().stopping.set()


def return_claims(**_: object) -> int:
    """Give back what this node still holds; the attempts do not count. Returns how many jobs went back.

    A job that a handler's transaction has locked is tried again for a second; most transactions are short. After that,
    and where the database is away, the lease ends by itself, and the rescue takes the job back then.
    """
    process = runtime()
    returned = 0
    for _try in range(RETURN_TRIES):
        try:
            with process.database.ledger() as tx:
                moved = recovery.return_claims(tx, process.worker.node_id, process.lease.length)
        except Failure as failure:
            log.warning("claims_not_returned", reason=failure.reason)
            break
        process.publisher.publish(moved.hints)
        returned += len(moved.job_ids)
        if not moved.locked:
            break
        threading.Event().wait(RETURN_PAUSE_S)
    else:
        log.warning("claims_not_returned", reason="somebody has locked their rows")
    if returned:
        log.info("claims_returned", jobs=returned)
    return returned
