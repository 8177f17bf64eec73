"""How the states of LangGraph's threads are kept as checkpoints; no LangGraph is needed for it.

    langgraph/<thread>/<namespace>/<checkpoint_id>              a state
    langgraph/<thread>/<namespace>/<checkpoint_id>/w/<task_id>  what a task wrote on top of it

Parts are percent-encoded. A payload is a line of JSON, then the bytes that the line names, in order.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple
from urllib.parse import quote, unquote

from .agent import Agent
from .canonical import json_bytes
from .fork import Forked
from .model import Checkpoint

_ROOT = "langgraph/"

Typed = Tuple[str, bytes]  # what LangGraph's serializers make of a value


@dataclass(frozen=True)
class Place:
    thread: str
    namespace: str
    checkpoint_id: str


@dataclass(frozen=True)
class Write:
    task_id: str
    index: int  # below 0: special ones, of which the last counts; of others the first
    channel: str
    value: Typed
    task_path: str


@dataclass(frozen=True)
class State:
    place: Place
    parent_id: Optional[str]
    checkpoint: Typed
    metadata: Typed
    writes: List[Write]


def _part(text: str) -> str:
    return quote(text, safe="")


def _prefix(thread: Optional[str], namespace: Optional[str]) -> str:
    if thread is None:
        return _ROOT
    return _ROOT + _part(thread) + "/" + ("" if namespace is None else _part(namespace) + "/")


def _id_of(place: Place) -> str:
    return _prefix(place.thread, place.namespace) + _part(place.checkpoint_id)


def _place_of(checkpoint: Checkpoint) -> Optional[Place]:
    """None: it is not a state."""
    parts = checkpoint.id.split("/")
    return Place(unquote(parts[1]), unquote(parts[2]), unquote(parts[3])) if len(parts) == 4 else None


def _packed(head: Dict[str, Any], values: Iterable[Typed]) -> bytes:
    listed = list(values)
    line = {**head, "values": [{"type": kind, "size": len(content)} for kind, content in listed]}
    return json_bytes(line, "the head") + b"\n" + b"".join(content for _, content in listed)


def _unpacked(payload: bytes) -> Tuple[Dict[str, Any], List[Typed]]:
    line, _, rest = payload.partition(b"\n")
    head = json.loads(line)
    values: List[Typed] = []
    for value in head["values"]:
        values.append((value["type"], rest[:value["size"]]))
        rest = rest[value["size"]:]
    return head, values


class Threads(Forked):
    """Safe for threads."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        super().__init__()

    def after_fork(self) -> None:
        self._writing = threading.Lock()

    def put(self, place: Place, parent_id: Optional[str], checkpoint: Typed, metadata: Typed) -> None:
        self._agent.save(_id_of(place), _packed({"parent_id": parent_id}, [checkpoint, metadata]), keep=0)

    def put_writes(self, place: Place, writes: Iterable[Write]) -> None:
        """Adds to what the tasks wrote; a write of an index that is there already stays, unless it is a special one."""
        by_task: Dict[str, List[Write]] = {}
        for write in writes:
            by_task.setdefault(write.task_id, []).append(write)
        with self._writing:  # read, add, save
            for task_id, added in by_task.items():
                name = f"{_id_of(place)}/w/{_part(task_id)}"
                loaded = self._agent.load(name)
                known = {write.index: write for write in (_writes_of(task_id, loaded.payload) if loaded else [])}
                for write in added:
                    if write.index < 0 or write.index not in known:
                        known[write.index] = write
                kept = [known[index] for index in sorted(known)]
                heads = [{"index": write.index, "channel": write.channel, "task_path": write.task_path} for write in kept]
                self._agent.save(name, _packed({"writes": heads}, [write.value for write in kept]), keep=0)

    def get(self, thread: str, namespace: str, checkpoint_id: Optional[str]) -> Optional[State]:
        """That state, or the one that was put last."""
        if checkpoint_id is None:
            return next(self.list(thread, namespace, None, None), None)
        return self._state(Place(thread, namespace, checkpoint_id), None)

    def list(self, thread: Optional[str], namespace: Optional[str], checkpoint_id: Optional[str],
             before: Optional[Place]) -> Iterator[State]:
        """Newest first; None: of all. `before`: only those that were put before it."""
        seq: Optional[int] = None
        if before is not None:
            at = next(self._agent.list(id=_id_of(before)), None)
            seq = at.seq if at is not None else None
        seen = set()
        for checkpoint in self._agent.list(prefix=_prefix(thread, namespace), before=seq):
            place = _place_of(checkpoint)
            if place is None or place in seen or (checkpoint_id is not None and place.checkpoint_id != checkpoint_id):
                continue
            seen.add(place)
            state = self._state(place, checkpoint.seq)
            if state is not None:
                yield state

    def delete(self, thread: str) -> None:
        self._agent.prune(prefix=_prefix(thread, None))

    def _state(self, place: Place, seq: Optional[int]) -> Optional[State]:
        loaded = self._agent.load(_id_of(place), seq)
        if loaded is None:
            return None
        head, (checkpoint, metadata) = _unpacked(loaded.payload)
        parent = head["parent_id"]
        return State(place, None if parent is None else str(parent), checkpoint, metadata, self._writes(place))

    def _writes(self, place: Place) -> List[Write]:
        """By task, then by index."""
        prefix = _id_of(place) + "/w/"
        newest: Dict[str, List[Write]] = {}
        for loaded in self._agent.load_all(prefix=prefix):
            task_id = unquote(loaded.checkpoint.id[len(prefix):])
            if task_id not in newest:
                newest[task_id] = _writes_of(task_id, loaded.payload)
        return [write for task_id in sorted(newest) for write in newest[task_id]]


def _writes_of(task_id: str, payload: bytes) -> List[Write]:
    head, values = _unpacked(payload)
    writes = head["writes"]
    return [Write(task_id, int(write["index"]), str(write["channel"]), value, str(write["task_path"]))
            for write, value in zip(writes, values)]
