"""What is done for a mailbox that was just connected, and how it is summed up."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from domain.jobs.job import JsonObject

OLDER_MAIL = timedelta(days=30)
"""Enough for the threads that are still open; more is ordered with `accounts backfill`."""
ONBOARDED_WITHIN = timedelta(minutes=30)
"""How long a mailbox that was just connected may be without a watch: its onboarding has four attempts of five minutes,
waits of 30, 60 and 120 seconds between them, and the five minutes that its queue may make it wait. After that it has
failed, and `doctor` reports the missing watch."""
LONGEST_PREVIEW = 500
"""Source document 003 cuts its output there."""


class OnboardingPart(StrEnum):
    """A part of the onboarding. Each is done once per job, and by itself."""

    LABELS = "labels"
    WATCH = "watch"


def older_mail_since(created_at: datetime) -> datetime:
    """From when on older mail is taken in: a whole day, the same for each attempt."""
    return (created_at - OLDER_MAIL).replace(hour=0, minute=0, second=0, microsecond=0)


def preview(
    email: str, done: Mapping[OnboardingPart, JsonObject], failed: Mapping[OnboardingPart, str], since: datetime
) -> str:
    """What was done, for a person to read."""
    lines = [f"{email} is being set up."]
    if OnboardingPart.LABELS in done:
        lines.append(f"Labels: {done[OnboardingPart.LABELS].get('labels', 0)} are known.")
    if OnboardingPart.WATCH in done:
        lines.append(f"Gmail reports new mail until {str(done[OnboardingPart.WATCH].get('expires_at', ''))[:10]}.")
    lines.append(f"Mail since {since:%Y-%m-%d} is being read, and the owner's way of writing learned from sent mail.")
    lines += [f"Not done: {part} ({code})." for part, code in failed.items()]
    return " ".join(lines)[:LONGEST_PREVIEW]


def failures_in_words(failed: Mapping[OnboardingPart, str]) -> str:
    """Which parts failed, for the job's error."""
    return "; ".join(f"{part}: {code}" for part, code in failed.items())
