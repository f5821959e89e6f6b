"""Tables show each id whole: the next command is given it."""

from uuid import UUID, uuid4

import pytest
from rich.console import Console

from commands import answers


def test_no_id_and_no_word_is_cut_in_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(answers, "console", lambda: Console(width=80))
    rows = [{"job_id": uuid4(), "job_type": "maintenance.check_watches", "state": "succeeded", "reason": "x" * 90}]
    answers.show_rows(rows, ["job_id", "job_type", "state", "reason"], as_json=False)
    shown = capsys.readouterr().out
    assert str(UUID(str(rows[0]["job_id"]))) in shown
    assert "…" not in shown
