"""How a mail of ours leaves: what is known of it, its files, and its way through a draft."""
