"""What jobs do: the job families, one file each. `celery -A tasks …` finds the app here."""

import importlib
import pkgutil

from engine.app import app as celery
from engine.app import register_all
from engine.catalogue import catalogue

__all__ = ["celery"]

for family in pkgutil.iter_modules(__path__):
    if not family.ispkg:  # tasks/mail holds steps that several families share, and no family
        with catalogue.all_or_nothing():
            importlib.import_module(f"{__name__}.{family.name}")  # by string: this walk is what finds the families
register_all()
