"""A name of a new job type that cannot be taken is refused."""

import re
import shutil
from pathlib import Path

import pytest

from tests.house import ROOT
from tests.tools.house_copy import files
from tools.new_job import begin


@pytest.mark.parametrize(
    ("family", "name", "words"),
    [
        ("triage", "classify", "there is a job type triage.classify"),
        ("triage", "", "J='' is no name"),
        ("Triage", "sum_up", "F='Triage' is no name"),
        ("triage", "sum-up", "J='sum-up' is no name"),
        ("gmail", "accounts", "tasks/gmail.py has the name accounts already"),
        ("gmail", "import", "J=import is a keyword of Python"),
        ("class", "sum_up", "F=class is a keyword of Python"),
        ("digests", "accounts", "accounts is the name of something that the scaffold imports"),
        ("digests", "job", "job is the name of something that the scaffold imports"),
        ("digests", "a" * 93, "has 101 characters; a job type has at most 100"),
        ("mail", "sum_up", "tasks/mail is a package"),
        ("registry", "sum_up", "registry.py holds no payload class"),
        ("broken", "sum_up", "tasks/broken.py, line 1: invalid syntax"),
        ("strange", "sum_up", "tasks/strange.py has the name Done already, which the scaffold imports from elsewhere"),
    ],
)
def test_a_name_that_cannot_be_taken_is_refused_and_nothing_written(
    tmp_path: Path, family: str, name: str, words: str
) -> None:
    for folder in ("tasks/mail", "domain/payloads", "tests/tasks"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tasks" / "gmail.py").write_text("from storage.accounts import accounts\n")
    (tmp_path / "tasks" / "broken.py").write_text("def def\n")
    (tmp_path / "tasks" / "strange.py").write_text("from elsewhere import Done\n")
    shutil.copy(ROOT / "domain/payloads/registry.py", tmp_path / "domain/payloads")
    before = files(tmp_path)
    with pytest.raises(ValueError, match=re.escape(words)):
        begin(tmp_path, family, name)
    assert files(tmp_path) == before
