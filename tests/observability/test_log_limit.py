"""A trouble that lasts is logged as it begins and then each minute, and so is its end."""

from observability.log_limit import LogLimit


def test_a_trouble_is_logged_at_once_and_then_each_minute() -> None:
    said = LogLimit()
    assert [now for now in range(1000, 1200) if said.note(now)] == [1000, 1060, 1120, 1180]


def test_the_end_of_a_trouble_is_logged_once_and_the_next_one_at_once() -> None:
    said = LogLimit()
    assert not said.end()
    assert said.note(0.0)
    assert (said.end(), said.end()) == (True, False)
    assert said.note(1.0)
