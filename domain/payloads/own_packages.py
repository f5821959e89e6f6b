"""Packages with job types of their own: which modules have them, and what is refused of such a module."""

import importlib
import pkgutil
import traceback
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points

from domain.payloads.payload import Payload, payload_types

GROUP = "postroom.jobs"
"""The group of entry points by which an installed package names its modules."""

FLEET = "postroom"
"""What the package of the fleet's own job types is called."""


class RefusedModule(ImportError):
    """A module of job types that this process cannot take; says which, who named it, and why."""


def load_or_end(setting: str) -> None:
    """Import the modules that `POSTROOM_JOBS` and installed packages name, for a process that begins.

    One that is refused ends the process with one line: a process that knew half of its job types would give the jobs of
    the other half back.
    """
    try:
        load(setting)
    except RefusedModule as refused:
        raise SystemExit(f"Error: {refused}") from refused


def load(setting: str) -> None:
    """Import the modules, and of a package each module in it; raises `RefusedModule`."""
    named = _named(setting)
    for module, namer in named.items():
        with payload_types.all_or_nothing():
            _import(module, namer)
    for module, namer in named.items():
        _check(module, namer)


def package_of(payload: type[Payload]) -> str:
    """The package that a job type belongs to, by the first part of its module's name."""
    package = payload.__module__.partition(".")[0]
    return FLEET if package == "domain" else package


def _named(setting: str) -> Mapping[str, str]:
    """The modules, each with who names it first."""
    installed = {one.value: f"an entry point of {one.dist.name}" for one in entry_points(group=GROUP) if one.dist}
    return dict.fromkeys(filter(None, (one.strip() for one in setting.split(","))), "POSTROOM_JOBS") | installed


def _import(module: str, namer: str) -> None:
    with _Refusal(module, namer):
        found = importlib.import_module(module)  # by string: settings and installed packages name it
        for family in pkgutil.iter_modules(getattr(found, "__path__", ()), f"{module}."):
            if not family.ispkg:
                importlib.import_module(family.name)  # as above


class _Refusal:
    """Raises `RefusedModule` in one line for whatever ends the block, an exit of the process among it."""

    def __init__(self, module: str, namer: str) -> None:
        self._module, self._namer = module, namer

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None or isinstance(error, KeyboardInterrupt):
            return
        reason = " ".join(f"{type(error).__name__}: {error}{_where(error, self._module)}".split())
        raise RefusedModule(f"{self._module}, which {self._namer} names, cannot be imported: {reason}") from error


def _where(error: BaseException, module: str) -> str:
    """The last line of the module's own package that ran; nothing where none did."""
    package = module.partition(".")[0]
    lines = [
        f" ({frame.f_code.co_filename}, line {line})"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__")).partition(".")[0] == package
    ]
    return lines[-1] if lines else ""


def _check(module: str, namer: str) -> None:
    """Refuse a package without a job type, and names in a family of the fleet's, which a later release may take."""
    package = module.partition(".")[0]
    own = [one for one in payload_types if package_of(one) == package]
    if not own:
        raise RefusedModule(f"{module}, which {namer} names, has no payload class that names a job_type")
    families = {family for one in payload_types if package_of(one) == FLEET for family in _families(one)}
    for payload in own:
        if taken := sorted(families.intersection(_families(payload))):
            where = f"{payload.__name__} of {payload.__module__}"
            raise RefusedModule(
                f"{where}: the family {taken[0]} is Postroom's; put the job type into a family of yours"
            )


def _families(payload: type[Payload]) -> Iterator[str]:
    """What stands before the dot of a job type's name, and of those of its aliases that have one."""
    declared = payload.declaration
    return (name.partition(".")[0] for name in (declared.job_type, *declared.aliases) if "." in name)
