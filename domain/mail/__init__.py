"""Rules about mail: what a message is, what may be done with it, and what to ask a model."""
