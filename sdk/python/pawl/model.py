"""What Pawl tells, as values. Members that a newer Pawl adds are left aside."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from decimal import ROUND_UP, Decimal, InvalidOperation
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

Money = Union[str, int, Decimal]  # dollars; never a float

_MICRO = Decimal("0.000001")


def money(value: Money) -> str:
    """Dollars as the API has them. What is below a millionth is rounded up: a cap is not passed by rounding."""
    if isinstance(value, (bool, float)):
        raise TypeError(f"money is a str or a Decimal, never a {type(value).__name__}: {value!r}")
    try:
        number = Decimal(value)
        if number.is_finite() and number.as_tuple().exponent < -6:  # type: ignore[operator]  # 'n' is not finite
            number = number.quantize(_MICRO, rounding=ROUND_UP)
    except InvalidOperation:
        raise ValueError(f"{value!r} is no amount of dollars, like '0.0125'") from None
    if not number.is_finite() or number < 0:
        raise ValueError(f"{value!r} is no amount of dollars, like '0.0125'")
    return format(number, "f")


@dataclass(frozen=True)
class Spent:
    usd: Decimal = Decimal(0)
    tokens: int = 0
    milliseconds: int = 0

    @staticmethod
    def of(told: Mapping[str, Any]) -> "Spent":
        return Spent(Decimal(told["usd"]), told["tokens"], told["milliseconds"])

    def told(self) -> Dict[str, Any]:
        return {"usd": money(self.usd), "tokens": self.tokens, "milliseconds": self.milliseconds}


@dataclass(frozen=True)
class Caps:
    """What may be spent; None: no cap."""

    usd: Optional[Decimal] = None
    tokens: Optional[int] = None

    @staticmethod
    def of(told: Mapping[str, Any]) -> "Caps":
        return Caps(Decimal(told["usd"]) if "usd" in told else None, told.get("tokens"))


@dataclass(frozen=True)
class Budget:
    spent: Spent
    caps: Caps
    stop: bool  # a cap is reached: save the state and end

    @staticmethod
    def of(told: Mapping[str, Any]) -> "Budget":
        return Budget(Spent.of(told["spent"]), Caps.of(told["caps"]), told["stop"])


@dataclass(frozen=True)
class Fingerprint:
    plan: str
    model: str
    pawl: str

    @staticmethod
    def of(told: Mapping[str, Any]) -> "Fingerprint":
        return Fingerprint(told["plan"], told["model"], told["pawl"])


@dataclass(frozen=True)
class Context:
    run_id: str
    phase_id: str
    goal_id: str
    goal: str
    episode_id: str
    attempt: int
    model: str
    session: int   # 1 for the first process of the episode, 2 for the next, ...
    resumed: bool  # an earlier process left a checkpoint or a journaled step
    fingerprint: Fingerprint
    spent: Spent
    caps: Caps
    stop: bool

    @staticmethod
    def of(told: Mapping[str, Any]) -> "Context":
        return Context(told["run_id"], told["phase_id"], told["goal_id"], told["goal"], told["episode_id"], told["attempt"],
                       told["model"], told["session"], told["resumed"], Fingerprint.of(told["fingerprint"]),
                       Spent.of(told["spent"]), Caps.of(told["caps"]), told["stop"])


@dataclass(frozen=True)
class Checkpoint:
    id: str
    seq: int
    hash: str  # BLAKE3 of the payload
    size: int
    metadata: Dict[str, Any]
    spent: Spent
    fingerprint: Fingerprint
    changed: Tuple[str, ...]  # what has changed since the save: plan, model, pawl
    saved_at: str

    @staticmethod
    def of(told: Mapping[str, Any]) -> "Checkpoint":
        return Checkpoint(told["id"], told["seq"], told["hash"], told["size"], told["metadata"], Spent.of(told["spent"]),
                          Fingerprint.of(told["fingerprint"]), tuple(told["changed"]), told["saved_at"])


@dataclass(frozen=True)
class Loaded:
    checkpoint: Checkpoint
    payload: bytes = field(repr=False)

    @property
    def changed(self) -> Tuple[str, ...]:
        return self.checkpoint.changed

    def text(self) -> str:
        return self.payload.decode()

    def json(self) -> Any:
        return json.loads(self.payload)

    @staticmethod
    def of(told: Mapping[str, Any]) -> "Loaded":
        """Of a list that was asked for with payloads."""
        return Loaded(Checkpoint.of(told), base64.b64decode(told["payload"]))


@dataclass(frozen=True)
class Step:
    """A row of the journal."""

    key: str
    kind: str
    args_hash: str
    state: str  # begun, done, failed
    executions: int
    result: Any
    error: Optional[str]
    begun_at: str
    ended_at: Optional[str]

    @staticmethod
    def of(told: Mapping[str, Any]) -> "Step":
        return Step(told["key"], told["kind"], told["args_hash"], told["state"], told["executions"], told.get("result"),
                    told.get("error"), told["begun_at"], told.get("ended_at"))


@dataclass(frozen=True)
class SpawnedChild:
    """A row of the children."""

    child_id: str
    spec_hash: str
    state: str  # running, done
    result: Any
    spawned_at: str
    finished_at: Optional[str]

    @staticmethod
    def of(told: Mapping[str, Any]) -> "SpawnedChild":
        return SpawnedChild(told["child_id"], told["spec_hash"], told["state"], told.get("result"), told["spawned_at"],
                            told.get("finished_at"))


@dataclass(frozen=True)
class Question:
    key: str
    question: str
    choices: List[str]
    answer: Optional[str]
    asked_at: str
    answered_at: Optional[str]

    @staticmethod
    def of(told: Mapping[str, Any]) -> "Question":
        return Question(told["key"], told["question"], list(told.get("choices", [])), told.get("answer"), told["asked_at"],
                        told.get("answered_at"))
