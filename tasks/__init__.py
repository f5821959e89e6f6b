"""The job families, one file each, and the frame that runs them. `celery -A tasks …` finds the app here."""

from tasks.app import app as celery

__all__ = ["celery"]
