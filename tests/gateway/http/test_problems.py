"""By which status a failure of ours is answered."""

from datetime import timedelta

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from domain.jobs.failures import Busy, Failure, Transient
from gateway.http.problems import add_handlers
from storage.secrets.sealing import UnknownSealKey

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
