"""Names that are the same in the next process, because they count calls where the calls are in program order.

A scope is the program itself, the inside of one child, or the inside of one step. Each counts for itself: that a child or
a step is answered from the journal, and so does not count, changes no name outside of it; nor do threads that run
children at once.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
from typing import Dict, Iterator, List, Optional, Tuple

from .fork import Forked


class Scope:
    def __init__(self, owner: "Scopes", child: str, inside: str, usage_prefix: Optional[str], depth: int = 0) -> None:
        self.owner = owner
        self.depth = depth            # the number of children around it
        self.child = child            # prefix of names that a person gives: "" or "<child_id>/"
        self.inside = inside          # prefix of counted names: as above, or "<key of a step>/"
        self.usage_prefix = usage_prefix  # the prefix of a step's execution; None outside steps
        self.counts: Dict[str, int] = {}
        self.failed: Dict[Tuple[str, str], List[str]] = {}


_current: contextvars.ContextVar[Optional[Scope]] = contextvars.ContextVar("pawl_scope", default=None)


class Scopes(Forked):
    """Of one Agent. The current scope is that of the thread (contextvars)."""

    def __init__(self) -> None:
        self._root = Scope(self, "", "", None)
        super().__init__()

    def after_fork(self) -> None:
        self._lock = threading.Lock()

    def current(self) -> Scope:
        scope = _current.get()
        return scope if scope is not None and scope.owner is self else self._root

    def checkpoint_id(self, role: Optional[str]) -> str:
        """The id of what runs here: `{role}-{depth}`; inside of a child the child's id, and a role's is below it."""
        scope = self.current()
        if role is None and scope.child:
            return scope.child[:-1]
        return f"{scope.child}{role or 'main'}-{scope.depth}"

    def count(self, name: str) -> int:
        """0 for the first call with this name in the current scope, 1 for the next."""
        scope = self.current()
        with self._lock:
            number = scope.counts.get(name, 0)
            scope.counts[name] = number + 1
        return number

    def step_key(self, name: str, args_hash: str) -> str:
        """The next key of the name; or that of a call with the same arguments that has raised: this is its next try."""
        scope = self.current()
        with self._lock:
            failed = scope.failed.get((name, args_hash))
            if failed:
                return failed.pop(0)
        return f"{scope.inside}{name}:{self.count(name)}"

    def step_failed(self, name: str, args_hash: str, key: str) -> None:
        scope = self.current()
        with self._lock:
            scope.failed.setdefault((name, args_hash), []).append(key)

    @contextlib.contextmanager
    def child(self, child_id: str) -> Iterator[None]:
        with self._entered(Scope(self, child_id + "/", child_id + "/", None, self.current().depth + 1)):
            yield

    @contextlib.contextmanager
    def step(self, key: str, execution: int) -> Iterator[None]:
        scope = self.current()
        with self._entered(Scope(self, scope.child, key + "/", f"{key}@{execution}", scope.depth)):
            yield

    @staticmethod
    @contextlib.contextmanager
    def _entered(scope: Scope) -> Iterator[None]:
        token = _current.set(scope)
        try:
            yield
        finally:
            _current.reset(token)
