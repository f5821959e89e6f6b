"""The job type that is measured: it does nothing, so that all of the time is the frame's."""

from domain.job import Done, Outcome
from domain.payload import Payload
from domain.queues import Queue
from tasks.app import register
from tasks.catalogue import job
from tasks.context import JobContext


class Nothing(Payload):
    """No words."""


@job(queue=Queue.DEFAULT)
def noop(_ctx: JobContext, _payload: Nothing) -> Outcome:
    """Do nothing."""
    return Done()


@job(queue=Queue.DEFAULT, light=True)
def light_noop(_ctx: JobContext, _payload: Nothing) -> Outcome:
    """Do nothing, in a batch."""
    return Done()


register(noop)
register(light_noop)
