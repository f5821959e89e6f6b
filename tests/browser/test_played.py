"""An operator's day at the console, played twice on a running fleet: by mouse, and by the keyboard alone."""

import re
from collections.abc import Callable, Mapping
from uuid import UUID

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import ADDRESSES, MANY, OpenPage
from tests.browser.hands import Hand, Keys, Mouse
from tests.browser.stand import PASSWORD, Stand
from tests.browser.troubles import FORWARD_TO, Troubles
from tests.waiting import eventually

HANDS: Mapping[str, Callable[[Page], Hand]] = {"mouse": Mouse, "keys": Keys}
MAIN = "main form.deed button.main"
SUCCEEDED = "h1 .badge.good, .standing .badge.good"


class Player:
    """A person at the console."""

    def __init__(self, page: Page, hand: Hand, stand: Stand, found: Troubles) -> None:
        self.page, self.hand, self.stand, self.found = page, hand, stand, found

    def link(self, path: str, **named: object) -> Locator:
        """The link of the page to an address with these words."""
        words = "".join(f'[href*="{name}={value}"]' for name, value in named.items())
        return self.page.locator(f'main a[href*="/console/{path}?"]{words}').first

    def go(self, letter: str) -> None:
        """Open a page of the navigation, and choose the org where it is of one org alone."""
        self.hand.go(letter)
        expect(self.page.locator(f'nav a[data-key="{letter}"][aria-current]')).to_have_count(1)
        if (choice := self.page.locator(f'.orgs a[href*="{self.stand.org_id}"]')).count():
            self.hand.press(choice)
            expect(self.page.locator(".orgs a")).to_have_count(0)

    def open(self, path: str, **named: object) -> None:
        """Open what a link leads to, and wait for that: its address may begin as that of the page before it."""
        self.hand.press(self.link(path, **named))
        words = [f"/console/{path}?", *(f"{name}={value}" for name, value in named.items())]
        self.page.wait_for_url(lambda url: all(word in url for word in words))

    def do(self, **typed: str) -> None:
        """Fill the form of the page in, send it, and confirm it where that is asked for."""
        for name, text in typed.items():
            self.hand.write(self.page.locator(f'main form.deed [name="{name}"]:visible'), text)
        was_asked = self.page.locator("main form.deed input[name=confirmed]").count()
        self.hand.press(self.page.locator(MAIN).first)
        if not was_asked:
            confirmed = self.page.locator("main form.deed:has(input[name=confirmed])")
            expect(confirmed).to_have_count(1)
            self.hand.press(confirmed.locator("button.main"))
        expect(self.page.locator("main input[name=confirmed]")).to_have_count(0)

    def sign_in(self, email: str) -> None:
        """Give address and password; the page that was asked for is shown."""
        self.page.goto(self.stand.console)
        self.hand.write(self.page.locator("main [name=email]"), email)
        self.hand.write(self.page.locator("main [name=password]"), PASSWORD)
        self.hand.press(self.page.locator("main button.main"))
        expect(self.page.locator("nav a[aria-current=page]")).not_to_have_count(0)
        self.page.wait_for_load_state()  # keys are heard by a script

    def mend_the_letter(self) -> None:
        """See the dead letter, what a replay would do, and the difference; let it run, and see it succeed."""
        found, page = self.found, self.page
        self.go("d")
        self.open("deadletters/show", letter_id=found.letter_id)
        expect(page.locator("main h2")).not_to_have_count(0)
        expect(page.locator("main .what-happens.danger code")).not_to_be_empty()
        self.open("jobs/mend", job_id=found.job_id)
        self.hand.write(page.locator('[name="field.thread_id"]'), found.other_thread)
        self.hand.press(page.locator(MAIN))
        expect(page.locator("main .diff ins")).to_have_count(1)
        expect(page.locator("main h2")).to_have_count(2)  # what changes, and what the job would do
        self.stand.let_go()
        self.stand.hold_up(found.other_thread)
        self.do()
        expect(page.locator("#live[data-watch]")).to_have_count(1)
        page.evaluate("window.isTheSame = true")
        self.stand.let_go()
        expect(page.locator(SUCCEEDED)).to_have_count(1)
        assert page.evaluate("window.isTheSame")
        replayed = "select replay_job_id from dead_letters where id = %s and state = 'replayed'"
        again = self.stand.ask(replayed, UUID(found.letter_id))
        job = "select payload ->> 'thread_id' from jobs where id = %s and state = 'succeeded' and replay_of = %s"
        assert self.stand.ask(job, again, UUID(found.job_id)) == found.other_thread

    def approve_the_action(self) -> None:
        self.go("a")
        self.open("approvals/show", approval_id=self.found.approval_id)
        self.do(reason="the colleague has asked for it")
        done = "select state = 'done' and approver is not null from actions where id = %s"
        self.stand.wait("the forward to be done", done, UUID(self.found.approval_id))
        sent = self.stand.mailbox.state().labelled("SENT")
        assert any(FORWARD_TO in one["recipients"] for one in sent)

    def close_a_queue(self) -> None:
        """See what closing it would keep back, close it, see it grow, and open it."""
        page, queue = self.page, "exports"
        self.go("q")
        self.open("workers/close", queue=queue)
        expect(page.locator("main .what-happens.danger b")).to_have_count(2)
        self.do(reason="a look at the printer")
        closed = "select count(*) from gates where scope = 'queue' and key = %s"
        assert self.stand.ask(closed, queue) == 1
        jobs = [
            self.stand.enqueue("exports.project_plan", project_id=self.stand.org_id, format="csv", paper=one)
            for one in ("a4", "a3")
        ]
        self.go("q")
        row = page.locator("main tr", has=page.locator(f'a[href*="queue={queue}"]'))
        eventually(lambda: self._parked(row) >= len(jobs), within=90, describe="the closed queue to grow")
        self.go("q")
        self.hand.press(page.locator('main a[href$="/console/gates"]'))
        self.hand.press(page.locator('main .steps a[href*="/console/gates/open"]'))
        self.do(scope="queue", key=queue)
        opened = "select not exists (select from gates where scope = 'queue' and key = %s)"
        self.stand.wait("the queue to be open", opened, queue)
        for one in jobs:
            self.stand.wait("a job to run", "select finished_at is not null from jobs where id = %s", UUID(one))

    def _parked(self, row: Locator) -> int:
        self.page.reload()
        return int(row.locator('[data-label="parked"]').inner_text())

    def replay_many(self) -> None:
        """Replay all letters of one error, abort it, let it go on, and abort it again: nobody waits for 5,000."""
        page, code = self.page, self.found.code
        self.go("d")
        self.open("deadletters", error_code=code)
        self.hand.press(page.locator("#bulk button[value=replay]"))
        number = self.stand.ask("select count(*) from dead_letters where error ->> 'code' = %s", code)
        assert number == MANY
        self.do(reason="Gmail answers again", confirm=str(number))
        page.wait_for_url("**bulk_id=**")
        bulk_id = re.search(r"bulk_id=([0-9a-f-]{36})", page.url)
        assert bulk_id is not None
        state = "select done from bulk_actions where id = %s and state = %s"

        def done(state_now: str, more_than: int) -> int:
            waited = f"a bulk action that is {state_now} to do more"
            return int(self.stand.wait(waited, f"{state} and done > %s", UUID(bulk_id[1]), state_now, more_than))

        first = done("running", 0)
        self.open("bulk/abort")
        self.do()
        assert first <= done("aborted", 0) < number
        self.open("bulk/resume")
        self.do()
        assert done("running", first) > first
        self.open("bulk/abort")
        self.do()
        replayed = "select count(*) from dead_letters where error ->> 'code' = %s and state = 'replayed'"
        assert self.stand.ask(replayed, code) >= done("aborted", 0)

    def resume_the_run(self) -> None:
        """Find the run by its id, look at the node that failed, and let it go on from there."""
        page, found = self.page, self.found
        self.hand.write(page.locator("#search"), found.run_id)
        page.keyboard.press("Enter")
        self.open("workflows/show", run_id=found.run_id)
        expect(page.locator(".graph .node.failed")).to_have_count(1)
        self.hand.press(page.locator(".graph a[href*='node=labels']"))
        expect(page.locator("#node-title")).to_be_visible()
        self.open("workflows/resume", run_id=found.run_id)
        self.do()
        again = "select state = 'succeeded' and round = 2 from workflow_runs where id = %s"
        self.stand.wait("the run to succeed", again, UUID(found.run_id))
        self.hand.write(page.locator("#search"), found.run_id)
        page.keyboard.press("Enter")
        self.open("workflows/show", run_id=found.run_id)
        expect(page.locator(".graph .node.succeeded")).to_have_count(4)

    def undo_in_the_mailbox(self) -> None:
        self.go("m")
        self.open("accounts/show", account_id=self.stand.account_id)
        self.hand.press(self.page.locator(f'.did a[href*="/actions/undo?action_id={self.found.done_id}"]'))
        self.do()
        undone = "select state = 'undone' from actions where id = %s"
        self.stand.wait("the undo to be done", undone, UUID(self.found.done_id))
        assert "INBOX" in self.stand.mailbox.state().label_names(self.found.archived)


@pytest.mark.parametrize("hand", HANDS)
def test_an_operators_day(stand: Stand, troubles: dict[str, Troubles], open_page: OpenPage, hand: str) -> None:
    page = open_page(hand, storage_state=None)
    player = Player(page, HANDS[hand](page), stand, troubles[hand])
    player.sign_in(ADDRESSES[hand])
    player.mend_the_letter()
    player.approve_the_action()
    player.close_a_queue()
    player.replay_many()
    player.resume_the_run()
    player.undo_in_the_mailbox()
