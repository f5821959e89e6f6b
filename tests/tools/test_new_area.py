"""A name of a new area that cannot be taken is refused."""

import re
import shutil
from pathlib import Path

import pytest

from tests.house.reading import ROOT
from tests.tools.house_copy import files
from tools.new_area import begin


@pytest.mark.parametrize(
    ("name", "system", "words"),
    [
        ("", "planning", "N='' is no name"),
        ("Errands", "planning", "N='Errands' is no name"),
        ("class", "planning", "N='class' is no name"),
        ("a" * 31, "planning", "has 31 letters"),
        ("projects", "planning", "is there already"),
        ("errands", "", "S='' is no system: name one of planning"),
        ("errands", "errands", "S='errands' is no system: name one of planning"),
    ],
)
def test_a_name_that_cannot_be_taken_is_refused_and_nothing_written(
    tmp_path: Path, name: str, system: str, words: str
) -> None:
    (tmp_path / "operations/planning").mkdir(parents=True)
    for file in ("__init__.py", "projects.py"):
        shutil.copy(ROOT / "operations/planning" / file, tmp_path / "operations/planning")
    before = files(tmp_path)
    with pytest.raises(ValueError, match=re.escape(words)):
        begin(tmp_path, name, system)
    assert files(tmp_path) == before
