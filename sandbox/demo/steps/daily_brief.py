"""A workflow: it reads the mailbox, has an agent write a brief, asks the owner by e-mail, sends it, and reminds."""

import re
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

from sandbox.demo.evidence import Ledger, WorkflowRun
from sandbox.demo.steps.step import Mark, OnMessage, Proof, Stage, number

DEFINITION = Path(__file__).with_suffix(".yaml")
WORKFLOW, PROFILE_NAME = "daily-brief", "brief"
PROFILE: dict[str, Any] = {
    "prompt": "You write the brief of the day for the owner of the mailbox: one line for each message.",
    "model": "claude-haiku-5-5",
    "tools": ["search_mail"],
}
SUBJECT, WORDS = "The brief of the day", "Go through the brief"
GRAPH = "workflow-run.svg"
SOON = timedelta(seconds=2)
TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class DailyBrief(OnMessage):
    """A service starts the workflow, and the owner follows the link in the mail that asks."""

    title: ClassVar[str] = "a workflow: the brief of the day"
    expected: ClassVar[str] = (
        "run succeeded, not_sent skipped, a look at the link decided nothing, 1 brief with the message,"
        " reminded by 1 e-mail and 1 line"
    )

    def play(self, stage: Stage) -> Mark:
        """Start it, look at the link as programs that read mail do, approve, and keep the picture of the run.

        The reminder is rung by the workflow and by its own time; whichever comes second finds that it has rung.
        """
        run_id = _start(stage)
        approval_id = _asked(stage, run_id)
        stage.wait(lambda _ledger: "" if _link(stage, approval_id) else "the question by e-mail")
        link = _link(stage, approval_id)
        _follow(link)
        looked = _run(stage.wait(lambda _ledger: ""), run_id)
        _follow(link, b"choice=approve")
        stage.wait(lambda ledger: "" if _state(ledger, run_id) in {"succeeded", "failed"} else "the end of the run")
        stage.keep(GRAPH, stage.door.text(f"/v1/workflows/runs/{run_id}/graph"))
        return {"run_id": run_id, "looked": looked is not None and looked.nodes["approve"] == "waiting"}

    def found(self, proof: Proof) -> str:
        """The run's row, what Resend has taken, and the owner's inbox."""
        run, owner = _run(proof.ledger, proof.mark["run_id"]), proof.outside.mailbox.email
        mails = [one["mail"] for one in proof.outside.sent_emails if owner in str(one["mail"]["to"])]
        briefs = [one for one in mails if one["subject"] == SUBJECT]
        subject = next((one.subject for one in proof.ledger.messages if one.message_id == proof.place.message_id), "?")
        is_named = all(subject in str(one["text"]) for one in briefs)
        reminders = [one for one in mails if WORDS in one["subject"]]
        lines = [one for one in proof.ledger.inbox if WORDS in one.title]
        return (
            f"run {run.state if run else 'missing'}, not_sent {run.nodes['not_sent'] if run else 'missing'},"
            f" a look at the link decided {'nothing' if proof.mark['looked'] else 'the matter'},"
            f" {number(len(briefs), 'brief')} {'with' if is_named else 'without'} the message,"
            f" reminded by {number(len(reminders), 'e-mail')} and {number(len(lines), 'line')}"
        )


def _start(stage: Stage) -> str:
    """Make the reminder, as the owner's app does, and start the run; returns its id."""
    email = stage.mailbox.email
    owner = next(one for one in stage.wait(lambda _ledger: "").accounts if one.email == email)
    at = (datetime.now(UTC) + SOON).isoformat()
    made = stage.door.post("/v1/reminders", {"user_id": str(owner.user_id), "title": WORDS, "at": at})
    given = {
        "account_id": stage.account_id,
        "readers": [email],
        "reminder_id": made["reminder_id"],
        "remind_at": at,
        "user_id": str(owner.user_id),
    }
    return str(stage.door.post("/v1/workflows/runs", {"workflow": WORKFLOW, "input": given})["run_id"])


def _asked(stage: Stage, run_id: str) -> str:
    """Wait until the run asks a person; returns the id of the question."""
    stage.wait(lambda ledger: "" if _waits(ledger, run_id) else "the question of the workflow")
    nodes = stage.door.get(f"/v1/workflows/runs/{run_id}")["nodes"]
    return str(next(one["approval_id"] for one in nodes if one["node"] == "approve"))


def _waits(ledger: Ledger, run_id: str) -> bool:
    run = _run(ledger, run_id)
    return run is not None and run.nodes["approve"] == "waiting"


def _link(stage: Stage, approval_id: str) -> str:
    """The link in the mail that asks the owner; empty as long as none has come."""
    texts = (str(one["mail"].get("text", "")) for one in stage.resend.emails())
    found = (re.search(rf"{stage.door.url}/d/{approval_id}\S+", text) for text in texts)
    return next((one[0] for one in found if one), "")


def _follow(link: str, form: bytes | None = None) -> None:
    """Open a link, or send its form; raises `HTTPError` where it is refused."""
    with urllib.request.urlopen(link, form, timeout=TIMEOUT_S) as answer:  # noqa: S310  # the local gateway
        answer.read()


def _state(ledger: Ledger, run_id: str) -> str:
    run = _run(ledger, run_id)
    return run.state if run else "missing"


def _run(ledger: Ledger, run_id: str) -> WorkflowRun | None:
    return next((one for one in ledger.workflow_runs if str(one.run_id) == run_id), None)
