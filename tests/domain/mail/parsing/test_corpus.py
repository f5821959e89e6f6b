import json
from pathlib import Path

import pytest

from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.parsed_message import Defect
from domain.mail.triage.automation import detect_automation
from domain.mail.triage.automation_signals import AutomationKind
from domain.mail.triage.prompts import describe_mail
from tests.domain.mail.corpus_report import REPORT, automation_report, corpus_files


def test_the_corpus_is_whole() -> None:
    assert len(corpus_files()) == 300


@pytest.mark.parametrize("path", corpus_files(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_message_is_understood_and_can_be_stored(path: Path) -> None:
    message = parse_message(path.read_bytes())
    assert message.headers
    assert message.size == path.stat().st_size
    assert not set(message.defects) & {Defect.EMPTY, Defect.NO_HEADERS, Defect.TOO_DEEP, Defect.TOO_MANY_PARTS}
    stored = json.dumps([message.headers, message.text, message.subject], ensure_ascii=False)
    assert "\\u0000" not in stored
    assert stored.encode("utf-8")
    assert describe_mail(message)


def test_nearly_every_message_gives_a_sender_a_date_and_a_text() -> None:
    messages = [parse_message(path.read_bytes()) for path in corpus_files()]
    assert sum(message.from_ is not None for message in messages) >= 285
    assert sum(message.date is not None for message in messages) >= 295
    assert sum(bool(message.text.strip()) for message in messages) >= 297


def test_automation_is_reported_as_expected() -> None:
    assert automation_report() == json.loads(REPORT.read_text(encoding="utf-8"))


def test_lists_are_lists_and_newsletters_are_bulk() -> None:
    report = automation_report()
    lists = [count for group in ("easy-ham-1", "easy-ham-2") for key, count in report[group].items() if "list/" in key]
    newsletters = [count for key, count in report["hard-ham-1"].items() if key.startswith(("bulk/", "automated/"))]
    assert sum(lists) >= 160
    assert sum(newsletters) >= 39


@pytest.mark.parametrize(
    "name", ["01495", "01648", "01669", "01671", "01678", "01725", "01736", "01737", "01756"], ids=str
)
def test_personal_mail_is_human(name: str) -> None:
    path = next(path for path in corpus_files() if path.parent.name == "easy-ham-1" and path.stem == name)
    assert detect_automation(parse_message(path.read_bytes())).kind is AutomationKind.HUMAN
