"""The contests: what is measured, and against which peers."""
