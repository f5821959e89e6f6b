"""Replies: what the model is asked for, and the message that comes of it."""
