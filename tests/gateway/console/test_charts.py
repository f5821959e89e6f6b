"""Charts: what is drawn lies within the drawing, and says in words what it shows."""

import re
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from gateway.console.charts import HEIGHT, WIDTH, Chart, Kind, Series, number, round_up, sparkline

SINCE = datetime(2026, 11, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
VALUES = st.none() | st.floats(0, 1e12, allow_nan=False) | st.integers(0, 10**9)


def chart(kind: Kind, *values: list[float | None], title: str = "Jobs") -> Chart:
    times = [SINCE + MINUTE * at for at in range(len(values[0]))]
    series = [Series(f"<b>{at}", one) for at, one in enumerate(values)]
    return Chart(title, kind, times, MINUTE, series, SINCE, SINCE + MINUTE * len(values[0]))


@given(st.sampled_from(["line", "bars"]), st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=50))
def test_a_chart_stays_within_its_drawing(kind: Kind, values: list[tuple[float | None, float | None]]) -> None:
    drawn = chart(kind, [one for one, _ in values], [two for _, two in values])
    svg = LexborHTMLParser(drawn.__html__()).css("figure > svg")[0]
    for path in svg.css("path:not(.axis)"):
        points = re.findall(r"[ML]([-\d.e]+) ([-\d.e]+)", path.attributes["d"] or "")
        assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in points)
        assert all(0 <= float(y) <= HEIGHT for y in re.findall(r"V([-\d.e]+)", path.attributes["d"] or ""))


def test_a_chart_says_what_it_shows() -> None:
    drawn = chart("bars", [1, None, 3], [2500, 0, 0], title='"><script>')
    assert drawn.words == "From 2026-11-01 00:00 to 2026-11-01 00:03 UTC. <b>0: 1 to 3, last 3; <b>1: 0 to 2.5k, last 0"
    html = drawn.__html__()
    assert ("<script" not in html, "<b>0" not in html, "style=" not in html) == (True, True, True)
    assert drawn.most == 5000


def test_a_line_has_a_gap_where_nothing_was_measured() -> None:
    times = [SINCE, SINCE + MINUTE, SINCE + MINUTE * 30]
    drawn = Chart("x", "line", times, MINUTE, [Series("a", [1, 2, 3])], SINCE, SINCE + MINUTE * 60)
    (path,) = LexborHTMLParser(drawn.__html__()).css("path.stroke")
    assert (path.attributes["d"] or "").count("M") == 2


def test_nothing_is_drawn_of_nothing() -> None:
    assert (chart("line", [None, 0]).is_empty, chart("line", [None, 1]).is_empty) == (True, False)
    assert "at most 0" in sparkline("in", [None, None])


@given(st.floats(1e-6, 1e15))
def test_an_axis_ends_at_a_round_number_that_no_value_exceeds(value: float) -> None:
    assert value <= round_up(value) <= value * 10
    assert number(round_up(value)).strip("0.kMGe+-")[:1] in {"1", "2", "5", ""}
