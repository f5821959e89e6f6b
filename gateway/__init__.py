"""HTTP: webhooks, health, and later the API and the console. Imports no tasks."""
