"""A run of an agent: its subject, its conversation, its tools, its drafts, and whether it may."""
