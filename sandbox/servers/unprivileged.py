"""The user a server becomes when root starts it, and the permissions that user needs."""

import os
import pwd
import stat
from pathlib import Path

UNPRIVILEGED = "nobody"
"""Every machine has this user, so none is added."""


def may_become() -> bool:
    """Whether this process is root, and so must run a server as another user."""
    return os.geteuid() == 0


def make_reachable(path: Path) -> None:
    """Let others pass through the folders above `path`.

    Only the right to pass (`o+x`) is added, so a private home stays unlistable.
    """
    for folder in path.resolve().parents:
        _add(folder, stat.S_IXOTH)


def give(path: Path, user: str) -> None:
    """Make `user` the owner of one folder, closed to all others."""
    account = pwd.getpwnam(user)
    os.chown(path, account.pw_uid, account.pw_gid)
    path.chmod(stat.S_IRWXU)


def _add(path: Path, permission: int) -> None:
    mode = path.stat().st_mode
    if mode & permission != permission:
        path.chmod(mode | permission)
