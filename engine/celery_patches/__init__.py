"""Every use of a private name of Celery, kombu or billiard: one file per patch, with its reason.

Such a name may go with any release. Each file lists what it uses in `PRIVATE`, as `module:class.name` or `module:name`;
a test finds each of them in the pinned releases, and no other private name in the code (tests/engine/celery_patches).
"""

PINNED = {"celery": "5.7.0", "kombu": "5.7.0", "billiard": "4.3.2"}
"""The releases that the patches were written against; whoever raises one reads each patch again."""
