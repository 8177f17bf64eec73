"""What holds locks or connections is renewed in a forked process: there the threads that held them do not exist."""

from __future__ import annotations

import os
import uuid
import weakref

_renewed: "weakref.WeakSet[Forked]" = weakref.WeakSet()
_session = uuid.uuid4().hex


class Forked:
    """Calls after_fork() of each living instance in a new process."""

    def __init__(self) -> None:
        self.after_fork()
        _renewed.add(self)

    def after_fork(self) -> None:
        raise NotImplementedError


def session() -> str:
    """A word that is new for each process: by it Pawl tells a step that runs here from a lost one."""
    return _session


def _after_fork() -> None:
    global _session
    _session = uuid.uuid4().hex
    for one in list(_renewed):
        one.after_fork()


os.register_at_fork(after_in_child=_after_fork)
