"""The demo's output: lines for its steps, progress bars on a terminal, and a table at the end."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.table import Table

from sandbox.demo.evidence import EmailRecord, Ledger, StoredMessage
from sandbox.demo.report import Outcome, recorded_drafts

PIPE_WIDTH = 132
"""Columns when the output is no terminal."""
SOURCES = {"deterministic": "rules", "llm": "model"}
DRAFTS = {"drafted": "written", "rework_requested": "to be reworked", "sent": "sent", "skipped": "discarded"}
STYLES = {"sent": "green", "drafted": "cyan", "archived": "magenta", "pending": "yellow"}


class Screen:
    """A terminal, or a pipe that gets plain lines."""

    def __init__(self, console: Console | None = None) -> None:
        """The clock of the demo starts here."""
        found = console or Console(highlight=False)
        self.console = found if found.is_terminal else Console(file=found.file, highlight=False, width=PIPE_WIDTH)
        self._started = monotonic()
        self._progress = Progress(disable=True)
        self._bars: dict[str, TaskID] = {}

    def seconds(self) -> float:
        """Seconds since the start."""
        return monotonic() - self._started

    def tell(self, text: str) -> None:
        """One line with the time since the start."""
        self.console.print(f"[dim]{self.seconds():5.1f} s[/dim]  {escape(text)}", soft_wrap=True)

    def complain(self, text: str) -> None:
        """One line about a problem."""
        self.console.print(f"[bold red]{'':5}  ✗[/bold red]  {escape(text)}", soft_wrap=True)

    @contextmanager
    def bars(self, *names: str) -> Iterator[None]:
        """Progress bars for the length of the block, moved by `move_bars`; none on a pipe."""
        columns = (TextColumn("         {task.description:<8}"), BarColumn(bar_width=40), MofNCompleteColumn())
        terminal = self.console.is_terminal
        with Progress(*columns, console=self.console, transient=True, disable=not terminal) as self._progress:
            self._bars = {name: self._progress.add_task(name, total=None) for name in names}
            yield
        self._bars = {}

    def move_bars(self, ledger: Ledger, delivered: int) -> None:
        """Move the progress bars, if there are any."""
        incoming = [message for message in ledger.messages if message.direction == "incoming"]
        waiting = [email for email in ledger.emails if email.state != "skipped"]
        for name, (done, total) in {
            "stored": (len(incoming), delivered),
            "decided": (sum(message.classification is not None for message in incoming), delivered),
            "drafted": (sum(email.draft_id is not None for email in waiting), len(waiting)),
        }.items():
            if name in self._bars:
                self._progress.update(self._bars[name], completed=done, total=total)

    def show_messages(self, ledger: Ledger, endings: Sequence[Outcome]) -> None:
        """Every incoming message, a line each: who wrote, what it is, who decided, draft and state."""
        records = {email.thread_id: email for email in ledger.emails}
        drafted = {effect.thread_id for effect in recorded_drafts(ledger)}
        table = _table(("from", 24), ("subject", 40), ("class", 15), ("decided by", 10), ("draft", 9), ("state", 8))
        for message in ledger.messages:
            if message.direction == "incoming":
                self._add(table, message, records.get(message.thread_id), drafted)
        self.console.print(table)
        wrong = [one for one in endings if not one.holds]
        self.console.print(f"{len(endings) - len(wrong)} of {len(endings)} messages ended as the story predicts")

    def show_steps(self, steps: Sequence[Outcome]) -> None:
        """Every step of the story, a line each: what, whether it ended as predicted, and the end that was found."""
        table = _table(("step", 28), ("", 2), ("found", 92))
        for one in steps:
            mark = "[green]✓[/]" if one.holds else "[bold red]✗[/]"
            table.add_row(escape(one.what), mark, escape(one.found))
        self.console.print(table)

    def show_sums(self, report: Mapping[str, object], places: Sequence[tuple[str, str]]) -> None:
        """The report's sums, and where to look further."""
        names = ("messages", "drafts", "sent", "audit_events", "llm_cost_cents", "lost", "duplicates")
        self.console.print("  ".join(f"[bold]{report[name]}[/bold] {name.replace('_', ' ')}" for name in names))
        for name, place in places:
            self.console.print(f"  {name:<8} {place}", soft_wrap=True)

    def _add(
        self, table: Table, message: StoredMessage, record: EmailRecord | None, drafted: Collection[str | None]
    ) -> None:
        asked = record is not None and record.message_id == message.message_id and record.thread_id in drafted
        draft = DRAFTS.get(record.state, "put away") if record and asked else ""
        state = record.state if record else "no record"
        cells = (
            message.sender or "nobody",
            " ".join(message.subject.split()),
            message.classification or "undecided",
            SOURCES.get(message.source or "", ""),
            draft,
        )
        table.add_row(*map(escape, cells), f"[{STYLES.get(state, 'dim')}]{state}[/]")


def _table(*columns: tuple[str, int]) -> Table:
    """A table without a frame; columns with their greatest width."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name, width in columns:
        table.add_column(name, max_width=width, no_wrap=True, overflow="ellipsis")
    return table


def relative(path: Path) -> str:
    """A path as one types it from here."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
