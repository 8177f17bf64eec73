"""What can go wrong, one class for each reaction of the caller."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Dict, Type

if TYPE_CHECKING:
    from .model import Question


class PawlError(Exception):
    """The root of them all: a problem of RFC 9457. `status` is 0 when no answer came at all."""

    type = "urn:pawl:error"

    def __init__(self, detail: str, *, title: str = "", status: int = 0, type: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.title = title or detail
        self.status = status
        if type:
            self.type = type


class Unavailable(PawlError):
    """Nobody answers on the socket, or there is none, or (status 503) not now: what was asked did not happen."""

    type = "urn:pawl:unavailable"


class Invalid(PawlError):
    """What was asked is not understood: a mistake of the program."""

    type = "urn:pawl:invalid"


class Foreign(PawlError):
    """The socket is that of another goal or episode."""

    type = "urn:pawl:foreign"


class NotFound(PawlError):
    type = "urn:pawl:not-found"


class Conflict(PawlError):
    """A name that was used for something else."""

    type = "urn:pawl:conflict"


class TooLarge(PawlError):
    type = "urn:pawl:too-large"


class TooMany(PawlError):
    type = "urn:pawl:too-many"


class Corrupt(PawlError):
    """What is stored is not what was saved."""

    type = "urn:pawl:corrupt"


class NoSpace(PawlError):
    type = "urn:pawl:no-space"


class DeterminismError(Conflict):
    """A step or a child of this name was begun with other arguments: the program took another way than the
    process before it did. `recorded` and `given` are the two hashes."""

    def __init__(self, key: str, given: str, problem: PawlError) -> None:
        others = [word for word in re.findall(r"[0-9a-f]{64}", problem.detail) if word != given]
        self.key = key
        self.given = given
        self.recorded = others[0] if others else ""
        super().__init__(
            f"{key} was recorded with the arguments {self.recorded or '(another hash)'} and is now called with {given}. "
            "A program must take the same way with the same arguments each time it is started: let what varies "
            "(time, randomness, listings of folders) come out of a step, or name the step yourself with key=. "
            f"Pawl says: {problem.detail}",
            title=problem.title, status=problem.status)


class StepLost(PawlError):
    """A step was begun by a process that is gone; whether it happened nobody knows, and it is not to run again."""

    type = "urn:pawl:step-lost"

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"{key} was begun by a process that is gone, and may have happened. It is not run again "
                         "(on_lost='fail', or a person said so): find out what it did and go on from there.")


class Waiting(PawlError):
    """A person has not answered `question` within the time that was given. Asked again later it is the same question."""

    type = "urn:pawl:waiting"

    def __init__(self, question: "Question") -> None:
        self.question = question
        super().__init__(f"no answer yet to {question.key!r}: {question.question} (a person answers with pawl answer)")


_BY_TYPE: Dict[str, Type[PawlError]] = {
    kind.type: kind for kind in (Unavailable, Invalid, Foreign, NotFound, Conflict, TooLarge, TooMany, Corrupt, NoSpace)}


def determinism(key: str, given: str, problem: Conflict) -> PawlError:
    """The conflict as what it is: the hash that was given is named when another was recorded."""
    return DeterminismError(key, given, problem) if given in problem.detail else problem


def error_of(status: int, body: bytes) -> PawlError:
    """What a response that is no success says."""
    problem: Any
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {}
    kind = str(problem.get("type", ""))
    detail = str(problem.get("detail") or problem.get("title") or f"Pawl answered {status} and no reason")
    return _BY_TYPE.get(kind, PawlError)(detail, title=str(problem.get("title", "")), status=status, type=kind)
