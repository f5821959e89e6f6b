"""History and the list of drafts are read to their ends, and no further than a stated number of pages."""

from typing import cast

import pytest

from domain.jobs.effects import CannotTell
from domain.jobs.failures import Gone
from domain.mail.mailbox import Draft, HistoryPage, ThreadFacts
from domain.mail.replies.lost_draft import LostDraft
from providers.ports import Mailbox
from tasks.mail.steps.drafts import lost_drafts


class EndlessHistory:
    """A mailbox whose history always has one page more, and which has no drafts."""

    def __init__(self) -> None:
        self.pages = 0

    def history(self, _start: int, _page_token: str | None = None) -> HistoryPage:
        self.pages += 1
        return HistoryPage((), f"page {self.pages}", 9)

    def thread(self, _thread_id: str) -> ThreadFacts:
        raise Gone("no such thread")

    def drafts(self, _page_token: str | None = None) -> tuple[tuple[Draft, ...], str | None]:
        return (), None


def test_a_history_without_end_is_left() -> None:
    endless = EndlessHistory()
    with pytest.raises(Gone, match="pages"):
        list(lost_drafts.changes_since(cast("Mailbox", endless), 1))
    assert endless.pages == lost_drafts.MOST_PAGES


def test_a_lost_draft_in_it_is_a_persons_to_look_for() -> None:
    lost = LostDraft("t1", "token-12345", 7)
    assert isinstance(lost_drafts.find(cast("Mailbox", EndlessHistory()), lost), CannotTell)


class EndlessDrafts(EndlessHistory):
    """A mailbox whose list of drafts always has one page more."""

    def drafts(self, _page_token: str | None = None) -> tuple[tuple[Draft, ...], str | None]:
        self.pages += 1
        return (), f"page {self.pages}"


def test_a_list_of_drafts_without_end_is_a_persons_to_look_through() -> None:
    endless = EndlessDrafts()
    assert isinstance(lost_drafts.find(cast("Mailbox", endless), LostDraft("t1", "token-12345", 7)), CannotTell)
    assert endless.pages == lost_drafts.MOST_DRAFT_PAGES
