"""Schedules: which job an org wants by cron, and when it is due next."""
