"""A forward that a person approves by a button on Discord, after a stranger has pressed it in vain."""

import json
import urllib.request
from dataclasses import dataclass
from typing import Any, ClassVar

from sandbox.demo.evidence import Ledger
from sandbox.demo.steps.actions import FORWARD_TO, forwarded
from sandbox.demo.steps.step import Mark, OnMessage, Proof, Stage, number
from sandbox.discord.presses import press, signed

CHANNEL = "1200000000000000001"
"""Where the org is asked."""
APPROVER, STRANGER = "1300000000000000001", "1300000000000000002"
"""Discord's ids of the mailbox's owner and of somebody who reads along."""
TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class ForwardApproved(OnMessage):
    """A service asks for a forward, and the owner presses Approve."""

    title: ClassVar[str] = "a forward is approved on Discord"
    expected: ClassVar[str] = "stranger refused, action done by the owner, 1 message sent, no button left"

    def play(self, stage: Stage) -> Mark:
        """Ask for it, wait for the question on Discord, and press: first a stranger, then the owner."""
        action_id = stage.ask_for(self.target, {"kind": "forward", "to": [FORWARD_TO]})
        stage.wait(lambda _ledger: "" if question_about(stage, action_id) else "the question on Discord")
        _press(stage, action_id, STRANGER)
        after = stage.wait(lambda _ledger: "")
        _press(stage, action_id, APPROVER)
        return {"action_id": action_id, "refused": _state_of(after, action_id) == "approved_pending"}

    def found(self, proof: Proof) -> str:
        """The action's row, the sent mail, and the message on Discord."""
        action, gone = proof.action(), forwarded(proof, FORWARD_TO)
        by = action is not None and action.approver == proof.outside.mailbox.email
        buttons = [one for one in proof.outside.questions if one["components"] and proof.mark["action_id"] in str(one)]
        return (
            f"stranger {'refused' if proof.mark['refused'] else 'obeyed'}, action {proof.action_state()}"
            f" by {'the owner' if by else 'nobody known'}, {number(len(gone), 'message')} sent,"
            f" {'buttons left' if buttons else 'no button left'}"
        )


def question_about(stage: Stage, action_id: str) -> dict[str, Any] | None:
    """The message on Discord whose buttons name an action."""
    channels = stage.discord.get("/_control/channels")["channels"]
    return next((one for one in channels.get(CHANNEL, []) if action_id in str(one["components"])), None)


def _press(stage: Stage, action_id: str, user_id: str) -> None:
    """Press Approve as Discord tells the gateway of it: signed by the application's key."""
    question = question_about(stage, action_id)
    if question is None:
        raise LookupError(f"there is no question about {action_id}")
    buttons = [button for row in question["components"] for button in row["components"]]
    approve = next(one["custom_id"] for one in buttons if "approve" in one["custom_id"].lower())
    request = signed(press(question, approve, user_id))
    url = f"{stage.door.url}/webhooks/discord/interactions"
    call = urllib.request.Request(url, request.body, request.headers)  # noqa: S310  # the local gateway
    with urllib.request.urlopen(call, timeout=TIMEOUT_S) as answer:  # noqa: S310  # as above
        json.load(answer)


def _state_of(ledger: Ledger, action_id: str) -> str | None:
    return next((one.state for one in ledger.actions if str(one.action_id) == action_id), None)
