"""How the states of LangGraph's threads are kept as checkpoints; no LangGraph is needed for it.

    langgraph/<thread>/<namespace>/<checkpoint_id>              a state
    langgraph/<thread>/<namespace>/<checkpoint_id>/w/<task_id>  what a task wrote on top of it

Parts are percent-encoded; a very long one goes by its SHA-256. A payload is a line of JSON, then the bytes that the line
names, in order. The newest state is the one with the highest id, as LangGraph has it.
"""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple
from urllib.parse import quote, unquote

from .agent import Agent
from .canonical import json_bytes
from .fork import Forked
from .model import Checkpoint, Loaded

_ROOT = "langgraph/"
_PART_MAX = 120  # for a thread, a namespace, a task or a checkpoint_id in an id of 512 bytes
_HASHED = "="  # quote() leaves no "=" in a part
_KNOWN_MAX = 10_000  # namespaces whose highest id is remembered; a forgotten one costs a request

Typed = Tuple[str, bytes]  # the result of LangGraph's serializers for a value


@dataclass(frozen=True)
class Place:
    thread: str
    namespace: str
    checkpoint_id: str


@dataclass(frozen=True)
class Write:
    task_id: str
    index: int  # below 0: special writes, of which the last one counts; of others the first
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
    quoted = quote(text, safe="")
    return quoted if len(quoted) <= _PART_MAX else _HASHED + hashlib.sha256(text.encode()).hexdigest()


def _prefix(thread: Optional[str], namespace: Optional[str]) -> str:
    if thread is None:
        return _ROOT
    return _ROOT + _part(thread) + "/" + ("" if namespace is None else _part(namespace) + "/")


def _id_of(place: Place) -> str:
    return _prefix(place.thread, place.namespace) + quote(place.checkpoint_id, safe="")  # states are ordered by it, so it is never a hash


def _is_state(checkpoint: Checkpoint) -> bool:
    return checkpoint.id.count("/") == 3


def _own_id(checkpoint: Checkpoint) -> str:
    return unquote(checkpoint.id.split("/")[3])


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


@dataclass
class _Namespace:
    putting: threading.Lock
    highest: Optional[str] = None  # highest id that this process has seen in it; None: not read yet, "": empty


class Threads(Forked):
    """Safe for threads."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        super().__init__()

    def after_fork(self) -> None:
        self._writing = threading.Lock()
        self._namespaces: Dict[str, _Namespace] = {}  # by prefix
        self._looking = threading.Lock()  # while _namespaces is used

    def put(self, place: Place, parent_id: Optional[str], checkpoint: Typed, metadata: Typed) -> None:
        head: Dict[str, Any] = {"parent_id": parent_id}
        if _HASHED in _id_of(place):
            head["place"] = [place.thread, place.namespace, place.checkpoint_id]
        payload = _packed(head, [checkpoint, metadata])
        prefix = _prefix(place.thread, place.namespace)
        namespace = self._namespace(prefix)
        with namespace.putting:  # one after the other, so that the newest state is the one that was saved last
            if namespace.highest is None:
                newest = self._newest(prefix)
                namespace.highest = "" if newest is None else _own_id(newest)
            # Not so where a thread is copied, or an older state is put again: then readers must look at all states.
            late = place.checkpoint_id < namespace.highest
            self._agent.save(_id_of(place), payload, metadata={"late": True} if late else None, keep=0)
            namespace.highest = max(namespace.highest, place.checkpoint_id)

    def put_writes(self, place: Place, writes: Iterable[Write]) -> None:
        """Adds to what the tasks wrote; a write of an index that is there already stays, unless it is a special one."""
        by_task: Dict[str, List[Write]] = {}
        for write in writes:
            by_task.setdefault(write.task_id, []).append(write)
        with self._writing:  # read, add, save
            for task_id, added in by_task.items():
                name = f"{_id_of(place)}/w/{_part(task_id)}"
                loaded = next(iter(self._agent.load_all(id=name)), None)  # load() would report a missing checkpoint, which is normal here
                known = {write.index: write for write in (_writes_of(loaded) if loaded else [])}
                for write in added:
                    if write.index < 0 or write.index not in known:
                        known[write.index] = write
                kept = [known[index] for index in sorted(known)]
                heads = [{"index": write.index, "channel": write.channel, "task_path": write.task_path} for write in kept]
                head = {"task_id": task_id, "writes": heads}
                self._agent.save(name, _packed(head, [write.value for write in kept]), keep=0)

    def get(self, thread: str, namespace: str, checkpoint_id: Optional[str]) -> Optional[State]:
        """That state, or the newest."""
        if checkpoint_id is not None:
            return self._state(_id_of(Place(thread, namespace, checkpoint_id)), None)
        newest = self._newest(_prefix(thread, namespace))
        if newest is None:
            if not namespace:  # normal for a subgraph
                self._agent.load(_prefix(thread, namespace))  # Pawl reports a thread whose name has changed
            return None
        state = self._state(newest.id, newest.seq)
        if state is None:  # it is damaged, or was deleted meanwhile
            state = next(iter(self.list(thread, namespace, None, None)), None)
        return state

    def own_thread(self, role: Optional[str]) -> str:
        return self._agent.checkpoint_id(role)

    def list(self, thread: Optional[str], namespace: Optional[str], checkpoint_id: Optional[str],
             before: Optional[str], writes: bool = True) -> Iterator[State]:
        """Newest first; None: of all. `before`: only those with a lower id, which may be of another namespace: a subgraph's
        states are asked for by its parent's. Without `writes` their writes are not read."""
        for saved in self._listed(_prefix(thread, namespace)):
            id = _own_id(saved)
            if checkpoint_id in (None, id) and (before is None or id < before):
                state = self._state(saved.id, saved.seq, writes)
                if state is not None:
                    yield state

    def delete(self, thread: str) -> None:
        self._agent.prune(prefix=_prefix(thread, None))
        self._forget()

    def delete_state(self, place: Place) -> None:
        self._delete_state(_id_of(place))

    def keep_newest(self, thread: str, needs: Callable[[State], Iterable[Place]]) -> None:
        """Deletes of each namespace all but the newest state and those that it needs. What is put meanwhile stays."""
        listed = self._listed(_prefix(thread, None))
        kept = set()
        seen = set()
        for saved in listed:
            namespace = saved.id.rsplit("/", 1)[0]
            if namespace not in seen:
                seen.add(namespace)
                kept.add(saved.id)
                newest = self._state(saved.id, saved.seq, writes=False)
                kept.update(map(_id_of, needs(newest) if newest is not None else ()))
        for saved in listed:
            if saved.id not in kept:
                self._delete_state(saved.id)

    def copy(self, source: str, target: str) -> None:
        """All states and what was written on top of them. Oldest first: whoever is killed between leaves a thread that is
        whole up to there, and copies on."""
        if source == target:
            return
        for saved in reversed(self._listed(_prefix(source, None))):
            state = self._state(saved.id, saved.seq)
            if state is not None:
                place = Place(target, state.place.namespace, state.place.checkpoint_id)
                self.put_writes(place, state.writes)
                self.put(place, state.parent_id, state.checkpoint, state.metadata)

    def _delete_state(self, id: str) -> None:
        """Its writes first: whoever is killed between leaves a state that is found, and deleted the next time."""
        self._agent.prune(prefix=id + "/w/")
        self._agent.prune(id=id)
        self._forget()

    def _namespace(self, prefix: str) -> _Namespace:
        with self._looking:
            if len(self._namespaces) >= _KNOWN_MAX:
                self._namespaces.clear()
            return self._namespaces.setdefault(prefix, _Namespace(threading.Lock()))

    def _forget(self) -> None:
        with self._looking:
            self._namespaces.clear()

    def _newest(self, prefix: str) -> Optional[Checkpoint]:
        """Of one namespace."""
        last = next(filter(_is_state, self._agent.list(prefix=prefix)), None)
        if last is None or not last.metadata.get("late"):
            return last
        return next(iter(self._listed(prefix)), None)

    def _listed(self, prefix: str) -> List[Checkpoint]:
        """Of each state what was saved last; the highest id first."""
        found: Dict[str, Checkpoint] = {}
        for saved in filter(_is_state, self._agent.list(prefix=prefix)):
            found.setdefault(saved.id, saved)
        return sorted(found.values(), key=lambda saved: (_own_id(saved), saved.seq), reverse=True)

    def _state(self, id: str, seq: Optional[int], writes: bool = True) -> Optional[State]:
        loaded = self._agent.load(id, seq)
        if loaded is None:
            return None
        head, (checkpoint, metadata) = _unpacked(loaded.payload)
        place = Place(*(head["place"] if "place" in head else map(unquote, id.split("/")[1:])))
        parent = head["parent_id"]
        return State(place, None if parent is None else str(parent), checkpoint, metadata, self._writes(id) if writes else [])

    def _writes(self, id: str) -> List[Write]:
        """In the order in which LangGraph applies them: by the tasks' paths; by task; by index."""
        newest: Dict[str, Loaded] = {}
        for loaded in self._agent.load_all(prefix=id + "/w/"):
            newest.setdefault(loaded.checkpoint.id, loaded)
        found = [write for loaded in newest.values() for write in _writes_of(loaded)]
        return sorted(found, key=lambda write: (write.task_path, write.task_id, write.index))


def _writes_of(loaded: Loaded) -> List[Write]:
    head, values = _unpacked(loaded.payload)
    task_id = str(head["task_id"]) if "task_id" in head else unquote(loaded.checkpoint.id.split("/")[5])
    return [Write(task_id, int(write["index"]), str(write["channel"]), value, str(write["task_path"]))
            for write, value in zip(head["writes"], values)]
