"""JSON as Pawl keeps it: what it can't hold is refused, with the place where it is."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

_INTEGERS = range(-(2 ** 63), 2 ** 63)  # the integers that the API transports


def _check(value: Any, where: str) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise TypeError(f"{where} is not a Unicode text: pass it as base64") from None
    elif isinstance(value, int):
        if value not in _INTEGERS:
            raise TypeError(f"{where} does not fit in 64 bits: pass it as a string")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise TypeError(f"{where} is {value}, which JSON does not have")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _check(item, f"{where}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{where} has the key {key!r}: in JSON keys are strings")
            _check(key, f"the key {key!r} of {where}")
            _check(item, f"{where}[{key!r}]")
    else:
        raise TypeError(f"{where} is a {type(value).__name__}, which JSON does not have: pass what it says as "
                        "a string, number, list or dict")


def json_bytes(value: Any, what: str, *, sort_keys: bool = False) -> bytes:
    """JSON without spaces, UTF-8. TypeError names the place in `what` that is not JSON."""
    try:
        _check(value, what)
    except RecursionError:
        raise TypeError(f"{what} is nested too deeply, or in itself") from None
    return json.dumps(value, sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def canonical(value: Any, what: str) -> bytes:
    """The same bytes for the same value: keys sorted."""
    return json_bytes(value, what, sort_keys=True)


def digest(value: Any, what: str) -> str:
    """BLAKE2b-256 of the canonical JSON."""
    return hashlib.blake2b(canonical(value, what), digest_size=32).hexdigest()
