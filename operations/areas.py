"""All areas whose operations are declared: the walk over this room that finds them."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import operations
from operations.operation import Area


@cache
def areas() -> tuple[Area, ...]:
    """Every area, by name: an `Area` in a module of this room."""
    modules = [import_module(f"operations.{found.name}") for found in iter_modules(operations.__path__)]
    found = {area.name: area for module in modules for area in vars(module).values() if isinstance(area, Area)}
    return tuple(found[name] for name in sorted(found))
