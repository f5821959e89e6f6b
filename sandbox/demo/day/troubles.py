"""What goes wrong on a day, each as a step: mail arrives in the middle of it, and nothing of it is lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from sandbox.demo.day.cast import Person
from sandbox.demo.evidence import Ledger
from sandbox.demo.letters import Letter
from sandbox.demo.steps.approval import ForwardApproved
from sandbox.demo.steps.step import Mark, Proof, Stage, Step
from sandbox.emulator.control import FaultOrder, JournalledCall, MessagePlace

OK = 200
QUOTA_STATUSES = (429, 403)
"""The answers with which Gmail refuses a call that is one too many (docs: gmail.md#quotas)."""


class Mail(Protocol):
    """A message that can arrive."""

    @property
    def name(self) -> str:
        """What the story calls it."""
        ...

    def raw(self, owner: str) -> bytes:
        """Its bytes, addressed to the owner."""
        ...


@dataclass(frozen=True, slots=True)
class WatchLapses(Step):
    """The week of the watch is over; mail arrives; the periodic sync finds it, and the watch is set anew."""

    person: Person
    mails: Sequence[Mail]
    title: ClassVar[str] = "a watch lapses"
    expected: ClassVar[str] = "no push, all decided, watch set anew"

    @property
    def targets(self) -> tuple[str, ...]:
        """The mail that no push tells of."""
        return tuple(mail.name for mail in self.mails)

    def play(self, stage: Stage) -> Mark:
        """Let the watch lapse and mail arrive, and order what beat orders every 15 minutes and every day."""
        since, lapsed_at = last_call(stage), stage.mailbox.lapse_watch()
        for mail in self.mails:
            stage.deliver(mail.name, mail.raw(self.person.email))
        self._order(stage, "gmail.sync", reason="fallback")
        stage.wait(lambda ledger: undecided(ledger, stage.places, self.targets))
        # A push of an earlier change may still be on its way.
        told = [one.summary["history_id"] or 0 for one in stage.gmail.journal("push.deliver", self.person.email)]
        self._order(stage, "gmail.renew_watch")
        return {"since": since, "pushes": sum(history_id > lapsed_at for history_id in told)}

    def found(self, proof: Proof) -> str:
        """Pushes by the journal, decisions by the database, the new watch by the journal."""
        renewed = [
            call
            for call in since_of(proof)
            if call.operation == "watch" and call.account == self.person.email and call.status == OK
        ]
        pushes = proof.mark["pushes"]
        watch = "watch set anew" if renewed else "no new watch"
        return f"{'no push' if not pushes else f'{pushes} pushes'}, {decided(proof, self.targets)}, {watch}"

    @staticmethod
    def _order(stage: Stage, job_type: str, **fields: str) -> None:
        stage.door.post("/v1/jobs", {"job_type": job_type, "payload": {"account_id": stage.account_id, **fields}})


@dataclass(frozen=True, slots=True)
class ConsentRevoked(Step):
    """The owner withdraws the consent; mail arrives; the owner consents again."""

    person: Person
    mails: Sequence[Mail]
    title: ClassVar[str] = "a consent is revoked"
    expected: ClassVar[str] = "noticed once, nothing read meanwhile, account active, all decided"

    @property
    def targets(self) -> tuple[str, ...]:
        """The mail that nobody may read meanwhile."""
        return tuple(mail.name for mail in self.mails)

    def play(self, stage: Stage) -> Mark:
        """Revoke, let mail arrive, wait until the account is parked and the fleet at rest, consent again."""
        since = last_call(stage)
        stage.mailbox.revoke()
        for mail in self.mails:
            stage.deliver(mail.name, mail.raw(self.person.email))
        stage.wait(self._not_parked)
        calls = [one for one in stage.gmail.journal(account=self.person.email) if one.sequence > since]
        read = [one for one in calls if one.operation == "messages.get" and one.status == OK]
        access, refresh = f"{self.person.access_token}-2", f"{self.person.refresh_token}-2"
        stage.mailbox.consent(access, refresh)
        stage.connect(access, refresh)
        return {"read": len(read)}

    def found(self, proof: Proof) -> str:
        """The account's row, the audit log, and Gmail's journal."""
        row = next(one for one in proof.ledger.accounts if one.email == self.person.email)
        times = {0: "never noticed", 1: "noticed once"}.get(row.consents_lost, f"noticed {row.consents_lost} times")
        read = f"{proof.mark['read']} messages" if proof.mark["read"] else "nothing"
        return f"{times}, {read} read meanwhile, account {row.status}, {decided(proof, self.targets)}"

    def _not_parked(self, ledger: Ledger) -> str:
        status = next(one.status for one in ledger.accounts if one.email == self.person.email)
        return "" if status == "needs_reconsent" else f"the fleet's notice that {self.person.name}'s consent is gone"


@dataclass(frozen=True, slots=True)
class QuotaErrors(Step):
    """Gmail refuses calls because there are too many of them."""

    person: Person
    mails: Sequence[Mail]
    title: ClassVar[str] = "quota errors"
    expected: ClassVar[str] = "refused with 403 and 429, all decided"

    @property
    def targets(self) -> tuple[str, ...]:
        """The mail that arrives meanwhile."""
        return tuple(mail.name for mail in self.mails)

    def play(self, stage: Stage) -> Mark:
        """Order both refusals that Gmail knows, and let mail arrive.

        A 429 says when to come back, here in half a minute; a 403 does not, and closes the account's gate for a minute.
        """
        since, here = last_call(stage), self.person.email
        for status in QUOTA_STATUSES:
            refusal = FaultOrder(operation="messages.get", account=here, status=status, reason="rateLimitExceeded")
            stage.gmail.order(refusal)
        for mail in self.mails:
            stage.deliver(mail.name, mail.raw(self.person.email))
        return {"since": since}

    def found(self, proof: Proof) -> str:
        """The refused calls by the journal."""
        here = [call for call in since_of(proof) if call.account == self.person.email]
        refused = sorted(
            call.status or 0 for call in here if call.fault is not None and call.operation == "messages.get"
        )
        met = " and ".join(map(str, refused)) or "nothing"
        return f"refused with {met}, {decided(proof, self.targets)}"


@dataclass(frozen=True, slots=True)
class LostAnswers(Step):
    """Gmail makes the drafts, and the answers never arrive."""

    person: Person
    letters: Sequence[Letter]
    title: ClassVar[str] = "answers are lost"
    expected: ClassVar[str] = "each answer lost, all decided, 1 draft in each thread"

    @property
    def targets(self) -> tuple[str, ...]:
        """Letters that want an answer."""
        return tuple(letter.name for letter in self.letters)

    def play(self, stage: Stage) -> Mark:
        """Order that the connection breaks after the call was executed, and let the letters arrive."""
        since = last_call(stage)
        stage.gmail.order(
            FaultOrder(operation="drafts.create", account=self.person.email, drop="after", times=len(self.letters))
        )
        for letter in self.letters:
            stage.deliver(letter.name, letter.raw(self.person.email))
        return {"since": since, "threads": [stage.places[letter.name].thread_id for letter in self.letters]}

    def found(self, proof: Proof) -> str:
        """Lost answers by the journal, drafts by the mailbox."""
        calls = [call for call in since_of(proof) if call.operation == "drafts.create" and _was_lost(call)]
        drafts = {len(proof.drafts(thread_id)) for thread_id in proof.mark["threads"]}
        lost = "each answer lost" if len(calls) == len(self.letters) else f"{len(calls)} answers lost"
        each = "1 draft in each thread" if drafts == {1} else f"drafts in a thread: {sorted(drafts)}"
        return f"{lost}, {decided(proof, self.targets)}, {each}"


@dataclass(frozen=True, slots=True)
class LostForward(ForwardApproved):
    """Gmail sends the forward that was approved, and the answer never arrives."""

    title: ClassVar[str] = "the answer to a send is lost"
    expected: ClassVar[str] = f"answer lost, {ForwardApproved.expected}"

    def play(self, stage: Stage) -> Mark:
        """Order that the connection breaks after the send, and have the forward approved."""
        since = last_call(stage)
        stage.gmail.order(FaultOrder(operation="drafts.send", account=stage.mailbox.email, drop="after"))
        return {"since": since, **ForwardApproved.play(self, stage)}

    def found(self, proof: Proof) -> str:
        """The lost answer by the journal; the rest as where it is not lost."""
        here = [call for call in since_of(proof) if call.account == proof.outside.mailbox.email]
        lost = sum(call.operation == "drafts.send" and _was_lost(call) for call in here)
        said = {0: "no answer lost", 1: "answer lost"}.get(lost, f"{lost} answers lost")
        return f"{said}, {ForwardApproved.found(self, proof)}"


def decided(proof: Proof, names: Sequence[str]) -> str:
    """`all decided`, or how many of the named messages have a decision."""
    wanted = {proof.places[name].message_id for name in names}
    done = {one.message_id for one in proof.ledger.messages if one.classification is not None} & wanted
    return "all decided" if done == wanted else f"{len(done)} of {len(wanted)} decided"


def undecided(ledger: Ledger, places: Mapping[str, MessagePlace], names: Sequence[str]) -> str:
    """How many of the named messages have no decision yet, to complete "still missing: …"."""
    wanted = {places[name].message_id for name in names}
    open_ones = wanted - {one.message_id for one in ledger.messages if one.classification is not None}
    return f"decisions about {len(open_ones)} messages" if open_ones else ""


def last_call(stage: Stage) -> int:
    """The number of the newest call in Gmail's journal."""
    return max((call.sequence for call in stage.gmail.journal()), default=0)


def since_of(proof: Proof) -> list[JournalledCall]:
    """Gmail's calls since the step began."""
    return [call for call in proof.outside.gmail_calls if call.sequence > proof.mark["since"]]


def _was_lost(call: JournalledCall) -> bool:
    """Whether Gmail carried the call out and gave no answer."""
    return call.fault is not None and call.fault.get("drop") == "after"
