"""Approvals: who may decide about an action that waits, until when, and in which words they are asked."""
