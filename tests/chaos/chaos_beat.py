"""The fleet's app with a schedule of the run's own: a tick every two seconds."""

from datetime import timedelta

from tasks import celery as app
from tests.chaos.chaos_jobs import tick

EVERY = timedelta(seconds=2)

app.conf.beat_schedule = {tick.name: {"task": tick.name, "schedule": EVERY}}
