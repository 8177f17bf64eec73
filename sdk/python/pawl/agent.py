"""The agent's side of docs/agent-api.yaml."""

from __future__ import annotations

import base64
import binascii
import json
import os
import uuid
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Type, TypeVar, Union

from .canonical import json_bytes
from .children import Child, Children, Nursery
from .errors import NotFound, PawlError, Unavailable
from .journal import F, Journal
from .model import Budget, Checkpoint, Context, Loaded, Money, SpawnedChild, Spent, Step, money
from .questions import Questions
from .scope import Scopes
from .transport import Transport

T = TypeVar("T")
S = TypeVar("S")
Payload = Union[bytes, bytearray, memoryview, str, Mapping[str, Any], Sequence[Any], int, float, bool, None]

_LOG_BYTES_MAX = 8192  # per line
_NOTHING: Any = object()  # None is a valid payload


def connect(socket: Optional[str] = None, goal: Optional[str] = None, episode: Optional[str] = None) -> "Agent":
    """The agent that PAWL_SOCKET, PAWL_GOAL_ID and PAWL_EPISODE_ID name, or the arguments. Asks nothing yet."""
    path = socket or os.environ.get("PAWL_SOCKET")
    if not path:
        raise Unavailable("PAWL_SOCKET is not set, so there is no Pawl to talk to. Run this program as the agent of a plan "
                          "(`pawl run plan.yaml`), or start `pawl agentd` and set PAWL_SOCKET to its socket.")
    return Agent(Transport(path, goal or os.environ.get("PAWL_GOAL_ID"), episode or os.environ.get("PAWL_EPISODE_ID")))


class Listing(Iterator[S]):
    """What list() and load_all() give, page by page."""

    def __init__(self, told: Iterator[S], known: List[str]) -> None:
        self._told = told
        self.known = known
        """After the first next(), where nothing was found: the newest ids that have checkpoints."""

    def __next__(self) -> S:
        return next(self._told)


class Agent:
    """Safe for threads and for fork(). What writes has been made durable when it returns."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._scopes = Scopes()
        self._questions = Questions(transport, self._scopes)
        self._journal = Journal(transport, self._scopes, self._questions)
        self._nursery = Nursery(transport, self._scopes)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def context(self) -> Context:
        """What this process is to do, and what is left of it."""
        return Context.of(json.loads(self._transport.call("GET", "/v1/context").body))

    # --- checkpoints

    def checkpoint_id(self, role: Optional[str] = None) -> str:
        """The same in every process: `main-0`; of a role `{role}-0`; inside of a child the child's id, and of a role there
        `{child_id}/{role}-{depth}`."""
        return self._scopes.checkpoint_id(role)

    def save(self, id: Optional[str] = None, payload: Payload = _NOTHING, *, metadata: Optional[Mapping[str, Any]] = None,
             spent: Optional[Spent] = None, keep: Optional[int] = None) -> Checkpoint:
        """Saves `payload` (bytes; a str as UTF-8; else as JSON) as the newest checkpoint of `id`, without one of
        `checkpoint_id()`. Never text of a model, never random: the next process has to name it again. `keep`: how many of
        this id are kept (5 unless you say; 0 keeps all)."""
        if payload is _NOTHING:
            raise TypeError("save() got an id and nothing to save: save(payload=...), or save(id, payload)")
        headers = {"Content-Type": "application/octet-stream"}
        if metadata is not None:
            headers["Pawl-Metadata"] = base64.b64encode(json_bytes(metadata, "the metadata")).decode()
        if spent is not None:
            headers["Pawl-Spent"] = json_bytes(spent.told(), "what was spent").decode()
        query: Dict[str, Any] = {"id": self.checkpoint_id() if id is None else id}
        if keep is not None:
            query["keep"] = keep
        told = self._transport.call("PUT", "/v1/checkpoint", query, body=_bytes_of(payload), headers=headers)
        return Checkpoint.of(json.loads(told.body))

    def load(self, id: Optional[str] = None, seq: Optional[int] = None) -> Optional[Loaded]:
        """The newest whole checkpoint of `id` (without one of `checkpoint_id()`), or the one with that `seq`. None: there is
        none, begin afresh; if there are others, the step's log and the ledger name them."""
        query: Dict[str, Any] = {"id": self.checkpoint_id() if id is None else id}
        if seq is not None:
            query["seq"] = seq
        try:
            told = self._transport.call("GET", "/v1/checkpoint", query)
        except NotFound:
            return None
        try:
            checkpoint = Checkpoint.of(json.loads(base64.b64decode(told.long_header, validate=True)))
        except (ValueError, KeyError, binascii.Error) as error:
            raise PawlError(f"the answer has no Pawl-Checkpoint that can be read: {error!r}") from error
        return Loaded(checkpoint, told.body)

    def list(self, *, prefix: str = "", id: Optional[str] = None, before: Optional[int] = None) -> Listing[Checkpoint]:
        """Checkpoints without their payloads, newest first. Where there are none, `known` of what it returns names others."""
        known: List[str] = []
        return Listing(map(Checkpoint.of, self._listed(prefix, id, before, False, known)), known)

    def load_all(self, *, prefix: str = "", id: Optional[str] = None, before: Optional[int] = None) -> Listing[Loaded]:
        """The same with their payloads."""
        known: List[str] = []
        return Listing(map(Loaded.of, self._listed(prefix, id, before, True, known)), known)

    def prune(self, *, id: Optional[str] = None, prefix: Optional[str] = None) -> int:
        """Removes all checkpoints of an id, or of a prefix. How many there were."""
        if (id is None) == (prefix is None):
            raise TypeError("prune() takes either id= or prefix=")
        query: Dict[str, Any] = {"id": id} if id is not None else {"prefix": prefix}
        return int(json.loads(self._transport.call("DELETE", "/v1/checkpoints", query).body)["pruned"])

    def _listed(self, prefix: str, id: Optional[str], before: Optional[int], payload: bool,
                known: List[str]) -> Iterator[Dict[str, Any]]:
        query: Dict[str, Any] = {"id": id} if id is not None else {"prefix": prefix}
        if payload:
            query["payload"] = "true"
        while True:
            if before is not None:
                query["before"] = before
            page = json.loads(self._transport.call("GET", "/v1/checkpoints", query).body)
            known.extend(page.get("known", []))
            for told in page["checkpoints"]:
                before = told["seq"]
                yield told
            if not page["more"]:
                return

    # --- the journal

    def step(self, *, kind: str = "effect", on_lost: Optional[str] = None, key: Optional[str] = None,
             wait: Optional[float] = None) -> Callable[[F], F]:
        """Decorates a function whose calls are journaled: a completed call is answered from the journal by the next
        process, and does not run. Arguments and result are JSON; the result is what JSON makes of it (a tuple comes back
        as a list) the first time too. `kind`: "effect" for what costs or is seen outside, "pure" for what may run again.
        `on_lost`: what to do when a process died in the midst of it: "re_execute" (unless you say, of pure ones), "ask" a
        person (of effects; `wait` seconds, or for ever, then Waiting), "fail" (StepLost). `key`: the step's name instead
        of the function's and a count of its calls."""
        return lambda fn: self._journal.decorated(fn, kind, on_lost, key, wait)

    def run_step(self, key: str, fn: Callable[..., T], *args: Any, kind: str = "effect", on_lost: Optional[str] = None,
                 wait: Optional[float] = None) -> T:
        """Calls fn(*args) as the step `key`; the rest is as in step()."""
        return self._journal.run(key, fn, args, kind, on_lost, wait)

    def steps(self) -> Iterator[Step]:
        """The journal, by key."""
        return self._journal.steps()

    # --- children

    def child(self, parent: str, spawn_seq: int, ordinal: int, spec: Any, fn: Callable[[Child], T]) -> T:
        """The result of the child at this place: from the journal when it has finished, else of fn(Child). When fn raises,
        the child stays unfinished and is resumed by the next process."""
        return self._nursery.run(parent, spawn_seq, ordinal, spec, fn)

    def children(self, parent: str) -> Children:
        """Counts spawn_seq and ordinals for you. `parent`: the checkpoint_id of the one that spawns. Inside of a step nothing
        is counted: name the place with child()."""
        return Children(self._nursery, parent)

    def spawned(self) -> Iterator[SpawnedChild]:
        """All children of the episode, by id."""
        return self._nursery.all()

    # --- telling and asking

    def usage(self, model: str, input_tokens: int, output_tokens: int, cached_tokens: int = 0,
              usd: Optional[Money] = None, id: Optional[str] = None) -> Budget:
        """What a model's call took. `id`, unique in the episode: told twice it counts once. Without it, inside of a step, it
        is made of the step, its execution and a count; outside it is random."""
        if id is None:
            inside = self._scopes.current().usage_prefix
            id = f"{inside}#{self._scopes.count('usage')}" if inside is not None else uuid.uuid4().hex
        told: Dict[str, Any] = {"id": id, "model": model, "input_tokens": input_tokens, "output_tokens": output_tokens,
                                "cached_tokens": cached_tokens}
        if usd is not None:
            told["usd"] = money(usd)
        answer = self._transport.call("POST", "/v1/usage", body=json_bytes(told, "the usage"))
        return Budget.of(json.loads(answer.body))

    def heartbeat(self, note: Optional[str] = None) -> Budget:
        """A sign of life, with a word of at most 200 characters for `pawl logs`."""
        told = {} if note is None else {"note": note}
        return Budget.of(json.loads(self._transport.call("POST", "/v1/heartbeat", body=json_bytes(told, "the note")).body))

    def log(self, message: str, level: str = "info") -> None:
        """Lines for the step's log. `level`: debug, info, warning, error."""
        for line in _pieces(message):
            body = json_bytes({"level": level, "message": line}, "the message")
            self._transport.call("POST", "/v1/log", body=body, again=False)

    def ask(self, question: str, choices: Optional[Sequence[str]] = None, key: Optional[str] = None,
            wait: Optional[float] = None) -> str:
        """A person's answer (`pawl answer`). Waits for it, `wait` seconds at most, then raises Waiting. `key` names the
        question, so that the next process finds its answer; without it its text does, and how often it was asked."""
        return self._questions.ask(question, choices, key, wait)


def _bytes_of(payload: Payload) -> bytes:
    if isinstance(payload, (bytes, bytearray, memoryview)):
        return bytes(payload)
    if isinstance(payload, str):
        return payload.encode()
    return json_bytes(payload, "the payload")


def _pieces(message: str) -> List[str]:
    """Lines that fit, cut between characters."""
    out: List[str] = []
    for line in message.splitlines() or [""]:
        left = line.encode(errors="replace")
        while len(left) > _LOG_BYTES_MAX:
            piece = left[:_LOG_BYTES_MAX].decode(errors="ignore")
            out.append(piece)
            left = left[len(piece.encode()):]
        out.append(left.decode())
    return out
