"""HTTP: the API for services, webhooks, health, and later the console. Imports no tasks."""
