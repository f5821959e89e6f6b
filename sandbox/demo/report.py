"""The report of a run, counted from the database, the mailbox and the emulators' journals, not from the script."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from sandbox.demo.evidence import Effect, JobRow, Ledger, ModelCall, Outside
from sandbox.emulator.control import JournalledCall

FINAL = frozenset({"succeeded", "failed", "dead", "canceled"})
MICROCENTS = 1_000_000
"""One cent."""
DRAFT_EFFECT = "draft:"
"""How the key of a draft's effect begins (tasks/mail/drafts.py)."""
AGENT_TURN = "agent_turn"
"""The purpose of an agent's calls of the model; a run makes one a turn."""
OK = 200
KINDS_OF_TOKENS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
TOKEN_HEADER = "x-postroom-token:"  # noqa: S105  # the name of a header, no secret

Findings = dict[str, list[str]]
"""Problems by kind; a kind without problems has an empty list."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Something predicted beside what was found; `about` names the messages."""

    what: str
    about: str
    expected: str
    found: str

    @property
    def holds(self) -> bool:
        """Whether the prediction came true."""
        return self.expected == self.found

    def as_json(self) -> dict[str, Any]:
        """All of it, and whether it holds."""
        return asdict(self) | {"holds": self.holds}


def make_report(ledger: Ledger, outside: Outside) -> dict[str, Any]:
    """The content of `report.json`: sums, and the problems behind each sum."""
    lost, duplicates = find_lost(ledger, outside), find_duplicates(ledger, outside)
    return {
        "messages": sum(message.direction == "incoming" for message in ledger.messages),
        "classified": count_classified(ledger),
        "drafts": len(recorded_drafts(ledger)),
        "sent": count_sent(ledger, outside),
        "jobs": count_jobs(ledger.jobs),
        "effects": dict(sorted(Counter(effect.status for effect in ledger.effects).items())),
        "audit_events": ledger.audit_events,
        "llm_cost_cents": cents(ledger.model_calls),
        "llm_cost_cents_by_org": cost_by_org(ledger.model_calls),
        "llm_tokens": {"billed": sum(call.tokens for call in ledger.model_calls), "used": count_tokens(outside)},
        "lost": count(lost),
        "duplicates": count(duplicates),
        "lost_by_kind": lost,
        "duplicates_by_kind": duplicates,
        "pushes": count_pushes(outside.gmail_calls),
        "model_calls": len(ledger.model_calls),
    }


def find_lost(ledger: Ledger, outside: Outside) -> Findings:
    """What was not handled to its end.

    | kind | what it lists |
    |---|---|
    | `undecided` | messages in the emulator's inbox that are not stored with a decision |
    | `unrecorded` | messages delivered to the mailbox whose thread has no record |
    | `unseen` | messages that were sent and that neither a record nor an action names |
    | `unfinished` | jobs in no final state, except those scheduled for later and not claimed yet |
    | `undrafted` | threads with an ordered draft that was not made, without a reason in the job's output |
    """
    decided = {message.message_id for message in ledger.messages if message.classification is not None}
    recorded = {email.thread_id for email in ledger.emails}
    known_sent = {one.sent_message_id for one in ledger.emails} | {one.sent_message_id for one in ledger.actions}
    delivered = [one for one in outside.mailbox.messages if not {"SENT", "DRAFT"} & set(one["label_ids"])]
    sent = [one for one in outside.mailbox.messages if "SENT" in one["label_ids"]]
    unfinished = [job for job in ledger.jobs if job.state not in FINAL and not job.scheduled]
    return {
        "undecided": [
            one["message_id"] for one in delivered if "INBOX" in one["label_ids"] and one["message_id"] not in decided
        ],
        "unrecorded": [one["message_id"] for one in delivered if one["thread_id"] not in recorded],
        "unseen": [one["message_id"] for one in sent if one["message_id"] not in known_sent],
        "unfinished": [f"{job.job_type} {job.job_id}: {job.state}" for job in unfinished],
        "undrafted": find_undrafted(ledger),
    }


def find_duplicates(ledger: Ledger, outside: Outside) -> Findings:
    """What happened more often than once; each kind lists the occurrences beyond the first.

    | kind | what it lists |
    |---|---|
    | `drafts_in_thread` | drafts in one thread |
    | `drafts_unrecorded` | drafts that the emulator journalled as made and that no effect in the ledger names |
    | `sent_in_thread` | messages sent in one thread |
    | `sends_of_draft` | sends of one draft by the fleet |
    | `effects_twice` | messages in the mailbox with the same draft token, and so the same effect key |
    | `model_calls_twice` | calls billed for one job and purpose |
    | `model_calls_unrecorded` | answers of the emulated model beyond the billed calls |
    """
    drafts, calls = outside.mailbox.drafts, outside.gmail_calls
    sent = [one for one in outside.mailbox.messages if "SENT" in one["label_ids"]]
    recorded = {effect.draft_id for effect in ledger.effects if effect.status == "succeeded"}
    made = [str(call.summary["draft_id"]) for call in calls if _was_executed(call, "drafts.create")]
    answered = sum(call.status == OK for call in outside.model_answers)
    return {
        "drafts_in_thread": repeated(one["thread_id"] for one in drafts),
        "drafts_unrecorded": [draft_id for draft_id in made if draft_id not in recorded],
        "sent_in_thread": repeated(one["thread_id"] for one in sent),
        "sends_of_draft": repeated(call.summary["draft_id"] for call in calls if _was_executed(call, "drafts.send")),
        "effects_twice": repeated(token for one in drafts for token in tokens_in(str(one["raw"]))),
        "model_calls_twice": find_double_calls(ledger),
        "model_calls_unrecorded": ["a call"] * max(0, answered - len(ledger.model_calls)),
    }


def find_problems(report: dict[str, Any], ledger: Ledger) -> list[str]:
    """All problems, a sentence each: lost and double items, failed jobs, effects in doubt."""
    problems = [f"lost, {kind}: {one}" for kind, found in report["lost_by_kind"].items() for one in found]
    problems += [f"double, {kind}: {one}" for kind, found in report["duplicates_by_kind"].items() for one in found]
    bad = [job for job in ledger.jobs if job.state in {"failed", "dead"}]
    problems += [f"{job.job_type} {job.job_id} is {job.state}: {job.reason}" for job in bad]
    tokens = report["llm_tokens"]
    if tokens["billed"] != tokens["used"]:
        problems.append(f"{tokens['billed']} tokens are billed, and the model has counted {tokens['used']}")
    doubtful = [effect for effect in ledger.effects if effect.status != "succeeded"]
    return problems + [f"the effect {effect.key} is {effect.status}" for effect in doubtful]


def find_outcomes(steps: Sequence[Outcome], endings: Sequence[Outcome]) -> dict[str, Any]:
    """The part of the report about what was predicted: each step and each message, and the sums."""
    return {
        "steps": [one.as_json() for one in steps],
        "endings": [one.as_json() for one in endings],
        "predicted": {
            "steps": f"{sum(one.holds for one in steps)} of {len(steps)}",
            "endings": f"{sum(one.holds for one in endings)} of {len(endings)}",
        },
    }


def find_deviations(steps: Sequence[Outcome], endings: Sequence[Outcome]) -> list[str]:
    """What did not come as predicted, a sentence each."""
    said = [f"{one.what} ({one.about}): predicted {one.expected}; found {one.found}" for one in steps if not one.holds]
    return said + [f"{one.about} ends as {one.found}, predicted {one.expected}" for one in endings if not one.holds]


def cents(calls: Iterable[ModelCall]) -> float:
    """What calls have cost."""
    return round(sum(call.cost_microcents for call in calls) / MICROCENTS, 4)


def cost_by_org(calls: Sequence[ModelCall]) -> dict[str, float]:
    """What each org's calls have cost, in cents."""
    return {org: cents(call for call in calls if call.org == org) for org in sorted({call.org for call in calls})}


def count_tokens(outside: Outside) -> int:
    """The tokens of every answer, as the model itself has counted them."""
    used = (call.summary["usage"] for call in outside.model_answers if call.status == OK and "usage" in call.summary)
    return sum(int(usage[kind]) for usage in used for kind in KINDS_OF_TOKENS)


def find_double_calls(ledger: Ledger) -> list[str]:
    """Calls billed beyond one for a job and purpose, or beyond one for a turn of an agent's run."""
    once = [call for call in ledger.model_calls if call.purpose != AGENT_TURN]
    turns: dict[UUID | None, int] = {run.job_id: run.turns for run in ledger.agent_runs}
    by_run: dict[UUID | None, list[ModelCall]] = {}
    for call in ledger.model_calls:
        if call.purpose == AGENT_TURN:
            by_run.setdefault(call.job_id, []).append(call)
    more = [f"({job_id}, {AGENT_TURN})" for job_id, calls in by_run.items() for _ in calls[turns.get(job_id, 0) :]]
    return repeated((str(call.job_id), call.purpose) for call in once) + more


def find_undrafted(ledger: Ledger) -> list[str]:
    """Threads whose ordered draft was not made; a job that gave up has a `why` in its output (tasks/mail/drafts.py)."""
    drafted = {effect.thread_id for effect in recorded_drafts(ledger)}
    ended = [job for job in ledger.jobs if job.job_type == "drafts.write" and job.state in FINAL]
    given_up = {job.thread_id for job in ended if "why" in (job.output or {})}
    return sorted({str(job.thread_id) for job in ended if job.thread_id not in drafted | given_up})


def recorded_drafts(ledger: Ledger) -> list[Effect]:
    """The effects of the drafts that the ledger recorded as made."""
    return [one for one in ledger.effects if one.key.startswith(DRAFT_EFFECT) and one.status == "succeeded"]


def count_classified(ledger: Ledger) -> dict[str, dict[str, int]]:
    """Messages by the class and by the source of their latest decision."""
    decided = [message for message in ledger.messages if message.classification is not None]
    return {
        "by_class": dict(sorted(Counter(str(message.classification) for message in decided).items())),
        "by_source": dict(sorted(Counter(str(message.source) for message in decided).items())),
    }


def count_sent(ledger: Ledger, outside: Outside) -> int:
    """Threads recorded as sent whose sent message is in the mailbox."""
    in_mailbox = {one["message_id"] for one in outside.mailbox.messages if "SENT" in one["label_ids"]}
    return sum(email.state == "sent" and email.sent_message_id in in_mailbox for email in ledger.emails)


def count_jobs(jobs: Sequence[JobRow]) -> dict[str, dict[str, int]]:
    """Jobs by type and state."""
    kinds = sorted({job.job_type for job in jobs})
    return {kind: dict(sorted(Counter(job.state for job in jobs if job.job_type == kind).items())) for kind in kinds}


def count_pushes(calls: Sequence[JournalledCall]) -> dict[str, int]:
    """Pushes by the status of the gateway's answer; `none` without an answer."""
    answers = Counter(str(call.status or "none") for call in calls if call.operation == "push.deliver")
    return dict(sorted(answers.items()))


def count(findings: Findings) -> int:
    """How many problems of all kinds there are."""
    return sum(map(len, findings.values()))


def repeated(values: Iterable[Hashable]) -> list[str]:
    """Every value beyond its first occurrence, as text."""
    return [str(value) for value, times in Counter(values).items() for _ in range(times - 1)]


def tokens_in(raw: str) -> list[str]:
    """The draft tokens in the head of a message."""
    head = raw.replace("\r\n", "\n").partition("\n\n")[0]
    lines = (line for line in head.split("\n") if line.lower().startswith(TOKEN_HEADER))
    return [line.partition(":")[2].strip() for line in lines]


def _was_executed(call: JournalledCall, operation: str) -> bool:
    """Whether the emulator executed the call, even if its answer was lost; only then the journal has the draft's id."""
    return call.operation == operation and "draft_id" in call.summary
