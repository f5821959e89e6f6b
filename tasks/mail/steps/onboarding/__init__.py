"""Steps of setting a mailbox up."""
