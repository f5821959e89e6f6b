"""A list looks wherever a job may be, in zones that do not touch."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.monitoring.zones import SLACK, Zone, zone_map

START = datetime(2026, 1, 1, tzinfo=UTC)
EVERYTHING = Zone(START - timedelta(days=3650), START + timedelta(days=3650))
TIMES = st.integers(0, 5_000).map(lambda minutes: START + timedelta(minutes=minutes))
SPANS = st.builds(lambda at, span: Zone(at, at + timedelta(minutes=span)), TIMES, st.sampled_from([1, 10, 60]))


@given(st.lists(SPANS), TIMES, st.none() | TIMES, TIMES, st.timedeltas(-SLACK / 2, SLACK / 2))
def test_a_job_that_may_be_there_is_in_a_zone(
    counted: list[Zone], counted_to: datetime, kept_since: datetime | None, at: datetime, drift: timedelta
) -> None:
    """A job was enqueued at a time; the time in its id differs from that a little."""
    found = zone_map(counted, counted_to=counted_to, kept_since=kept_since, everything=EVERYTHING)
    is_old = kept_since is not None and at < kept_since
    if is_old or at >= counted_to or any(one.starts <= at < one.ends for one in counted):
        assert any(one.starts <= at + drift < one.ends for one in found.zones)
    assert all(newer.starts > older.ends for newer, older in pairwise(found.zones))
    if kept_since is None:
        assert found.reached == found.zones[-1].starts
    else:
        assert found.reached is None
        assert found.zones[-1].starts == EVERYTHING.starts
    assert found.zones[0].ends == EVERYTHING.ends
