"""What an operator sets up before mail arrives: the mailbox, an agent's profile, rules, and a key for a service."""

import json
import urllib.request
from typing import Any

from sandbox.demo.doors import HttpDoor
from sandbox.demo.fleet import Fleet
from sandbox.demo.letters import EVE, SUPPLIER
from sandbox.demo.steps import daily_brief
from sandbox.demo.steps.agent import LABEL
from sandbox.demo.steps.approval import APPROVER, CHANNEL

AGENT = "desk"
PROFILE: dict[str, Any] = {
    "prompt": "You look after invoices: label them, archive them. Answer questions, and call me for everything else.",
    "model": "claude-haiku-5-5",
    "tools": ["search_mail", "read_thread", "apply_label", "archive", "draft_reply", "reply", "escalate"],
    "labels": [LABEL],
    "may_reply": True,
}
"""Every tool that there is, so that the attacks meet the mightiest agent."""
SENDER, SENDER_ADDRESS = "resend", "The Example Desk <desk@example.com>"
RESEND_KEY = "re_Abcdefgh_of_the_demo"
RULES: tuple[dict[str, Any], ...] = (
    {"name": "Invoices go to the agent", "when": {"from": SUPPLIER}, "then": {"route": f"agent:{AGENT}"}},
    {"name": "So does Eve's mail", "when": {"from": EVE}, "then": {"route": f"agent:{AGENT}"}},
)


def connect(fleet: Fleet, *, org: str, email: str, access_token: str, refresh_token: str) -> str:
    """Connect a mailbox, and return the account's id.

    The tokens are in the command's environment, not visible in the process list.
    """
    tokens = {"POSTROOM_ACCOUNT_ACCESS_TOKEN": access_token, "POSTROOM_ACCOUNT_REFRESH_TOKEN": refresh_token}
    return str(fleet.celery("accounts", "add", "--org", org, "--email", email, secrets=tokens)["account_id"])


def open_door(fleet: Fleet, *, org: str) -> HttpDoor:
    """A key of the role `writer` for the org, at the gateway."""
    key = fleet.celery("keys", "create", "--org", org, "--role", "writer", "--name", "demo", secret_answer=True)["key"]
    return HttpDoor(fleet.addresses.gateway, str(key))


def employ_agent(fleet: Fleet, door: HttpDoor, *, org: str, email: str, account_id: str) -> None:
    """Save the agent's profile, turn agents on for the mailbox, and have rules send mail to it."""
    fleet.celery("agents", "add", AGENT, "--org", org, "--profile", json.dumps(PROFILE))
    fleet.celery("accounts", "set", email, "--agent-enabled", "--send-allowed")
    door.post(f"/v1/rules?account_id={account_id}", {"rules": list(RULES)})


def save_workflow(fleet: Fleet, *, org: str) -> None:
    """Save the workflow of the second act, and the profile of the agent that works in it."""
    fleet.celery("agents", "add", daily_brief.PROFILE_NAME, "--org", org, "--profile", json.dumps(daily_brief.PROFILE))
    fleet.celery("workflows", "save", str(daily_brief.DEFINITION), "--org", org)


def ask_on_discord(fleet: Fleet, *, org: str, owner: str) -> None:
    """Say in which channel the org is asked, and who its owner is on Discord."""
    fleet.celery("approvals", "channel", "--org", org, "--channel-id", CHANNEL)
    fleet.celery("users", "set", owner, "--org", org, "--discord-user-id", APPROVER)


def choose_sender(fleet: Fleet, *, org: str) -> None:
    """Let the org's own e-mail leave by Resend, with a key that the emulator takes."""
    fleet.celery("secrets", "set", SENDER, "--org", org, typed=RESEND_KEY)
    fleet.celery(
        "senders", "set", "--org", org, "--provider", SENDER, "--from-address", SENDER_ADDRESS, "--secret-name", SENDER
    )


def make_label(gmail_url: str, access_token: str, name: str) -> None:
    """Make a label of the person's own, over the API that their mail program uses."""
    request = urllib.request.Request(  # noqa: S310  # the local emulator
        f"{gmail_url}/gmail/v1/users/me/labels",
        json.dumps({"name": name}).encode(),
        {"Authorization": f"Bearer {access_token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  # as above
        answer.read()
