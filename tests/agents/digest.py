"""The digest of a request without what differs between two runs of the same program: ids, times, durations."""

import hashlib
import json
import re

VOLATILE_MEMBERS = ("client_metadata", "metadata", "prompt_cache_key", "id")
VOLATILE_TEXT = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # UUIDs
    r"|\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?"  # dates and times
    r"|(?<=Chunk ID: )\w+|(?<=Wall time: )[\d.]+")


def digest_of(body):
    return hashlib.sha256(json.dumps(normalised(body), sort_keys=True).encode()).hexdigest()[:16]


def normalised(value):
    if isinstance(value, dict):
        return {name: normalised(each) for name, each in value.items() if name not in VOLATILE_MEMBERS}
    if isinstance(value, list):
        return [normalised(each) for each in value]
    return VOLATILE_TEXT.sub("*", value) if isinstance(value, str) else value
