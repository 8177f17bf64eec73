"""A checkpointer of LangGraph that keeps its states in Pawl.

    from pawl.langgraph import PawlSaver
    graph = builder.compile(checkpointer=PawlSaver(pawl.connect()))

Needs the package langgraph-checkpoint; nothing else of `pawl` does.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any, AsyncIterator, Dict, Iterator, Optional, Sequence, Tuple

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

    def get_tuple(self, config: Config) -> Optional[CheckpointTuple]:
        asked = config["configurable"]
        state = self._threads.get(str(asked["thread_id"]), asked.get("checkpoint_ns", ""), get_checkpoint_id(config))
        return None if state is None else self._tuple(state)

    def list(self, config: Optional[Config], *, filter: Optional[Dict[str, Any]] = None, before: Optional[Config] = None,
             limit: Optional[int] = None) -> Iterator[CheckpointTuple]:
        asked = config["configurable"] if config else {}
        thread = str(asked["thread_id"]) if config else None
        until: Optional[Place] = None
        if before is not None and get_checkpoint_id(before):
            place = {**asked, **before["configurable"]}
            until = Place(str(place["thread_id"]), place.get("checkpoint_ns", ""), get_checkpoint_id(before))
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
