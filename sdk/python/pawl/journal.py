"""Steps that are paid for, or seen from outside: what was completed is answered, never run again."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional, TypeVar, cast

from .canonical import digest, json_bytes
from .errors import Conflict, PawlError, StepLost, determinism
from .model import Step
from .questions import Questions
from .scope import Scopes
from .transport import Transport

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_ERROR_BYTES_MAX = 8192  # for steps/fail


class _Ran(NamedTuple):
    execution: int
    result: Any


class Journal:
    def __init__(self, transport: Transport, scopes: Scopes, questions: Questions) -> None:
        self._transport = transport
        self._scopes = scopes
        self._questions = questions
        # Results of calls whose step could not be completed. A repeated call stores the result if it can, and does not run again.
        self._ran: Dict[str, _Ran] = {}

    def decorated(self, fn: F, kind: str, on_lost: Optional[str], key: Optional[str], wait: Optional[float]) -> F:
        if inspect.iscoroutinefunction(fn) or inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
            raise TypeError(f"{fn.__qualname__} does not end with its call, so it can't be a step: make a step of the plain "
                            "function that it calls")
        name = getattr(fn, "__qualname__", None)
        if name is None and key is None:
            raise TypeError(f"{fn!r} has no name of its own: give the step one with key=")

        @functools.wraps(fn)
        def step(*args: Any, **kwargs: Any) -> Any:
            args_hash = digest({"args": args, "kwargs": kwargs}, f"the arguments of {name or key}")
            if key is not None:
                return self._run(self._scopes.current().child + key, args_hash, kind, on_lost, wait,
                                 lambda: fn(*args, **kwargs))
            counted = self._scopes.step_key(str(name), args_hash)
            try:
                return self._run(counted, args_hash, kind, on_lost, wait, lambda: fn(*args, **kwargs))
            except Exception:
                self._scopes.step_failed(str(name), args_hash, counted)
                raise

        return cast(F, step)

    def run(self, key: str, fn: Callable[..., T], args: Any, kind: str, on_lost: Optional[str],
            wait: Optional[float]) -> T:
        args_hash = digest({"args": args, "kwargs": {}}, f"the arguments of {key}")
        return cast(T, self._run(self._scopes.current().child + key, args_hash, kind, on_lost, wait, lambda: fn(*args)))

    def steps(self) -> Iterator[Step]:
        after = ""
        while True:
            page = json.loads(self._transport.call("GET", "/v1/steps", {"after": after, "limit": 1000}).body)
            for told in page["steps"]:
                after = told["key"]
                yield Step.of(told)
            if not page["more"]:
                return

    def _run(self, key: str, args_hash: str, kind: str, on_lost: Optional[str], wait: Optional[float],
             call: Callable[[], Any]) -> Any:
        begun = self._begin(key, args_hash, kind, on_lost, wait)
        if begun["answer"] == "done":
            self._ran.pop(key, None)
            return begun["result"]
        ran = self._ran.get(key)
        if ran is None or ran.execution != begun["execution"]:
            ran = self._ran[key] = _Ran(begun["execution"], self._call(key, begun["execution"], call))
        # A result that cannot be stored leaves the step begun. To record a failure would be wrong, since the call did happen.
        kept = json_bytes(ran.result, f"the result of {key}")
        self._post("complete", b'{"key":' + json_bytes(key, "the key") + b',"result":' + kept + b"}")
        self._ran.pop(key, None)  # another thread may have stored the same one
        return json.loads(kept)  # the same value as in the next process

    def _call(self, key: str, execution: int, call: Callable[[], Any]) -> Any:
        try:
            with self._scopes.step(key, execution):
                return call()
        except Exception as error:  # other exceptions (SystemExit, ^C) do not tell the outcome: the step is lost
            with contextlib.suppress(PawlError):  # without the report the step is lost; the original error is raised in any case
                self._fail(key, f"{type(error).__name__}: {error}")
            raise

    def _begin(self, key: str, args_hash: str, kind: str, on_lost: Optional[str], wait: Optional[float]) -> Dict[str, Any]:
        asked = {"key": key, "kind": kind, "args_hash": args_hash}
        if on_lost is not None:
            asked["on_lost"] = on_lost
        body = json_bytes(asked, "the step")
        answered = None
        while True:
            try:
                begun = cast(Dict[str, Any], json.loads(self._post("begin", body)))
            except Conflict as problem:
                raise determinism(key, args_hash, problem) from None
            if begun["answer"] != "lost":
                return begun
            if begun["on_lost"] == "fail":
                raise StepLost(key)
            if begun["question"] == answered:
                raise PawlError(f"{key} is still lost although its question {answered!r} has an answer")
            answered = begun["question"]
            self._questions.wait(answered, wait)

    def _fail(self, key: str, error: str) -> None:
        text = error.encode(errors="replace")[:_ERROR_BYTES_MAX].decode(errors="ignore")
        self._post("fail", json_bytes({"key": key, "error": text}, "the error"))

    def _post(self, verb: str, body: bytes) -> bytes:
        return self._transport.call("POST", f"/v1/steps/{verb}", body=body).body
