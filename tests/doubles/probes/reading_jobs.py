"""Job types of each queue that read texts made to cost; a worker loads them by `--include`, as the probe jobs."""

import os
from itertools import cycle

from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import job
from engine.context import JobContext
from tests.attacks.hostile_texts import PARSERS
from tests.doubles.probes.outside import Outside

GATE = "read enough"


class Text(Payload):
    """Which parser reads; none for a job that only ends."""

    parser: str = ""


def read(payload: Text) -> Outcome:
    """Read each text that was made for the parser, again and again until the gate is open."""
    outside = Outside.here()
    if payload.parser:
        outside.note("reads", os.getpid(), payload.parser)
        parser = PARSERS[payload.parser]
        for text in cycle(parser.texts()):
            parser.try_on(text)
            if outside.is_open(GATE):
                break
    return Done({"parser": payload.parser})


class Critical(Text, job_type="reading_jobs.critical"): ...


@job(queue=Queue.CRITICAL)
def critical(_ctx: JobContext, payload: Critical) -> Outcome:
    """Read."""
    return read(payload)


class Default(Text, job_type="reading_jobs.default"): ...


@job(queue=Queue.DEFAULT)
def default(_ctx: JobContext, payload: Default) -> Outcome:
    """Read."""
    return read(payload)


class Notifications(Text, job_type="reading_jobs.notifications"): ...


@job(queue=Queue.NOTIFICATIONS)
def notifications(_ctx: JobContext, payload: Notifications) -> Outcome:
    """Read."""
    return read(payload)


class Planning(Text, job_type="reading_jobs.planning"): ...


@job(queue=Queue.PLANNING)
def planning(_ctx: JobContext, payload: Planning) -> Outcome:
    """Read."""
    return read(payload)


class Exports(Text, job_type="reading_jobs.exports"): ...


@job(queue=Queue.EXPORTS)
def exports(_ctx: JobContext, payload: Exports) -> Outcome:
    """Read."""
    return read(payload)


class Maintenance(Text, job_type="reading_jobs.maintenance"): ...


@job(queue=Queue.MAINTENANCE)
def maintenance(_ctx: JobContext, payload: Maintenance) -> Outcome:
    """Read."""
    return read(payload)


OF_EACH_QUEUE = (Critical, Default, Notifications, Planning, Exports, Maintenance)
for probe in (critical, default, notifications, planning, exports, maintenance):
    register(probe)
