"""What only a person knows."""

from __future__ import annotations

import json
import time
from typing import Any, Dict, Optional, Sequence

from .canonical import digest, json_bytes
from .errors import Waiting
from .model import Question
from .scope import Scopes
from .transport import Transport

_POLL_MS_MAX = 30_000


class Questions:
    def __init__(self, transport: Transport, scopes: Scopes) -> None:
        self._transport = transport
        self._scopes = scopes

    def ask(self, question: str, choices: Optional[Sequence[str]], key: Optional[str], wait: Optional[float]) -> str:
        asked: Dict[str, Any] = {"question": question}
        if choices is not None:
            asked["choices"] = list(choices)
        scope = self._scopes.current()
        if key is None:
            name = "ask:" + digest(asked, "the question")[:16]
            full = f"{scope.inside}{name}:{self._scopes.count(name)}"
        else:
            full = scope.child + key
        told = self._transport.call("PUT", "/v1/question", {"key": full}, body=json_bytes(asked, "the question"))
        known = Question.of(json.loads(told.body))
        return known.answer if known.answer is not None else self.wait(full, wait)

    def wait(self, key: str, wait: Optional[float]) -> str:
        """The answer; Waiting when there is none after `wait` seconds. None waits for ever."""
        until = None if wait is None else time.monotonic() + wait
        while True:
            left_ms = _POLL_MS_MAX if until is None else max(0, int((until - time.monotonic()) * 1000))
            query = {"key": key, "wait_ms": min(left_ms, _POLL_MS_MAX)}
            question = Question.of(json.loads(self._transport.long_poll("/v1/question", query).body))
            if question.answer is not None:
                return question.answer
            if until is not None and time.monotonic() >= until:
                raise Waiting(question)
