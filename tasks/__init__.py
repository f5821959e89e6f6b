"""What jobs do: the job families, one file each. `celery -A tasks …` finds the app here."""

import importlib

from engine.app import app as celery
from engine.app import register
from engine.catalogue import catalogue

__all__ = ["celery"]

FAMILIES = ("budgets", "deadletter", "drafts", "gmail", "maintenance", "threads", "triage")
"""The files of job types; adding a family adds its name here (a test compares it with the folder)."""

for family in FAMILIES:
    importlib.import_module(f"tasks.{family}")
for known in catalogue:
    register(known)
