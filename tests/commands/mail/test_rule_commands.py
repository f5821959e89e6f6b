"""Rules from the command line: written in a file, tried on past mail, seen and mended."""

from pathlib import Path
from typing import Any

import pytest
from psycopg import Connection

from commands.mail.rules import rules
from domain.documents.yaml_source import LONGEST_SOURCE
from domain.mail.mailbox import MailboxLabel
from storage.mail.accounts import labels
from storage.mail.accounts.accounts import Account
from storage.postgres.database import Database
from tests.commands.calling import answer, call, refusal
from tests.doubles.mail_factories import make_account, store_message

pytestmark = pytest.mark.usefixtures("process")

FILE = """\
rules:
  - name: Lunch
    when:
      from: ada@example.org
    then:
      class: fyi
      actions:
        - apply_label: Friends
        - delete
  - name: Boss
    tell: Mail of my boss needs an answer.
    for: {sender: boss@example.com}
"""


@pytest.fixture
def account(store: Database) -> Account:
    """A mailbox with a message of Ada's and a label."""
    account = make_account(store)
    store_message(store, account)
    sync(store, account, "Friends")
    return account


def sync(store: Database, account: Account, *names: str) -> None:
    with store.tenant(account.org_id) as tx:
        labels.sync(tx, account.account_id, [MailboxLabel(f"Label_{name}", name, "user") for name in names])


def add(account: Account, text: str = FILE) -> list[Any]:
    made: list[Any] = answer(rules, "add", "-", "--account", account.email, "--as", "ada", typed=text)
    return made


def test_rules_of_a_file_are_saved_with_label_ids_and_audited(account: Account, database: Connection) -> None:
    made = add(account)
    assert [one["name"] for one in made] == ["Lunch", "Boss"]
    listed = answer(rules, "list", "--account", account.account_id)
    assert [(one["name"], one["kind"], one["enabled"]) for one in listed] == [
        ("Lunch", "when", True),
        ("Boss", "tell", True),
    ]
    shown = answer(rules, "show", made[0]["rule_id"])
    assert shown["rule"]["then"]["actions"] == [{"apply_label": "Label_Friends"}, "delete"]
    row = database.execute("select actor_id, org_id from audit_log where event = 'rules.added'").fetchone()
    assert row == ("operator:ada", account.org_id)


def test_a_shown_rule_can_be_given_back(account: Account) -> None:
    rule_id = add(account)[0]["rule_id"]
    text = call(rules, "show", rule_id).stdout
    changed = text.replace("name: Lunch", "name: Dinner")
    assert answer(rules, "replace", rule_id, "-", typed=changed)["name"] == "Dinner"
    assert call(rules, "show", rule_id).stdout == changed


def test_a_file_with_mistakes_saves_nothing_and_names_each(account: Account, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(FILE.replace("from:", "form:").replace("Friends", "Foes"))
    told = refusal(rules, "add", file, "--account", account.email)
    assert f"{file}:4:7: rules[0].when.form: " in told
    assert f"{file}:8:24: rules[0].then.actions[0].apply_label: " in told
    assert answer(rules, "list", "--account", account.email) == []


def test_a_file_of_ten_megabytes_is_refused_with_its_limit(account: Account, tmp_path: Path) -> None:
    file = tmp_path / "big.yaml"
    file.write_bytes(b"# x\n" * 2_621_440)
    assert f"is longer than {LONGEST_SOURCE} bytes" in refusal(rules, "add", file, "--account", account.email)


def test_an_unsaved_rule_is_tried_on_past_mail(account: Account, tmp_path: Path, database: Connection) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(FILE.partition("  - name: Boss")[0])
    (tried,) = answer(rules, "test", "--file", file, "--account", account.email)
    assert (tried["rule"], tried["examined"], tried["matched"]) == ("Lunch", 1, 1)
    (message,) = tried["messages"]
    verdicts = [(one["kind"], one["status"]) for one in message["actions"]]
    assert verdicts == [("apply_label", "queued"), ("delete", "approved_pending")]
    shown = call(rules, "test", "--file", file, "--account", account.email).stdout
    assert "Lunch: matches 1 of" in shown
    assert "delete is dangerous" in shown
    assert database.execute("select count(*) from rules").fetchone() == (0,)


def test_a_saved_rule_is_tried_and_says_why_it_does_not_match(account: Account) -> None:
    rule_id = add(account, FILE.replace("ada@", "bob@"))[0]["rule_id"]
    shown = call(rules, "test", rule_id, "--account", account.email, "--all").stdout
    assert "matches 0 of the last 1" in shown
    assert 'when: {"from": "bob@example.org"}' in shown


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("test", "--account", "me@example.com"), "give the id of a saved rule, or --file"),
        (("add", "-"), "give one mailbox, or a whole org with --org"),
        (("add", "-", "--account", "nobody@example.com"), "there is no account nobody@example.com"),
        (("show", "00000000-0000-0000-0000-000000000000"), "there is no rule"),
        (("test", "--file", "-", "--account", "me@example.com"), "only rules with when can be tried"),
    ],
)
def test_what_cannot_be_done_is_said(account: Account, words: tuple[str, ...], reason: str) -> None:
    assert account.email == "me@example.com"
    assert reason in refusal(rules, *words, typed=FILE)


def test_a_rule_is_turned_off_and_on_and_removed(account: Account, database: Connection) -> None:
    rule_id = add(account)[0]["rule_id"]
    off = answer(rules, "disable", rule_id, "--reason", "too eager")
    assert (off["enabled"], off["why_off"]) == (False, "too eager")
    assert [one["rule_id"] for one in answer(rules, "list", "--account", account.email, "--off")] == [rule_id]
    assert answer(rules, "enable", rule_id)["enabled"]
    assert answer(rules, "remove", rule_id)["rule_id"] == rule_id
    assert "there is no rule" in refusal(rules, "remove", rule_id)
    events = database.execute("select event from audit_log where event like 'rule.%' order by id").fetchall()
    assert [one for (one,) in events] == ["rule.disabled", "rule.enabled", "rule.removed"]


def test_a_rule_whose_label_vanished_is_seen_and_not_turned_on(account: Account, store: Database) -> None:
    rule_id = add(account)[0]["rule_id"]
    sync(store, account, "Others")
    (off,) = answer(rules, "list", "--account", account.email, "--off")
    assert off["why_off"] == "Label 'Friends' was deleted from Gmail"
    assert "# off: Label 'Friends' was deleted" in call(rules, "show", rule_id).stdout
    assert "'Friends'" in refusal(rules, "enable", rule_id)


def test_a_rule_of_the_whole_org(account: Account) -> None:
    text = "name: All\nwhen: {subject: lunch}\nthen: {class: fyi}\n"
    answer(rules, "add", "-", "--org", "an org", typed=text)
    assert [one["account_id"] for one in answer(rules, "list", "--account", account.email)] == [None]
