"""Values by the names of job types: each name or alias leads to one value."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class Registry(Generic[T]):
    """Values by the name of their job type and by its aliases; no name or alias occurs twice."""

    def __init__(self) -> None:
        """Start empty."""
        self._values: dict[str, T] = {}
        self._owners: dict[str, str] = {}

    def add(self, name: str, aliases: Collection[str], value: T) -> None:
        """Register a value; raises `ValueError` for a name that is taken, and registers nothing then."""
        names = (name, *aliases)
        for place, one in enumerate(names):
            if one in self._owners:
                owner = f"{self._owners[one]} already{_where(self._values[one])}"
                raise ValueError(f"{name}: the name {one} belongs to the job type {owner}")
            if one in names[:place]:
                raise ValueError(f"{name}: the name {one} is given twice")
        self._values |= dict.fromkeys(names, value)
        self._owners |= dict.fromkeys(names, name)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Forget what was registered inside when it ends with an error.

        Python forgets a module whose import fails, and runs it again at the next import. The names that the first run
        registered would then be taken, and hide why the import fails.
        """
        values, owners = dict(self._values), dict(self._owners)
        well = False
        try:
            yield
            well = True
        finally:
            if not well:
                self._values, self._owners = values, owners

    def find(self, name: str) -> T | None:
        """The value of that name or alias."""
        return self._values.get(name)

    def __iter__(self) -> Iterator[T]:
        """All values, by the names of their job types."""
        return iter([self._values[name] for name in sorted(set(self._owners.values()))])

    def __len__(self) -> int:
        """How many job types there are."""
        return len(set(self._owners.values()))


def _where(value: object) -> str:
    """In which module a class is; nothing of any other value."""
    return f", of {value.__module__}" if isinstance(value, type) else ""
