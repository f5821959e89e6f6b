"""A name of a new job type that cannot be taken is refused."""

import re
import shutil
from pathlib import Path

import pytest

from tests.house.reading import ROOT
from tests.tools.house_copy import files
from tools.new_job import begin


@pytest.mark.parametrize(
    ("family", "name", "words"),
    [
        ("triage", "classify", "there is a job type triage.classify"),
        ("triage", "", "J='' is no name"),
        ("Triage", "sum_up", "F='Triage' is no name"),
        ("triage", "sum-up", "J='sum-up' is no name"),
        ("gmail", "accounts", "tasks/mail/gmail.py has the name accounts already"),
        ("gmail", "import", "J=import is a keyword of Python"),
        ("class", "sum_up", "F=class is a keyword of Python"),
        ("digests", "accounts", "accounts is the name of something that the scaffold imports"),
        ("digests", "job", "job is the name of something that the scaffold imports"),
        ("digests", "a" * 93, "has 101 characters; a job type has at most 100"),
        ("steps", "sum_up", "tasks/mail/steps is a package"),
        ("registry", "sum_up", "registry.py holds no payload class"),
        ("broken", "sum_up", "tasks/mail/broken.py, line 1: invalid syntax"),
        (
            "strange",
            "sum_up",
            "tasks/mail/strange.py has the name Done already, which the scaffold imports from elsewhere",
        ),
    ],
)
def test_a_name_that_cannot_be_taken_is_refused_and_nothing_written(
    tmp_path: Path, family: str, name: str, words: str
) -> None:
    for folder in ("tasks/mail/steps", "domain/payloads", "tests/tasks/mail", "operations/mail"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "operations/mail/__init__.py").touch()
    (tmp_path / "tasks" / "mail" / "gmail.py").write_text("from storage.mail.accounts import accounts\n")
    (tmp_path / "tasks" / "mail" / "broken.py").write_text("def def\n")
    (tmp_path / "tasks" / "mail" / "strange.py").write_text("from elsewhere import Done\n")
    shutil.copy(ROOT / "domain/payloads/registry.py", tmp_path / "domain/payloads")
    before = files(tmp_path)
    with pytest.raises(ValueError, match=re.escape(words)):
        begin(tmp_path, family, name, "mail")
    assert files(tmp_path) == before
