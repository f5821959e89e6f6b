"""Which alerts there are, and which page says what to do about a finding of `doctor` or of the console."""

from collections.abc import Mapping

ALERTS: Mapping[str, str] = {
    "PostroomNobodyCounts": "no worker shows metrics of the fleet",
    "PostroomCountingBehind": "what happens to jobs is not counted",
    "PostroomProcessUnhealthy": "a health check of a process fails",
    "PostroomBeatSilent": "a periodic job gets no tick",
    "PostroomBeatNeverRan": "no beat has ever ticked here",
    "PostroomQueueLate": "the oldest job of a queue has been due for too long",
    "PostroomDeadLetters": "a job became a dead letter",
    "PostroomMessagesRefused": "a message of a Celery client could not become a job",
    "PostroomLedgerContradictsItself": "rows of the ledger contradict each other",
    "PostroomJobsFail": "more than a tenth of the jobs of a type fail",
    "PostroomClaimsLost": "jobs are taken from workers",
    "PostroomUnknownEffects": "nobody knows whether a call happened",
    "PostroomWorkerStands": "the event loop of a worker does not come round",
    "PostroomLeaseShort": "the lease of a worker is not renewed",
}
"""The alerts of deploy/prometheus/alerts.yaml, each with what it says."""

RUNBOOKS: Mapping[str, str] = {
    "beat": "PostroomBeatSilent",
    "broker": "PostroomProcessUnhealthy",
    "catalogue": "PostroomQueueLate",
    "counting": "PostroomNobodyCounts",
    "ledger role": "PostroomProcessUnhealthy",
    "model answers": "PostroomJobsFail",
    "promises": "PostroomLedgerContradictsItself",
    "rate limits": "PostroomProcessUnhealthy",
    "refused messages": "PostroomMessagesRefused",
    "releases": "PostroomQueueLate",
    "sealed tokens": "PostroomJobsFail",
    "served queues": "PostroomQueueLate",
    "workers": "PostroomProcessUnhealthy",
    "writes": "PostroomProcessUnhealthy",
}
"""The alert that a check which fails leads to, by the check's name."""
OF_A_QUEUE = "queue "
"""How the name of the check of one queue's workers begins."""


def alert_of(check: str) -> str:
    """The alert whose page helps where this check fails; empty where the remedy says all."""
    return "PostroomQueueLate" if check.startswith(OF_A_QUEUE) else RUNBOOKS.get(check, "")


def runbook_of(alert: str, pattern: str) -> str:
    """Where the page of an alert is, by a pattern with `{alert}` in it; empty without an alert."""
    return pattern.replace("{alert}", alert) if alert else ""
