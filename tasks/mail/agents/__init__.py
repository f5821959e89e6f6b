"""How an agent works on a thread: its conversation, its tools, its drafts, and whether it may."""
