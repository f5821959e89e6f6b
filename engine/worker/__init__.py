"""The worker: from a received hint to the settlement of its job."""
