"""Replies: the prompt for the model, and the message that is made of its answer."""
