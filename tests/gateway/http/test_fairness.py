"""One org's requests hold no more than its slots, and let the others pass."""

import asyncio
from contextlib import AsyncExitStack, ExitStack
from uuid import UUID

import pytest

from domain.jobs.failures import Busy, Throttled
from gateway.http.fairness import MOST_WAITING, RequestPlaces, SharedPlaces

ONE, OTHER = UUID(int=1), UUID(int=2)


def test_an_org_holds_its_places_and_no_other_orgs() -> None:
    async def run() -> None:
        places = RequestPlaces(2, within_s=0.01)
        async with AsyncExitStack() as held:
            for org_id in (ONE, ONE, OTHER, OTHER):
                await held.enter_async_context(places.hold(org_id))
            for org_id in (ONE, OTHER):
                with pytest.raises(Busy):
                    await held.enter_async_context(places.hold(org_id))
        async with places.hold(ONE):
            pass
        assert places.held == 0, "what nobody holds is forgotten"

    asyncio.run(run())


def test_a_request_waits_for_its_place() -> None:
    async def run() -> None:
        places, order = RequestPlaces(1, within_s=10), list[str]()

        async def ask(name: str) -> None:
            async with places.hold(ONE):
                order.append(name)
                await asyncio.wait([asyncio.create_task(asyncio.to_thread(str))])

        await asyncio.gather(*(ask(str(n)) for n in range(20)))
        assert order == [str(n) for n in range(20)]

    asyncio.run(run())


def test_few_requests_of_an_org_wait() -> None:
    async def run() -> None:
        places = RequestPlaces(1, within_s=10)
        async with AsyncExitStack() as held:
            await held.enter_async_context(places.hold(ONE))
            waiting = [asyncio.create_task(held.enter_async_context(places.hold(ONE))) for _ in range(MOST_WAITING)]
            await asyncio.wait(waiting, timeout=0)
            with pytest.raises(Busy):
                await held.enter_async_context(places.hold(ONE))
            await held.enter_async_context(places.hold(OTHER))
            for one in waiting:
                one.cancel()
            await asyncio.wait(waiting)
        assert places.held == 0

    asyncio.run(run())


def test_what_takes_long_has_places_in_all_and_for_each_org() -> None:
    places = SharedPlaces(3, 2, "others are at it")
    with ExitStack() as held:
        for org_id in (ONE, ONE, OTHER):
            held.enter_context(places.hold(org_id))
        for org_id in (ONE, OTHER):
            with pytest.raises(Throttled), places.hold(org_id):
                pytest.fail("more than there are")
    with places.hold(ONE), places.hold(ONE), pytest.raises(Throttled), places.hold(ONE):
        pytest.fail("more than an org's")
