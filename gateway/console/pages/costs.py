"""Cost: what orgs' jobs cost over a range, by org, by type and by day."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from gateway.console.charts import Chart, Series
from gateway.console.pages import HandPage, Look
from gateway.console.pages.ranges import Chosen, chosen
from operations.jobs.history import SummedBy, SummedCost, list_org_hours, sum_org_hours
from operations.orgs.orgs import show_org

DAY = timedelta(days=1)


def fill(look: Look) -> Mapping[str, Any]:
    """What the jobs of all orgs, or of the one that was chosen, cost; `reached` where older hours were too many."""
    kept = chosen(look, by_hour=True)
    days = look.call(sum_org_hours, by=SummedBy.DAY, since=kept.since).items
    by = [SummedBy.ORG, SummedBy.TYPE] if look.frame.org_id is None else [SummedBy.TYPE]
    tables = [(one.value, _lines(look, look.call(sum_org_hours, by=one, since=kept.since).items)) for one in by]
    return {
        "chosen": kept,
        "total": sum(one.microcents for one in days),
        "chart": _chart(days, kept),
        "tables": [*tables, ("day", _lines(look, days))],
        "hours_href": f"{look.frame.base}/history/costs{f'?of_org={look.frame.org_id}' if look.frame.org_id else ''}",
        "reached": days[0].reached if days else None,
    }


def _lines(look: Look, sums: Sequence[SummedCost]) -> Sequence[Mapping[str, Any]]:
    """What each org, type or day did and cost; its share is of the dearest, from 0 to 1."""
    most = max((one.microcents for one in sums), default=0) or 1
    names = dict(look.frame.orgs)
    lines = []
    for one in sums:
        name, href = one.job_type or (one.day.strftime("%Y-%m-%d") if one.day else ""), ""
        if one.org_id is not None:
            name = names.get(str(one.org_id), str(one.org_id))
            href = look.frame.things.page(show_org, {}, one.org_id)
        lines.append({"name": name, "href": href, "sums": one, "share": one.microcents / most})
    return lines


def _chart(days: Sequence[SummedCost], kept: Chosen) -> Chart:
    known = [(one.day, one.microcents / 100_000_000) for one in reversed(days) if one.day is not None]
    times = [at for at, _ in known]
    since = min([*times, kept.since])
    return Chart(
        "Cost, per day (UTC)", "bars", times, DAY, [Series("cost", [cost for _, cost in known])], since,
        max([kept.since + kept.length, *(at + DAY for at in times)]), " $",
    )  # fmt: skip


COSTS = HandPage(path="costs", title="Cost", fill=fill, asks=("range",), needs=list_org_hours, key="c", order=3)
