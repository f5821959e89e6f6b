"""Any action that may be asked for, for properties."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from domain.mail.actions.action import Action
from domain.mail.actions.label_actions import ApplyLabel, Archive, MarkRead, MarkUnread, RemoveLabel, Star, Unstar
from domain.mail.actions.requested_action import AutoReply, Delete, Forward, Restore, Trash
from domain.mail.actions.snooze import Snooze

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

LABEL_IDS = st.sampled_from(["Label_1", "Label_2", "IMPORTANT", "CATEGORY_SOCIAL"])
SNOOZES = st.one_of(
    st.integers(1, 365).map(lambda days: Snooze(until=NOON + timedelta(days=days))),
    st.builds(Snooze, amount=st.integers(1, 300), units=st.sampled_from(["minutes", "hours", "days"])),
)
LABEL_ACTIONS: st.SearchStrategy[Action] = st.one_of(
    st.builds(ApplyLabel, label_id=LABEL_IDS),
    st.builds(RemoveLabel, label_id=LABEL_IDS),
    st.sampled_from([Archive(), MarkRead(), MarkUnread(), Star(), Unstar()]),
)
ADDRESSES = st.lists(st.sampled_from(["a@example.org", "b@example.org"]), min_size=1, max_size=3).map(tuple)
ACTIONS: st.SearchStrategy[Action] = st.one_of(
    LABEL_ACTIONS,
    SNOOZES,
    st.sampled_from([Trash(), Restore(), Delete()]),
    st.builds(Forward, to=ADDRESSES, cc=ADDRESSES, note=st.none() | st.just("see below")),
    st.builds(AutoReply, text=st.just("thanks")),
)
