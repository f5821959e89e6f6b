"""What jobs do: a folder for each system, a file for each job family. `celery -A tasks …` finds the app here.

The name of a job type is the file and the function of its handler: `gmail.sync` is `sync` of `tasks/mail/gmail.py`.
Folders inside a system's folder hold steps that its families share, and no family. Packages with job types of their own
come last.
"""

import importlib
import pkgutil

from domain.payloads.own_packages import load_or_end
from engine.app import app as celery
from engine.app import register_all
from engine.catalogue import catalogue
from settings import load

__all__ = ["celery"]

for system in pkgutil.iter_modules(__path__, f"{__name__}."):
    for family in pkgutil.iter_modules([f"{__path__[0]}/{system.name.rpartition('.')[2]}"], f"{system.name}."):
        if not family.ispkg:
            with catalogue.all_or_nothing():
                importlib.import_module(family.name)  # by string: this walk is what finds the families
load_or_end(load().jobs)
register_all()
