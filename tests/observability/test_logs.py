"""Logs are one JSON object a line, and none of them shows a secret (promise P9)."""

import ast
import json
import logging
from collections.abc import Iterable, Iterator

import pytest
import structlog

from domain.orgs.privacy.redaction import HIDDEN
from domain.orgs.privacy.secrets import names_secret
from observability import logs
from tests.house.reading import belongs, read_house

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


LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}


def hidden_fields(nodes: Iterable[ast.AST]) -> list[str]:
    """The fields of log records whose values nobody would see, because their names are those of secrets."""
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    fields = [word.arg for call in calls if getattr(call.func, "attr", "") in LEVELS for word in call.keywords]
    return [field for field in fields if field and names_secret(field)]


def test_no_record_has_a_field_that_is_always_hidden() -> None:
    house = [module for module in read_house() if not belongs(module.name, ["tests"])]
    found = [(module.name, field) for module in house for field in hidden_fields(module.nodes())]
    assert found == []


def test_a_hidden_field_would_be_found() -> None:
    assert hidden_fields(ast.walk(ast.parse("log.error('x', secrets=3, tokens=4)"))) == ["secrets"]
