"""Each file of a run is one worker's to import first."""

from pathlib import Path

import pytest

from tests.house.reading import ROOT
from tests.servers.shared_imports import files_of_tests, share


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 9])
def test_all_shares_together_are_all_files_once(workers: int) -> None:
    places = [f"tests/test_{number}.py" for number in range(8)]
    shares = [share(places, worker, workers) for worker in range(workers)]
    assert sorted(place for one in shares for place in one) == places


def test_files_are_found_by_their_folder_their_name_and_a_test_of_theirs() -> None:
    here = Path(__file__).relative_to(ROOT).as_posix()
    assert here in files_of_tests(ROOT, ["tests/servers"])
    assert list(files_of_tests(ROOT, [here, f"{here}::test_a[b::c]", "tests/nowhere"])) == [here, here]
