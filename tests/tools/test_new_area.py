"""A name of a new area that cannot be taken is refused."""

import re
import shutil
from pathlib import Path

import pytest

from tests.house import ROOT
from tests.tools.house_copy import files
from tools.new_area import begin


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "N='' is no name"),
        ("Errands", "N='Errands' is no name"),
        ("class", "N='class' is no name"),
        ("a" * 31, "has 31 letters"),
        ("approvals", "is there already"),
    ],
)
def test_a_name_that_cannot_be_taken_is_refused_and_nothing_written(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "operations").mkdir()
    shutil.copy(ROOT / "operations/approvals.py", tmp_path / "operations")
    before = files(tmp_path)
    with pytest.raises(ValueError, match=re.escape(words)):
        begin(tmp_path, name)
    assert files(tmp_path) == before
