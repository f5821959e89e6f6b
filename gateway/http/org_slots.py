"""Whose a request is, and a slot of that org for it: whatever verifies a request of an org is made a holder here."""

from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from typing import Annotated, Any, Protocol, TypeVar
from uuid import UUID

from fastapi import Depends, Request

from gateway.http.resources import resources_of


class FoundOfOrg(Protocol):
    """What was found of a request, and whose it is."""

    @property
    def org_id(self) -> UUID:
        """Which org."""
        ...


Found = TypeVar("Found", bound=FoundOfOrg | None)
Holder = Callable[..., AsyncIterator[Found]]
HOLDERS: set[Holder[Any]] = set()
"""Every dependency that was made by `in_slot_of_org`."""


def in_slot_of_org(find: Callable[..., Found]) -> Holder[Found]:
    """The dependency that yields what `find` has found of a request, in a slot of its org until the answer is made.

    What is found to be nobody's takes none. 503 when other requests of the org hold all slots. `find` only reads, and
    proves who calls: a stranger takes no slot of an org.
    """

    async def holder(request: Request, found: Annotated[Found, Depends(find)]) -> AsyncIterator[Found]:
        async with nullcontext() if found is None else resources_of(request).requests.hold(found.org_id):
            yield found

    HOLDERS.add(holder)
    return holder
