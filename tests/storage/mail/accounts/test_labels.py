"""Labels: ids are stored, user fields kept, and rules that name a vanished label are disabled with the reason."""

from typing import Any

from domain.mail.correspondence import LabelRole
from domain.mail.mailbox import MailboxLabel
from domain.mail.rule_language.rules import parse_rule
from storage.mail.accounts import labels
from storage.mail.rules import kept_rules, rules
from storage.mail.rules.rules import Reach
from storage.postgres.database import Database
from tests.doubles.mail_factories import add_in_words, make_account

INBOX = MailboxLabel("INBOX", "INBOX", "system")
DONE = MailboxLabel("Label_1", "Postroom/Done", "user")
WORK = MailboxLabel("Label_2", "Work", "user")


def rule_naming(*label_ids: str, in_condition: bool = False) -> dict[str, Any]:
    condition = {"label": label_ids[0]} if in_condition else {"label": "INBOX"}
    named = [] if in_condition else list(label_ids)
    actions: list[Any] = [{"apply_label": one} for one in named] or ["archive"]
    return {"rule_id": "x", "name": "a rule", "when": condition, "then": {"actions": actions}}


def test_a_sync_keeps_what_the_user_said(store: Database) -> None:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        labels.sync(tx, account.account_id, [INBOX, DONE, WORK])
        assert labels.assign_role(tx, account.account_id, "Label_1", LabelRole.DONE)
        assert labels.describe(tx, account.account_id, "Label_2", description="from work", for_classifier=True)
        renamed = MailboxLabel("Label_2", "Office", "user")
        found = labels.sync(tx, account.account_id, [INBOX, DONE, renamed])
        stored = {one.label.label_id: one for one in labels.list_all(tx, account.account_id)}
        by_role = labels.ids_by_role(tx, account.account_id)
        by_id = labels.roles_by_id(tx, account.account_id)
    assert (found.vanished, found.disabled_rules) == (frozenset(), frozenset())
    assert stored["Label_2"] == labels.StoredLabel(renamed, None, "from work", for_classifier=True)
    assert (by_role, by_id) == ({LabelRole.DONE: "Label_1"}, {"Label_1": LabelRole.DONE})


def test_a_vanished_label_disables_the_rules_that_name_it(store: Database) -> None:
    account, other = make_account(store), make_account(store, email="you@example.com")
    with store.tenant(account.org_id) as tx:
        for one in (account, other):
            labels.sync(tx, one.account_id, [INBOX, DONE, WORK])
        org = account.org_id
        in_action = rules.add(tx, org, parse_rule(rule_naming("Label_2")), account_id=account.account_id)
        condition = parse_rule(rule_naming("Label_2", in_condition=True))
        in_condition = rules.add(tx, org, condition)
        elsewhere = rules.add(tx, org, parse_rule(rule_naming("Label_2")), account_id=other.account_id)
        unrelated = rules.add(tx, org, parse_rule(rule_naming("Label_1")), account_id=account.account_id)
        in_words = add_in_words(tx, org, Reach(), name="w", content="work mail", label_ids=("Label_2",))
        found = labels.sync(tx, account.account_id, [INBOX, DONE])
        again = labels.sync(tx, account.account_id, [INBOX, DONE])
        stored = kept_rules.listed(tx, org, account_id=account.account_id)
        others = rules.of_account(tx, other.account_id).answer.rules
    assert found.vanished == {"Label_2"}
    assert found.disabled_rules == {in_action, in_condition, in_words}
    assert (again.vanished, again.disabled_rules) == (frozenset(), frozenset())
    reasons = {rule.rule_id: rule.disabled_reason for rule in stored}
    assert {reasons[made] for made in (in_action, in_condition, in_words)} == {"Label 'Work' was deleted from Gmail"}
    assert reasons[unrelated] is None
    assert [rule.rule_id for rule in others] == [str(elsewhere)]


def test_a_label_made_again_inherits_and_translates(store: Database) -> None:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        labels.sync(tx, account.account_id, [INBOX, DONE, WORK])
        labels.assign_role(tx, account.account_id, "Label_1", LabelRole.DONE)
        labels.describe(tx, account.account_id, "Label_1", description="finished", for_classifier=True)
        labels.sync(tx, account.account_id, [INBOX])
        assert labels.ids_by_role(tx, account.account_id) == {}
        assert labels.translate(tx, account.account_id, ["Label_1", "INBOX"]) == {"Label_1": None, "INBOX": "INBOX"}
        again = MailboxLabel("Label_9", "postroom/done", "user")
        labels.add(tx, account.account_id, [again])
        assert labels.ids_by_role(tx, account.account_id) == {LabelRole.DONE: "Label_9"}
        assert labels.translate(tx, account.account_id, ["Label_1", "nowhere"]) == {"Label_1": "Label_9"}
        made = next(one for one in labels.list_all(tx, account.account_id) if one.label.label_id == "Label_9")
    assert (made.description, made.for_classifier) == ("finished", True)


def test_a_label_that_comes_back_under_its_id_does_not_take_a_role_twice(store: Database) -> None:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        labels.sync(tx, account.account_id, [DONE])
        labels.assign_role(tx, account.account_id, "Label_1", LabelRole.DONE)
        labels.sync(tx, account.account_id, [WORK])
        labels.assign_role(tx, account.account_id, "Label_2", LabelRole.DONE)
        labels.sync(tx, account.account_id, [DONE, WORK])
        assert labels.ids_by_role(tx, account.account_id) == {LabelRole.DONE: "Label_2"}


def test_a_role_belongs_to_one_live_label(store: Database) -> None:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        labels.sync(tx, account.account_id, [DONE, WORK])
        for label_id in ("Label_1", "Label_2"):
            assert labels.assign_role(tx, account.account_id, label_id, LabelRole.OUTBOX)
        assert labels.ids_by_role(tx, account.account_id) == {LabelRole.OUTBOX: "Label_2"}
        assert not labels.assign_role(tx, account.account_id, "nowhere", LabelRole.DONE)
