"""The fleet's app with a schedule of the tests' own: a tick each second of a probe job."""

from datetime import timedelta

from tasks import celery as app
from tests.doubles.probe_jobs import noop

app.conf.beat_schedule = {noop.name: {"task": noop.name, "schedule": timedelta(seconds=1)}}
