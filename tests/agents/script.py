"""The script that the scripted model plays: which turn a request gets, and which fault comes in its place.

A script is a JSON document:

    {"turns": [{"text": "I look.", "calls": [{"read": "/workspace/a.py"}]}, {"text": "Done."}],
     "faults": [{"kind": "rate_limit", "at": 3, "times": 2, "retry_after": 4}]}

A turn is chosen by the history in the request: its number is the number of the script's turns that the model has
said there. So a retry, a second start and a resumed session get what a model would say at that point. Calls are
counted, not messages: a program may write the calls of several turns into one message of its history.
"""

import dataclasses
import math
import threading
import time

import intents

FAULTS = ("rate_limit", "overloaded", "unauthorized", "invalid_key", "usage_window", "server_error", "bad_gateway", "cut", "late", "hang")
FOR_EVER = 0
# Qwen Code's own agent that looks for what to remember of a session that is resumed. It has tools.
MEMORY = "the managed memory extraction subagent"
AUXILIARY_KINDS = {"title": "title", "routing": "router", "complexity": "router", "quota": "quota"}


@dataclasses.dataclass(frozen=True)
class Said:
    """An assistant's turn in the history of a request."""
    text: str
    calls: int


@dataclasses.dataclass(frozen=True)
class Request:
    """A request in the words of the script; each wire format makes one."""
    model: str
    stream: bool
    tools: dict  # name -> JSON schema of its arguments, or None for a tool that takes plain text
    history: list  # the turns that the model has said
    prompt: str  # all text of the last message
    system: str
    schema: dict | None = None  # JSON schema that the response has to fit


@dataclasses.dataclass(frozen=True)
class Turn:
    """A response of the model. `calls` are pairs of a declared tool and its arguments."""
    number: int
    text: str
    calls: list

    def name(self):
        return "calls " + ", ".join(name for name, _ in self.calls) if self.calls else "text"


@dataclasses.dataclass(frozen=True)
class Fault:
    """What the provider does instead of responding, from main call number `at` on, `times` times. With `everywhere`, auxiliary calls get it, too,
    as they do when a key or an account is refused. With `lasts` it ends so many seconds after its first call, and says how many are left."""
    kind: str
    at: int = 1
    times: int = 1
    retry_after: int | None = None
    resets_in: int = 3600
    seconds: int = 0
    everywhere: bool = False
    lasts: int | None = None

    def __post_init__(self):
        if self.kind not in FAULTS:
            raise ValueError(f"a fault is one of {', '.join(FAULTS)}, not {self.kind}")

    def holds(self, call):
        if self.lasts is not None:
            return call >= self.at
        return call >= self.at and (self.times == FOR_EVER or call < self.at + self.times)


@dataclasses.dataclass(frozen=True)
class Decision:
    """What a request gets. `call` is its number among the main calls, None for an auxiliary one."""
    turn: Turn
    call: int | None
    auxiliary: str | None
    fault: Fault | None


class Script:
    def __init__(self, document):
        self.turns = document["turns"]
        self.faults = [Fault(**fault) for fault in document.get("faults", [])]
        self.lock = threading.Lock()
        self.calls = 0
        self.ends = {}  # by fault that lasts for a time: when it ends

    def decide(self, request):
        kind = auxiliary_kind(request)
        with self.lock:
            self.calls += kind is None
            call = self.calls
            fault = self.fault(max(call, 1), everywhere=bool(kind))
        if kind:
            text = intents.json_of(request.schema) if request.schema else "A scripted title"
            return Decision(Turn(0, text, []), None, kind, fault)
        return Decision(self.turn(request), call, None, fault)

    def fault(self, call, everywhere):
        """The first fault that holds."""
        for fault in self.faults:
            if not fault.holds(call) or (everywhere and not fault.everywhere):
                continue
            if fault.lasts is None:
                return fault
            left = math.ceil(self.ends.setdefault(fault, time.time() + fault.lasts) - time.time())
            if left > 0:
                return dataclasses.replace(fault, resets_in=left, retry_after=None if fault.retry_after is None else left)
        return None

    def turn(self, request):
        number = self.said_in(request.history)
        wanted = self.turns[number] if number < len(self.turns) else {"text": "The script has no more turns."}
        calls = [intents.call_of(intent, request.tools) for intent in wanted.get("calls", [])]
        return Turn(number, wanted.get("text", ""), calls)

    def said_in(self, history):
        """The number of turns that a history has."""
        calls, texts = sum(said.calls for said in history), [said.text for said in history]
        for number, turn in enumerate(self.turns):
            if turn.get("calls"):
                if calls <= 0:
                    return number
                calls -= len(turn["calls"])
            elif turn["text"] in texts:
                texts.remove(turn["text"])
            else:
                return number
        return len(self.turns)


def auxiliary_kind(request):
    """Programs ask for titles, for a choice of the model and the like beside their task. Such a request declares no tool, or dictates the JSON of
    its response."""
    if MEMORY in request.system:
        return "memory"
    if request.tools and not request.schema:
        return None
    words = (request.system + request.prompt).lower()
    return next((kind for word, kind in AUXILIARY_KINDS.items() if word in words), "other")
