"""Pawl's SDK for agents: checkpoints, a journal of paid steps, children, usage, questions.

    import pawl
    agent = pawl.connect()
"""

from .agent import Agent, connect
from .children import Child, Children, Spawn
from .errors import (Conflict, Corrupt, DeterminismError, Foreign, Invalid, NoSpace, NotFound, PawlError, StepLost, TooLarge,
                     TooMany, Unavailable, Waiting)
from .model import Budget, Caps, Checkpoint, Context, Fingerprint, Loaded, Money, Question, SpawnedChild, Spent, Step

__all__ = [
    "Agent", "Budget", "Caps", "Checkpoint", "Child", "Children", "Conflict", "Context", "Corrupt", "DeterminismError",
    "Fingerprint", "Foreign", "Invalid", "Loaded", "Money", "NoSpace", "NotFound", "PawlError", "Question", "Spawn",
    "SpawnedChild", "Spent", "Step", "StepLost", "TooLarge", "TooMany", "Unavailable", "Waiting", "connect",
]
