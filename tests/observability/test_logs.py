"""Logs are one JSON object a line, and none of them shows a secret (promise P9)."""

import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from domain.text.redaction import HIDDEN
from observability import logs

SECRET = "abcdefghijklmnop"


@pytest.fixture(autouse=True)
def undisturbed() -> Iterator[None]:
    """Put logging back as the test runner set it up."""
    root = logging.getLogger()
    before, level, plain = root.handlers[:], root.level, structlog.get_config()
    yield
    root.handlers[:] = before
    root.setLevel(level)
    structlog.configure(**plain)


def records(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_both_kinds_of_loggers_are_redacted_and_structured(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("INFO")
    logging.getLogger("celery.worker").warning("connected with Bearer %s", SECRET)
    structlog.get_logger("job").info("job_settled", job_id="1", deep=[{"refresh_token": SECRET}], password=SECRET)
    logged = records(capsys)
    assert [one["event"] for one in logged] == [f"connected with Bearer {HIDDEN}", "job_settled"]
    assert logged[1]["job_id"] == "1"
    assert SECRET not in str(logged)


def test_an_exception_is_told_without_its_secret_and_without_local_values(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("INFO")

    def refuse(mail: str) -> None:
        raise ValueError(f"refused {len(mail)} letters: sk-{SECRET}")

    words = "words that no log may hold"
    try:
        refuse(words)
    except ValueError:
        structlog.get_logger("job").exception("job_bug")
    logged = str(records(capsys))
    assert "ValueError: refused 26 letters" in logged
    assert SECRET not in logged
    assert words not in logged


def test_libraries_that_print_what_they_send_never_debug() -> None:
    logs.configure("DEBUG")
    assert not logging.getLogger("anthropic").isEnabledFor(logging.DEBUG)
    assert logging.getLogger("tasks").isEnabledFor(logging.DEBUG)
