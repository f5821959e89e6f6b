"""The HTTP entry point: jobs are enqueued, looked at, canceled and retried by services with an API key."""
