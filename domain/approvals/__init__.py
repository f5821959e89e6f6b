"""Approvals: who may decide about a waiting action, until when, and the words of the question."""
