"""The payloads of the job types: the ground floor that every room may name."""
