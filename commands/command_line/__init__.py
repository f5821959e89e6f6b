"""How Postroom's commands come into a command line: Celery's own, where the app is ours, and `postroom`."""
