"""The systems: the same folders in each room, and what each of them knows of another."""

from collections import defaultdict
from collections.abc import Sequence

import pytest

from tests.house.reading import ROOT, Module, belongs, read_house
from tests.house.test_rooms import longest_known

SYSTEMS = ("jobs", "orgs", "mail", "models", "notifications", "approvals", "workflows", "planning")
"""The first is under all others; `CORE_KNOWS` lists what its ledger and the engine import of them."""

GROUND = {
    "domain": {"documents", "payloads"},
    "storage": {"postgres", "migrations", "functions"},
    "tasks": set(),
    "operations": set(),
}
"""Folders of a room that are no system's: what all of them are built on."""

EVERYBODY_KNOWS = ("jobs", "orgs")

KNOWS: dict[tuple[str, str], set[str]] = {
    ("approvals", "mail"): {
        "domain.mail.actions.kinds",
        "domain.mail.actions.status",
        "domain.mail.triage.classification",
        "operations.mail.actions",
        "storage.mail.accounts.accounts",
        "storage.mail.actions.actions",
        "storage.mail.decisions",
        "storage.mail.messages",
    },
    ("approvals", "notifications"): {
        "domain.notifications.built_in",
        "storage.notifications.notifications",
    },
    ("approvals", "workflows"): {
        "domain.workflows.joins",
        "storage.workflows.waits",
    },
    ("jobs", "approvals"): {
        "storage.approvals.doubts",
    },
    ("jobs", "mail"): {
        "operations.mail.accounts",
        "storage.mail.accounts.accounts",
        "storage.mail.actions.actions",
        "tasks.mail.steps.each_account",
        "tasks.mail.steps.mailbox_session",
        "tasks.mail.steps.push_watch",
    },
    ("jobs", "models"): {
        "storage.models.money.model_calls",
        "storage.models.money.spending",
    },
    ("jobs", "notifications"): {
        "domain.notifications.alerts.alert",
        "domain.notifications.alerts.due",
        "domain.notifications.built_in",
        "storage.notifications.alerts",
        "storage.notifications.notifications",
        "storage.notifications.reminders",
        "tasks.notifications.senders.email_sending",
    },
    ("jobs", "orgs"): {
        "domain.orgs.access.api_keys",
        "domain.orgs.access.operators",
        "domain.orgs.access.users",
        "domain.orgs.privacy.redaction",
        "domain.orgs.privacy.secrets",
        "storage.orgs.access.users",
        "storage.orgs.orgs",
        "storage.orgs.secrets.other_keys",
        "storage.orgs.secrets.sealing",
    },
    ("jobs", "planning"): {
        "domain.planning.audit.rules",
        "tasks.planning.files.removing",
    },
    ("mail", "approvals"): {
        "storage.approvals.approvals",
    },
    ("mail", "models"): {
        "domain.models.agents.routing",
        "domain.models.money",
        "storage.models.agents.standing",
    },
    ("mail", "notifications"): {
        "domain.notifications.alerts.alert",
        "tasks.notifications.senders.drafted_mail",
    },
    ("mail", "planning"): {
        "operations.planning.exchange.attached_files",
        "tasks.planning.files.artifact_files",
    },
    ("models", "mail"): {
        "domain.mail.actions.action",
        "domain.mail.actions.kinds",
        "domain.mail.actions.requested_action",
        "domain.mail.actions.status",
        "domain.mail.correspondence",
        "domain.mail.invalid_fields",
        "domain.mail.mail_fence",
        "domain.mail.mailbox",
        "domain.mail.outgoing.send_orders",
        "domain.mail.outgoing.senders",
        "domain.mail.parsing.parsed_message",
        "domain.mail.replies.draft_fingerprint",
        "domain.mail.replies.drafting",
        "domain.mail.replies.plain_reply",
        "domain.mail.replies.replies",
        "domain.mail.thread_plan",
        "domain.mail.tool_schema",
        "domain.mail.triage.automation",
        "domain.mail.triage.classification",
        "domain.mail.triage.prompts",
        "domain.mail.triage.safety",
        "operations.mail.accounts",
        "storage.mail.accounts.accounts",
        "storage.mail.accounts.labels",
        "storage.mail.decisions",
        "storage.mail.emails",
        "storage.mail.messages",
        "storage.mail.rules.rules",
        "storage.mail.rules.safety",
        "tasks.mail.steps.action_orders",
        "tasks.mail.steps.drafts.case",
        "tasks.mail.steps.drafts.machine_drafts",
        "tasks.mail.steps.drafts.thread_draft",
        "tasks.mail.steps.language_model",
        "tasks.mail.steps.mailbox_change",
        "tasks.mail.steps.mailbox_session",
    },
    ("models", "notifications"): {
        "domain.notifications.built_in",
        "storage.notifications.notifications",
    },
    ("notifications", "approvals"): {
        "domain.approvals.links",
        "storage.approvals.doubts",
    },
    ("notifications", "mail"): {
        "domain.mail.outgoing.outgoing_mail",
        "domain.mail.parsing.html_text",
    },
    ("notifications", "planning"): {
        "domain.planning.files.artifacts",
        "operations.planning.exchange.attached_files",
        "storage.planning.artifacts",
        "tasks.planning.files.artifact_files",
    },
    ("orgs", "planning"): {
        "storage.planning.artifacts",
    },
    ("planning", "mail"): {
        "domain.mail.actions.action_files",
    },
    ("planning", "notifications"): {
        "domain.notifications.built_in",
        "storage.notifications.notifications",
    },
    ("workflows", "approvals"): {
        "storage.approvals.approvals",
    },
}
"""Which modules of another system a system imports, beside payloads. The list may only get shorter."""

CORE = ("domain.jobs", "storage.jobs", "engine")
"""How jobs are kept and run: what Postroom would be if it sent no mail."""
CORE_KNOWS = {
    "domain.orgs.privacy.redaction": "no secret gets into an error or an audit entry",
    "storage.orgs.secrets.other_keys": "whether the sealing key is the fleet's",
    "storage.orgs.secrets.sealing": "what the settings' key seals",
    "storage.models.money.model_calls": "a call of a model is paid by the job that makes it",
    "storage.models.money.spending": "the same",
}
"""What the core imports of systems, and why."""

House = Sequence[Module]


@pytest.fixture(scope="module")
def house() -> House:
    return read_house()


def system_of(name: str) -> str | None:
    """The system of a module; of the engine, which runs jobs, theirs. None for what is no system's."""
    room, _, rest = name.partition(".")
    folder = rest.partition(".")[0]
    if room == "engine":
        return "jobs"
    return folder if room in GROUND and folder in SYSTEMS else None


def known(house: House) -> dict[tuple[str, str], set[str]]:
    """By system and other system, the other's modules that the system imports."""
    names = {module.name.removesuffix(".__init__"): module for module in house}
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for module in house:
        own = system_of(module.name)
        targets = {longest_known(imported.target, names) for imported in module.imports()}
        for target in targets:
            other = system_of(target)
            if own and other and other != own and (own == "jobs" or other not in EVERYBODY_KNOWS):
                found[own, other].add(target)
    return dict(found)


@pytest.mark.parametrize("room", GROUND)
def test_each_room_has_the_same_systems(room: str) -> None:
    files = [path for kind in ("py", "sql") for path in (ROOT / room).rglob(f"*/*.{kind}")]
    folders = {path.relative_to(ROOT / room).parts[0] for path in files if path.parent != ROOT / room}
    assert folders == {*SYSTEMS, *GROUND[room]}


@pytest.mark.parametrize("room", GROUND)
def test_the_tests_of_a_room_have_the_folders_of_its_systems(room: str) -> None:
    folders = {path.relative_to(ROOT / "tests" / room).parts[0] for path in (ROOT / "tests" / room).rglob("*/*.py")}
    assert folders <= {*SYSTEMS, *GROUND[room]}


def test_a_system_knows_of_another_what_is_listed(house: House) -> None:
    assert known(house) == KNOWS


def test_the_core_knows_no_system_but_for_a_reason(house: House) -> None:
    core = [module for module in house if belongs(module.name, CORE)]
    names = {module.name.removesuffix(".__init__"): module for module in house}
    targets = {longest_known(found.target, names) for module in core for found in module.imports()}
    assert {target for target in targets if system_of(target) not in {None, "jobs"}} == set(CORE_KNOWS)


def test_another_system_s_module_is_found() -> None:
    two = [Module("storage.planning.a", "from storage.mail.b import x"), Module("storage.mail.b", "")]
    assert known(two) == {("planning", "mail"): {"storage.mail.b"}}


def test_the_engine_is_of_the_jobs() -> None:
    two = [Module("engine.a", "from storage.orgs.b import x"), Module("storage.orgs.b", "")]
    assert known(two) == {("jobs", "orgs"): {"storage.orgs.b"}}
