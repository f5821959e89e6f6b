"""By which status a failure of ours is answered."""

from datetime import timedelta

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from domain.jobs.failures import Busy, Failure, Invalid, Transient
from gateway.http.problems import LONGEST_DETAIL, LONGEST_FIELD, add_handlers
from storage.orgs.secrets.sealing import UnknownSealKey

PASSING = [
    Transient("the store is away"),
    Busy("another job is at it", wait=timedelta(seconds=5)),
    UnknownSealKey("no key that this process was given opens it"),
]


@pytest.mark.parametrize("failure", PASSING, ids=lambda failure: type(failure).__name__)
def test_what_passes_is_to_be_asked_again_and_is_no_defect(failure: Failure) -> None:
    app = FastAPI()
    add_handlers(app)

    @app.get("/")
    def fail() -> None:
        raise failure

    answer = TestClient(app).get("/")
    assert (answer.status_code, answer.json()["code"]) == (503, failure.code)
    assert answer.headers["retry-after"]
    assert failure.reason not in answer.text


def test_a_defect_says_that_its_connection_ends() -> None:
    """The server closes it: a client that would ask on it once more would be reset."""
    app = FastAPI()
    add_handlers(app)

    @app.get("/")
    def fail() -> None:
        raise RuntimeError("a mistake of ours")

    answer = TestClient(app, raise_server_exceptions=False).get("/")
    assert (answer.status_code, answer.headers["connection"]) == (500, "close")


def test_an_org_that_is_busy_is_told_when_to_come_again() -> None:
    app = FastAPI()
    add_handlers(app)

    @app.get("/")
    def fail() -> None:
        raise Busy("its requests hold its slots", wait=timedelta(seconds=1))

    answer = TestClient(app).get("/")
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "busy", "1")


@pytest.mark.parametrize("length", [100, 65_000])
def test_what_a_caller_sent_is_cut_before_it_is_looked_at(length: int) -> None:
    app = FastAPI()
    add_handlers(app)

    @app.get("/")
    def refuse(word: str) -> None:
        raise Invalid(word, "is unknown")

    secret = "sk-ant-" + "a" * 40
    answer = TestClient(app).get("/", params={"word": f"{'word ' * (length // 5)}{secret}"})
    assert answer.status_code == 422
    assert "sk-ant" not in answer.text
    assert len(answer.text) < LONGEST_DETAIL + 2 * LONGEST_FIELD + 300
