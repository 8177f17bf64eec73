"""A checkpointer of LangGraph that keeps its states in Pawl.

    from pawl.langgraph import PawlSaver
    graph = builder.compile(checkpointer=PawlSaver(pawl.connect()))

Needs the package langgraph-checkpoint; nothing else of `pawl` does. Passes langgraph-checkpoint-conformance in full, and
LangGraph's own tests of its graphs.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import random
from typing import Any, AsyncIterator, Dict, Iterator, Mapping, Optional, Sequence, Tuple

from langgraph.checkpoint.base import (WRITES_IDX_MAP, BaseCheckpointSaver, ChannelVersions, Checkpoint, CheckpointMetadata,
                                       CheckpointTuple, get_checkpoint_id, get_checkpoint_metadata)

from .agent import Agent
from .threads import Place, State, Threads, Write

Config = Any  # RunnableConfig of langchain_core


class PawlSaver(BaseCheckpointSaver):
    """Safe for threads; the asynchronous methods ask in one."""

    def __init__(self, agent: Agent, *, serde: Any = None) -> None:
        super().__init__(serde=serde)
        self._threads = Threads(agent)

    def config(self, role: Optional[str] = None) -> Config:
        """The configuration of the thread that each process finds again: `graph.invoke(input, saver.config())`. Its name is `checkpoint_id()` of
        the agent. A name of random bits would be another thread in the next process."""
        return {"configurable": {"thread_id": self._threads.own_thread(role)}}

    def get_tuple(self, config: Config) -> Optional[CheckpointTuple]:
        asked = config["configurable"]
        state = self._threads.get(str(asked["thread_id"]), asked.get("checkpoint_ns", ""), get_checkpoint_id(config))
        return None if state is None else self._tuple(state)

    def list(self, config: Optional[Config], *, filter: Optional[Dict[str, Any]] = None, before: Optional[Config] = None,
             limit: Optional[int] = None) -> Iterator[CheckpointTuple]:
        asked = config["configurable"] if config else {}
        thread = str(asked["thread_id"]) if config else None
        until = get_checkpoint_id(before) if before is not None else None
        states = self._threads.list(thread, asked.get("checkpoint_ns"), get_checkpoint_id(config) if config else None, until)
        found = (one for one in map(self._tuple, states)
                 if all(one.metadata.get(name) == value for name, value in (filter or {}).items()))
        return itertools.islice(found, limit)

    def put(self, config: Config, checkpoint: Checkpoint, metadata: CheckpointMetadata,
            new_versions: ChannelVersions) -> Config:
        asked = config["configurable"]
        place = Place(str(asked["thread_id"]), asked.get("checkpoint_ns", ""), checkpoint["id"])
        self._threads.put(place, get_checkpoint_id(config), self.serde.dumps_typed(checkpoint),
                          self.serde.dumps_typed(get_checkpoint_metadata(config, metadata)))
        return _config(place)

    def put_writes(self, config: Config, writes: Sequence[Tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        asked = config["configurable"]
        place = Place(str(asked["thread_id"]), asked.get("checkpoint_ns", ""), asked["checkpoint_id"])
        self._threads.put_writes(place, [
            Write(task_id, WRITES_IDX_MAP.get(channel, index), channel, self.serde.dumps_typed(value), task_path)
            for index, (channel, value) in enumerate(writes)])

    def delete_thread(self, thread_id: str) -> None:
        self._threads.delete(str(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Looks at the states of all threads. A DeltaChannel loses what these runs wrote to it."""
        runs = {str(run) for run in _several(run_ids, "run_ids")}
        for state in self._threads.list(None, None, None, None, writes=False) if runs else ():
            if str(self.serde.loads_typed(state.metadata).get("run_id")) in runs:
                self._threads.delete_state(state.place)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._threads.copy(str(source_thread_id), str(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keeps of each namespace the newest state (strategy "keep_latest"; and the older ones that its DeltaChannels are
        rebuilt from), or nothing ("delete")."""
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f'the strategy is {strategy!r}; give "keep_latest" or "delete"')
        for thread in map(str, _several(thread_ids, "thread_ids")):
            if strategy == "delete":
                self._threads.delete(thread)
            else:
                self._threads.keep_newest(thread, self._deltas_of)

    def get_next_version(self, current: Any, channel: None) -> Any:
        """A thread that another checkpointer began has text as versions, and goes on with them."""
        if not isinstance(current, str):
            return 1 if current is None else current + 1
        return f"{int(current.split('.')[0]) + 1:032}.{random.random():016}"

    async def aget_tuple(self, config: Config) -> Optional[CheckpointTuple]:
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(self, config: Optional[Config], *, filter: Optional[Dict[str, Any]] = None,
                    before: Optional[Config] = None, limit: Optional[int] = None) -> AsyncIterator[CheckpointTuple]:
        found = self.list(config, filter=filter, before=before, limit=limit)
        while True:
            one = await asyncio.to_thread(lambda: next(found, None))
            if one is None:
                return
            yield one

    async def aput(self, config: Config, checkpoint: Checkpoint, metadata: CheckpointMetadata,
                   new_versions: ChannelVersions) -> Config:
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: Config, writes: Sequence[Tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await asyncio.to_thread(lambda: self.prune(thread_ids, strategy=strategy))

    async def aget_delta_channel_history(self, *, config: Config, channels: Sequence[str]) -> Mapping[str, Any]:
        ask: Any = functools.partial(self.get_delta_channel_history, config=config, channels=channels)
        found: Mapping[str, Any] = await asyncio.to_thread(ask)
        return found

    def _deltas_of(self, state: State) -> Iterator[Place]:
        """The older states that its DeltaChannels are rebuilt from: back to where each of them has a value."""
        missing = set(self.serde.loads_typed(state.metadata).get("counters_since_delta_snapshot") or ())
        older: Optional[State] = state
        while older is not None:
            missing -= self.serde.loads_typed(older.checkpoint)["channel_values"].keys()
            if not missing or older.parent_id is None:
                return
            older = self._threads.get(older.place.thread, older.place.namespace, older.parent_id)
            if older is not None:
                yield older.place

    def _tuple(self, state: State) -> CheckpointTuple:
        parent = state.parent_id
        return CheckpointTuple(
            config=_config(state.place),
            checkpoint=self.serde.loads_typed(state.checkpoint),
            metadata=self.serde.loads_typed(state.metadata),
            parent_config=None if parent is None else _config(Place(state.place.thread, state.place.namespace, parent)),
            pending_writes=[(write.task_id, write.channel, self.serde.loads_typed(write.value)) for write in state.writes])


def _config(place: Place) -> Config:
    return {"configurable": {"thread_id": place.thread, "checkpoint_ns": place.namespace,
                             "checkpoint_id": place.checkpoint_id}}


def _several(ids: Sequence[str], what: str) -> Sequence[str]:
    """A text is a sequence of texts as well: its letters would be taken for ids."""
    if isinstance(ids, str):
        raise TypeError(f"{what} is one text; give a list")
    return ids
