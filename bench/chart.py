"""Draws measured results as an SVG for light and dark pages: what users wait for, rates of all, and all other targets.

`python -m bench.chart build/bench/results.json docs/pictures/bench.svg`; `machine.json` must stand beside the results.
"""

import json
import math
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

Result = Mapping[str, Any]
Results = Mapping[str, Result]

PAD, GAP, ROW, BAR, SPAN = 20, 8, 24, 14, 340
CHARACTER, SMALL_CHARACTER = 7.5, 6.4
"""Generous widths of a character, in the two sizes of text: the reader's font is not known here."""
REACH = 8.0
"""The targets' axis goes from an eighth of a target to eight times it."""
EXACT = 100
"""From this rate on no digit after the point is shown."""
MARK = 0.5
"""Where on the span a target stands."""

WAITED_FOR = (
    "pipeline_vs_plain_celery",
    "drain_mix_vs_celery",
    "drain_mix_writes_vs_celery",
    "enqueue_one_vs_apply_async",
    "idle_latency_p50_ms",
    "idle_latency_p99_ms",
)
"""The contests of what users wait for, which stand first; drains are what nobody waits for."""

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.title { font-weight: 600; } .small { font-size: 11px; fill: #59636e; }
.ours { fill: #1a7f5a; } .peer { fill: #8c959f; } .short { fill: #cf222e; }
.mark { stroke: #1f2328; stroke-width: 2; } .line { stroke: #d1d9e0; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; } .small { fill: #9198a1; }
  .ours { fill: #3fb984; } .peer { fill: #6e7681; } .short { fill: #f85149; }
  .mark { stroke: #f0f6fc; } .line { stroke: #3d444d; }
}
"""


@dataclass(frozen=True)
class Bar:
    """One row: its label, its length as a share of the span, how it is coloured, and what its label says at its end."""

    label: str
    share: float
    kind: str
    figures: str


def main(words: Sequence[str]) -> None:
    """Draw from the files named on the command line."""
    source, target = map(Path, words)
    machine = json.loads(source.with_name("machine.json").read_text())
    write(json.loads(source.read_text()), machine, target)


def write(results: Results, machine: Mapping[str, Any], path: Path) -> None:
    """Draw into a file."""
    path.write_text(render(results, machine))


@dataclass(frozen=True)
class Panel:
    """Rows under a title; `mark` is where on the span the targets stand."""

    title: str
    bars: Sequence[Bar]
    mark: float | None = None


@dataclass(frozen=True)
class Columns:
    """Where the bars begin, and how wide the picture is: no label and no figure is cut."""

    bars: int
    width: int


def columns(bars: Sequence[Bar]) -> Columns:
    """The columns for these rows: as wide as the longest label and the longest figure."""
    label = max((len(bar.label) for bar in bars), default=0) * CHARACTER
    figures = max((len(bar.figures) for bar in bars), default=0) * CHARACTER
    left = PAD + math.ceil(label) + GAP
    return Columns(left, left + SPAN + GAP + math.ceil(figures) + PAD)


def render(results: Results, machine: Mapping[str, Any]) -> str:
    """The whole picture; a part for which nothing was measured is left out."""
    waited_for = {name: results[name] for name in WAITED_FOR if name in results}
    others = {name: result for name, result in results.items() if name not in waited_for}
    panels = (
        Panel(
            "What users wait for, against plain Celery and its target (the mark; logarithmic)",
            list(target_bars(waited_for)),
            MARK,
        ),
        Panel("Messages of the pipeline per second, and what each takes", list(rate_bars("pipeline_", results))),
        Panel(f"No-op jobs drained per second{_backlog(others)}", list(rate_bars("drain_", others))),
        Panel("What else was measured against its target (the mark; logarithmic)", list(target_bars(others)), MARK),
    )
    return draw(panels, _caption(results, machine))


def draw(panels: Sequence[Panel], caption: str) -> str:
    """The picture of the panels and a caption below them; an empty panel is left out."""
    rows: list[str] = []
    at = columns([bar for panel in panels for bar in panel.bars])
    y = PAD + 4
    for panel in panels:
        if panel.bars:
            rows += _panel(at, y, panel)
            y += (len(panel.bars) + 2) * ROW
    for line in textwrap.wrap(caption, int((at.width - 2 * PAD) / SMALL_CHARACTER)):
        rows.append(_text(PAD, y, line, "small"))
        y += ROW - GAP
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {at.width} {y + PAD}" role="img">'
    return "\n".join([picture, f"<style>{STYLE}</style>", *rows, "</svg>"]) + "\n"


def rate_bars(prefix: str, results: Results) -> Iterator[Bar]:
    """Ours and every peer of the contests whose names begin so, fastest first; drains at the full backlog."""
    rates: dict[str, tuple[float, str, str]] = {}
    for name, result in results.items():
        if not name.startswith(prefix) or name.endswith("_20k"):
            continue
        rates[f"Postroom: {result.get('ours_setting', '')}"] = (result["ours"], "ours", _cpu(result, "ours_cost"))
        if result["peer"] is not None:
            label = str(result.get("peer_setting", name))
            rates[label] = (result["peer"], "peer", _cpu(result, "peer_cost"))
    most = max((rate for rate, *_ in rates.values()), default=1.0)
    for label, (rate, kind, cpu) in sorted(rates.items(), key=lambda item: -item[1][0]):
        yield Bar(label, rate / most, kind, f"{rate:,.{0 if rate >= EXACT else 1}f}/s{cpu}")


def target_bars(results: Results) -> Iterator[Bar]:
    """Every target, in the order of the results: half the span is the target itself."""
    for name, result in results.items():
        for target in result["targets"]:
            figure = result.get(target["of"])
            if figure is None:
                continue
            score = figure / target["value"] if target["bound"] == "at least" else target["value"] / max(figure, 1e-9)
            place = MARK + math.log(max(score, 1e-9), REACH) / 2
            kind = "ours" if target["met"] else "short"
            label = f"{name}: CPU" if target["of"] == "cpu_ratio" else name
            yield Bar(label, min(max(place, 0.01), 1.0), kind, label_of(result, target))


def label_of(result: Result, target: Mapping[str, Any]) -> str:
    """A figure and its target in words: `12.1x (at least 10)`."""
    unit = f" {result['unit']}" if target["of"] == "ours" else "x"
    return f"{result[target['of']]:,}{unit} ({target['bound']} {target['value']:,})"


def describe_targets(result: Result) -> str:
    """Each target of a result, and whether it is kept."""
    kept = {True: "kept", False: "NOT kept"}
    return ", ".join(f"{label_of(result, target)}: {kept[target['met']]}" for target in result["targets"])


def _panel(at: Columns, y: int, panel: Panel) -> list[str]:
    rows = [_text(PAD, y, panel.title, "title")]
    left = at.bars
    for place, bar in enumerate(panel.bars, start=1):
        top = y + place * ROW - BAR + 4
        width = max(bar.share * SPAN, 1.0)
        rows.append(_text(PAD, top + BAR - 3, bar.label))
        rows.append(f'<rect class="{bar.kind}" x="{left}" y="{top}" width="{width:.1f}" height="{BAR}" rx="2"/>')
        rows.append(_text(left + SPAN + GAP, top + BAR - 3, bar.figures))
    bottom = y + len(panel.bars) * ROW + 8
    rows.append(_line(left, y + 6, bottom, "line"))
    if panel.mark is not None:
        rows.append(_line(left + round(panel.mark * SPAN), y + 6, bottom, "mark"))
    return rows


def _line(x: int, top: int, bottom: int, kind: str) -> str:
    return f'<line class="{kind}" x1="{x}" y1="{top}" x2="{x}" y2="{bottom}"/>'


def _text(x: int, y: int, words: str, kind: str = "") -> str:
    return f'<text x="{x}" y="{y}" class="{kind}">{escape(words)}</text>'


def _cpu(result: Result, side: str) -> str:
    cost = result.get(side)
    return f", {cost['worker_cpu_ms'] + cost['postgres_cpu_ms']:.1f} ms of CPU" if cost else ""


def _backlog(results: Results) -> str:
    jobs = {result["jobs"] for name, result in results.items() if name.startswith("drain_") and "_20k" not in name}
    return f", backlog of {max(jobs):,}" if jobs else ""


def _caption(results: Results, machine: Mapping[str, Any]) -> str:
    servers = machine["servers"]
    last = {**machine, "rounds": machine["sizes"]["rounds"]}
    measured = [result.get("measured", last) for result in results.values()] or [last]
    strange = sum(one["processor"] != machine["processor"] or one["cores"] != machine["cores"] for one in measured)
    return (
        f"{_span([one['at'][:10] for one in measured])}, {machine['processor']},"
        f" {machine['cores']} cores shared with the servers,"
        f" Python {machine['python']}, PostgreSQL {servers['postgresql']} (fsync on), Valkey {servers['valkey']};"
        f" medians of {_span([one['rounds'] for one in measured])} rounds in turns"
    ) + (f"; {strange} contests were held on another machine" if strange else "")


def _span(values: Sequence[Any]) -> str:
    least, most = min(values), max(values)
    return str(least) if least == most else f"{least} to {most}"


if __name__ == "__main__":
    main(sys.argv[1:3])
