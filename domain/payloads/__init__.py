"""The payload classes of all job types, a file per family: what can be enqueued, without a word of who does it."""

import importlib
import pkgutil

from domain.payloads.payload import payload_types

__all__ = ["payload_types"]

for family in pkgutil.iter_modules(__path__):
    with payload_types.all_or_nothing():
        importlib.import_module(f"{__name__}.{family.name}")  # by string: this walk is what finds the families
if not len(payload_types):
    raise ImportError("no payload class was found in domain/payloads")
