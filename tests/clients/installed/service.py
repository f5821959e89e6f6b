"""A service with Django, FastAPI and the client, and nothing of the fleet's: does what it is told, and prints the jobs.

Run by the interpreter of an environment in which they were installed from wheels.
"""

import asyncio
import importlib.util
import json
import sys
from typing import Any

import django
import httpx
from django.conf import settings
from django.db import connection, transaction
from fastapi import FastAPI
from postroom_client import AsyncClient, Client, Invalid
from postroom_client.sql import enqueue

ENDING = "probe_jobs.ending"


def main(told: dict[str, Any]) -> None:
    """Enqueue by Django and by FastAPI, and wait for both."""
    ours = [name for name in ("engine", "domain", "storage", "settings") if importlib.util.find_spec(name)]
    if ours:
        raise SystemExit(f"this is no environment of a service: it has {ours}")
    settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", **told["database"]}})
    django.setup()
    job_ids = [by_django(told["org"]), asyncio.run(by_fastapi(told["url"], told["key"]))]
    with Client(told["url"], told["key"]) as postroom:
        results = [postroom.wait(job_id, timeout_s=60).result() for job_id in job_ids]
    print(json.dumps({"job_ids": job_ids, "results": results}))  # noqa: T201 - what the test reads


def by_django(org_id: str) -> str:
    """A transaction that rolls back, one that is refused, and one that commits."""
    with transaction.atomic():
        enqueue(connection.cursor(), ENDING, {"word": "rolled back"}, org_id=org_id, key="order-1")
        transaction.set_rollback(True)
    try:
        with transaction.atomic():
            enqueue(connection.cursor(), ENDING, {"colour": "red"}, org_id=org_id, key="order-1")
    except Invalid as refused:
        if refused.field != "payload.colour":
            raise
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("insert into orders values ('order-1')")
        return str(enqueue(cursor, ENDING, {"word": "django"}, org_id=org_id, key="order-1"))


async def by_fastapi(url: str, key: str) -> str:
    """A request to an application that hands its work over."""
    app = FastAPI()

    @app.post("/orders/{number}")
    async def order(number: str) -> dict[str, str]:
        async with AsyncClient(url, key) as postroom:
            return {"job_id": str((await postroom.enqueue(ENDING, {"word": "fastapi"}, key=number)).job_id)}

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as browser:
        answers = [(await browser.post("/orders/order-2")).json() for _ in range(2)]
    if answers[0] != answers[1]:
        raise SystemExit(f"one order has two jobs: {answers}")
    return str(answers[0]["job_id"])


if __name__ == "__main__":
    main(json.loads(sys.stdin.read()))
