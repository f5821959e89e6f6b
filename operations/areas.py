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
    return tuple(found[name] for name in sorted(found))
