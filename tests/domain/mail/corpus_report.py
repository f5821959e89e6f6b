"""The 300 real messages, and how the automation rules see each folder of them.

`python -m tests.domain.mail.corpus_report` writes the expected counts anew.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from domain.mail.parsing.mime import parse_message
from domain.mail.triage.automation import detect_automation

CORPUS = Path(__file__).parents[2] / "mail"
REPORT = CORPUS / "automation_report.json"


def corpus_files() -> list[Path]:
    return sorted(CORPUS.glob("*/*.eml"))


def automation_report() -> dict[str, dict[str, int]]:
    """Counts of `kind/weight` by folder."""
    counts: dict[str, Counter[str]] = {}
    for path, kind, weight in _findings():
        counts.setdefault(path.parent.name, Counter())[f"{kind}/{weight}"] += 1
    return {group: dict(sorted(counter.items())) for group, counter in sorted(counts.items())}


def _findings() -> Iterator[tuple[Path, str, str]]:
    for path in corpus_files():
        found = detect_automation(parse_message(path.read_bytes()))
        yield path, found.kind.value, found.weight.value


def main() -> None:
    REPORT.write_text(json.dumps(automation_report(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
