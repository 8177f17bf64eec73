"""Children: parts of the work that are told apart by where they are spawned, not by what they are asked."""

from __future__ import annotations

import concurrent.futures
import json
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Callable, Iterator, Optional, Type, TypeVar, cast

from .canonical import digest, json_bytes
from .errors import Conflict, determinism
from .model import SpawnedChild
from .scope import Scopes
from .transport import Transport

T = TypeVar("T")


@dataclass(frozen=True)
class Child:
    child_id: str  # also its checkpoint_id
    resumed: bool  # an earlier process began it: load its checkpoint


class Nursery:
    """What the API says of children."""

    def __init__(self, transport: Transport, scopes: Scopes) -> None:
        self._transport = transport
        self.scopes = scopes

    def run(self, parent: str, spawn_seq: int, ordinal: int, spec: Any, fn: Callable[[Child], T]) -> T:
        spec_hash = digest(spec, "the child's spec")
        asked = {"parent": parent, "spawn_seq": spawn_seq, "ordinal": ordinal, "spec_hash": spec_hash}
        try:
            body = self._transport.call("POST", "/v1/children/spawn", body=json_bytes(asked, "the child")).body
        except Conflict as problem:
            raise determinism(f"{parent}/{spawn_seq}.{ordinal}", spec_hash, problem) from None
        spawned = json.loads(body)
        if spawned["answer"] == "done":
            return cast(T, spawned["result"])
        child = Child(spawned["child_id"], spawned["answer"] == "resume")
        with self.scopes.child(child.child_id):
            result = fn(child)
        kept = json_bytes(result, f"the result of the child {child.child_id}")
        named = json_bytes(child.child_id, "the child")
        self._transport.call("POST", "/v1/children/finish", body=b'{"child_id":' + named + b',"result":' + kept + b"}")
        return cast(T, json.loads(kept))

    def count_here(self, parent: str) -> None:
        """Refuses to count a spawn of `parent` where the next process may count another one: a step that is answered from the
        journal spawns nothing, nor does a child; and each counts for itself, so two would give the same place."""
        scope = self.scopes.current()
        if scope.usage_prefix is not None:
            where = f"the step {scope.inside[:-1]}"
        elif not f"{parent}/".startswith(scope.child):
            where = f"the child {scope.child[:-1]}"
        else:
            return
        raise RuntimeError(f"children of {parent} are not counted inside of {where}, which does not run again when it is done. Spawn "
                           "them outside of it, or name the place: agent.child(parent, spawn_seq, ordinal, spec, fn), with a parent "
                           "that is not counted elsewhere")

    def all(self) -> Iterator[SpawnedChild]:
        after = ""
        while True:
            page = json.loads(self._transport.call("GET", "/v1/children", {"after": after, "limit": 1000}).body)
            for told in page["children"]:
                after = told["child_id"]
                yield SpawnedChild.of(told)
            if not page["more"]:
                return


class Spawn:
    """Children that are spawned together and run at once, `threads` of them. Their ordinals are the order of submit(),
    whatever thread runs them. Leaving `with` waits for all."""

    def __init__(self, nursery: Nursery, parent: str, spawn_seq: int, threads: int) -> None:
        self._nursery = nursery
        self._parent = parent
        self.spawn_seq = spawn_seq
        self._submitted = 0
        self._pool = concurrent.futures.ThreadPoolExecutor(threads, thread_name_prefix="pawl-child")

    def submit(self, spec: Any, fn: Callable[[Child], T]) -> "concurrent.futures.Future[T]":
        """One thread submits: the order of its calls is the order that the next process has too."""
        self._nursery.count_here(self._parent)
        ordinal = self._submitted
        self._submitted += 1
        return self._pool.submit(lambda: self._nursery.run(self._parent, self.spawn_seq, ordinal, spec, fn))

    def __enter__(self) -> "Spawn":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._pool.shutdown(wait=True)


class Children:
    """The children of one parent. Spawns are counted in program order, for as long as the parent runs in this process; not
    inside of a step, nor inside of a child that is not the parent."""

    def __init__(self, nursery: Nursery, parent: str) -> None:
        self._nursery = nursery
        self.parent = parent

    def run(self, spec: Any, fn: Callable[[Child], T]) -> T:
        """One child, now."""
        return self._nursery.run(self.parent, self._next(), 0, spec, fn)

    def spawn(self, threads: int = 4) -> Spawn:
        """Several at once: `with children.spawn() as spawn: futures = [spawn.submit(spec, fn) for spec in specs]`."""
        return Spawn(self._nursery, self.parent, self._next(), threads)

    def _next(self) -> int:
        self._nursery.count_here(self.parent)
        return self._nursery.scopes.count("spawn of " + self.parent)
