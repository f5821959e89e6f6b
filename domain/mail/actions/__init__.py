"""What may be done to a message."""
