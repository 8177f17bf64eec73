"""Anthropic Messages."""

import json
import time

from script import Request, Said


def read(body, _path):
    said = [message for message in body["messages"] if message["role"] == "assistant"]
    tools = {tool["name"]: tool["input_schema"] for tool in body.get("tools", []) if "input_schema" in tool}
    schema = body.get("output_config", body).get("format") or body.get("output_format") or {}
    return Request(model=body["model"], stream=bool(body.get("stream")), tools=tools, history=[turn_of(message["content"]) for message in said],
                   prompt=text_of(body["messages"][-1]["content"]), system=text_of(body.get("system", "")), schema=schema.get("schema"))


def turn_of(content):
    return Said(text_of(content), sum(part["type"] == "tool_use" for part in parts_of(content)))


def parts_of(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def text_of(content):
    """The text of a message, results of tools included."""
    found = []
    for part in parts_of(content):
        found += [part["text"]] if part["type"] == "text" else [text_of(part.get("content") or "")] if part["type"] == "tool_result" else []
    return "\n".join(found)


def blocks(turn):
    out = [{"type": "text", "text": turn.text}] if turn.text else []
    return out + [{"type": "tool_use", "id": f"toolu_scripted_{turn.number}_{index}", "name": name, "input": values}
                  for index, (name, values) in enumerate(turn.calls)]


def usage(tokens):
    return {"input_tokens": tokens[0], "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": tokens[1]}


def whole(turn, request, tokens):
    return {"id": f"msg_scripted_{turn.number}", "type": "message", "role": "assistant", "model": request.model, "content": blocks(turn),
            "stop_reason": "tool_use" if turn.calls else "end_turn", "stop_sequence": None, "usage": usage(tokens)}


def events(turn, request, tokens):
    message = whole(turn, request, tokens)
    yield event("message_start", message={**message, "content": [], "stop_reason": None, "usage": usage((tokens[0], 1))})
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start, pieces = {"type": "text", "text": ""}, [{"type": "text_delta", "text": text} for text in halves(block["text"])]
        else:
            start = {**block, "input": {}}
            pieces = [{"type": "input_json_delta", "partial_json": text} for text in halves(json.dumps(block["input"]))]
        yield event("content_block_start", index=index, content_block=start)
        for piece in pieces:
            yield event("content_block_delta", index=index, delta=piece)
        yield event("content_block_stop", index=index)
        yield event("ping")
    yield event("message_delta", delta={"stop_reason": message["stop_reason"], "stop_sequence": None}, usage={"output_tokens": tokens[1]})
    yield event("message_stop")


def halves(text):
    return [text[: len(text) // 2], text[len(text) // 2:]]


def event(kind, **members):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n"


def count(tokens):
    return {"input_tokens": tokens[0]}


def models(names):
    return {"data": [{"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"} for name in names], "has_more": False}


ERRORS = {
    "rate_limit": (429, "rate_limit_error", "This request would exceed your organization's rate limit of 50 requests per minute. Please try again later."),
    "usage_window": (429, "rate_limit_error", "This request would exceed your account's rate limit. Please try again later."),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "unauthorized": (401, "authentication_error", "invalid x-api-key"),
    "invalid_key": (401, "authentication_error", "invalid x-api-key"),
    "server_error": (500, "api_error", "Internal server error"),
}


def refusal(fault, _request):
    """Status, headers and body with which the provider refuses."""
    status, kind, message = ERRORS[fault.kind]
    headers = {"request-id": "req_scripted"}
    if fault.kind == "usage_window":
        headers |= window(int(time.time()) + fault.resets_in) | {"retry-after": str(fault.resets_in)}
    if fault.retry_after is not None:
        headers["retry-after"] = str(fault.retry_after)
    return status, headers, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"}


def window(reset):
    """Headers of a subscription whose five hours are used up."""
    values = {"status": "rejected", "reset": reset, "representative-claim": "five_hour", "fallback-percentage": 0.5,
              "5h-status": "rejected", "5h-reset": reset, "5h-utilization": 1.0,
              "7d-status": "allowed", "7d-reset": reset + 3 * 86400, "7d-utilization": 0.4,
              "overage-status": "rejected", "overage-disabled-reason": "org_level_disabled"}
    return {f"anthropic-ratelimit-unified-{name}": str(value) for name, value in values.items()}
