"""A shop: a service with an HTTP API, and job types of its own that Postroom's workers run."""
