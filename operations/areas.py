"""All areas whose operations are declared: the walk over this room that finds them."""

from functools import cache
from importlib import import_module
from pkgutil import walk_packages

import operations
from operations.operation import Area


@cache
def areas() -> tuple[Area, ...]:
    """Every area, by name: an `Area` in a module of this room."""
    modules = [import_module(found.name) for found in walk_packages(operations.__path__, "operations.")]
    found = {area.name: area for module in modules for area in vars(module).values() if isinstance(area, Area)}
    for area in found.values():
        # In the order of the modules, whichever was imported first; within one the order in which it declares them.
        area.operations.sort(key=lambda one: one.function.__module__)
    return tuple(found[name] for name in sorted(found))
