"""One dead letter: what went wrong, what a replay would do effect by effect, and what can be done about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.jobs.failures import Forbidden, Gone
from domain.jobs.replays.replay_plan import EffectFate
from domain.orgs.privacy.redaction import redact_document
from gateway.console.derived import values_href
from gateway.console.pages import HandPage, Look
from gateway.console.pages.facts import Fact, deed_of, id_of
from gateway.console.shown import TONES, at, in_json, money
from gateway.console.things import AnyOperation
from operations.jobs.dead_letters import (
    DeadLetterView,
    LetterState,
    discard_dead_letter,
    read_dead_letter,
    replay_dead_letter,
)
from operations.jobs.mends import ReplayPlanView, mend_job, read_replay_plan

FATES: Mapping[EffectFate, str] = {
    EffectFate.RECORDED: "has happened, and is not repeated",
    EffectFate.FOUND_OUT: "the provider is asked whether it happened",
    EffectFate.CALLED: "the provider is called",
    EffectFate.NEEDS_WORD: "needs your word: nobody knows whether it happened",
}
"""What a replay does about an effect."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a replay would do."""

    refused: str | None
    effects: Sequence[Fact]
    steps: Sequence[Fact]
    saves: str


def fill(look: Look) -> Mapping[str, Any]:
    """The page of a dead letter."""
    letter = look.call(read_dead_letter, id_of(look.asked, "letter_id"))
    said = redact_document(letter.model_dump(mode="json", warnings=False))  # shapes are in the place of values
    address, beside = look.frame.things.address, {"org_id": letter.org_id}
    is_open = letter.state is LetterState.OPEN
    of_letter, of_job = {"letter_id": letter.letter_id}, {"job_id": letter.job_id}
    possible: Sequence[tuple[AnyOperation, Mapping[str, object]]] = (
        (replay_dead_letter, of_letter), (mend_job, of_job), (discard_dead_letter, of_letter),
    )  # fmt: skip
    return {
        "letter": letter,
        "tone": TONES.get(letter.state.value, ""),
        "code": str(letter.error.get("code", "")),
        "job_href": address("job_id", str(letter.job_id), beside),
        "replay_href": address("replay_job_id", str(letter.replay_job_id), beside) if letter.replay_job_id else None,
        "plan": plan_of(look, letter) if is_open else None,
        "history": [event_fact(one) for one in said["history"]],
        "effects": [
            Fact(
                str(one["key"]),
                f"{one['mode']}, last seen {at(one['last_seen_at'])} UTC".replace("_", " "),
                state=str(one["status"]),
            )
            for one in said["effects"]
        ],
        "error": in_json(said["error"]),
        "payload": in_json(said["payload"]),
        "deeds": [deed_of(look, one, **given) for one, given in possible if is_open and look.may(one)],
        "values_href": values_href(look.request, look.frame, read_dead_letter),
    }


def plan_of(look: Look, letter: DeadLetterView) -> Plan | None:
    """What a replay of a letter's job would do; None where the ledger no longer knows, or may not say so."""
    try:
        return plan_said(look.call(read_replay_plan, letter.job_id))
    except (Gone, Forbidden):
        return None


def plan_said(found: ReplayPlanView) -> Plan:
    """A plan in words."""
    return Plan(
        found.refused,
        [Fact(one.key, FATES[one.fate], state=one.fate.value) for one in found.effects],
        [
            Fact(one.name, f"kept{', saves ' + money(one.saves_microcents) if one.saves_microcents else ''}"
                 if one.is_reused else "is done anew")
            for one in found.steps
        ],
        money(found.saves_microcents) if found.saves_microcents else "",
    )  # fmt: skip


def event_fact(one: Mapping[str, object]) -> Fact:
    """An event of a job's history."""
    data, attempt = one.get("data"), one.get("attempt")
    who = f" by {one['actor_id']}" if one.get("actor_id") else ""
    more = in_json(data) if isinstance(data, dict) and data else None
    return Fact(at(one.get("at")), f"{one.get('event')}{who}", state=f"attempt {attempt}" if attempt else "", more=more)


LETTER = HandPage(path="deadletters/show", title="Dead letter", fill=fill, needs=read_dead_letter, asks=("letter_id",))
