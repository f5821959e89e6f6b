"""Every use of a private name of Celery, kombu or billiard, with its reason."""
