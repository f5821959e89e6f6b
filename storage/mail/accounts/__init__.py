"""The SQL of connected mailboxes: accounts, tokens, cursors, labels, pushes."""
