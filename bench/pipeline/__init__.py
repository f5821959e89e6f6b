"""The mail pipeline as a contest: real mail in emulated mailboxes, ours and plain Celery, and what a message costs."""
