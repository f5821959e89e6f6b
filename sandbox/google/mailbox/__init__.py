"""The emulated mailbox: messages, drafts, labels, history, search, and its owner."""
