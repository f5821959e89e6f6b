"""Mail that leaves: what is sent, from whom, to whom, and the bytes of it."""
