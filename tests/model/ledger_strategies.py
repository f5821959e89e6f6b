"""The Hypothesis strategies from which the random steps are drawn."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from tests.model.ledger_model import KINDS, LEASE, JobModel

HINT_TIMEOUT = timedelta(seconds=50)
LEASE_SPAN = timedelta(seconds=LEASE)
MOST_JOBS = 14
MOST_ROUNDS = 60

REQUESTS = st.lists(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(list(KINDS)),
            "org": st.sampled_from([0, 0, 1]),
            "account": st.sampled_from(["ann", "ann", "bob"]),
            "delay": st.sampled_from([None, None, None, None, 30, 130]),
            "expires": st.sampled_from([None, None, None, None, None, None, 50, 1050]),
            "priority": st.sampled_from([0, 0, 5]),
        }
    ),
    min_size=1,
    max_size=6,
)
BROKER_STATES = st.sampled_from(["works", "works", "works", "forgets", "is flushed"])
SPANS = st.sampled_from([100, 100, 100, 200, 200, 500, 4000])
LIVELY = st.sampled_from([(), (), (0,), (1,), (0, 1)])
EFFECT_ENDS = st.sampled_from(["succeeded", "failed", "unknown", None])
CLOSABLE = st.sampled_from(
    ["fleet", "queue", "job_type", "org", "account", "provider", "org_provider", "account", "provider"]
)


def asked_for(one: Mapping[str, Any], orgs: Sequence[UUID], now: int) -> JobModel:
    """The job that a request asks for."""
    return JobModel(
        KINDS[one["kind"]],
        orgs[one["org"]],
        one["account"],
        now + (one["delay"] or 0),
        priority=one["priority"],
        expires_at=one["expires"] and now + one["expires"],
    )
