"""OpenAI Responses."""

import json

import wire_openai
from script import Request, Said

models = wire_openai.models
CALLS = ("function_call", "custom_tool_call", "local_shell_call")


def read(body, _path):
    items = body["input"] if isinstance(body["input"], list) else [{"type": "message", "role": "user", "content": body["input"]}]
    schema = body.get("text", {}).get("format", {}).get("schema")
    return Request(model=body["model"], stream=bool(body.get("stream")), tools=dict(map(tool_of, filter(is_ours, body.get("tools", [])))),
                   history=list(turns_of(items)), prompt=prompt_of(items), system=body.get("instructions") or "", schema=schema)


def is_ours(tool):
    return tool["type"] in ("function", "custom")


def tool_of(tool):
    return tool["name"], tool["parameters"] if tool["type"] == "function" else None


def turns_of(items):
    """Items of the model that follow each other are one turn."""
    text, calls, open_turn = "", 0, False
    for item in [*items, {"type": "end"}]:
        is_text = item.get("role") == "assistant"
        if is_text or item.get("type") in CALLS + ("reasoning",):
            text, calls, open_turn = text + (text_of(item) if is_text else ""), calls + (item.get("type") in CALLS), True
        elif open_turn:
            yield Said(text, calls)
            text, calls, open_turn = "", 0, False


def text_of(item):
    content = item.get("content", item.get("output", ""))
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def prompt_of(items):
    last = items[-1:] if items[-1].get("type", "").endswith("_output") else [item for item in items if item.get("role") == "user"][-1:]
    return "\n".join(map(text_of, last))


def output(turn):
    out = []
    if turn.text:
        out.append({"type": "message", "id": f"msg_scripted_{turn.number}", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": turn.text, "annotations": []}]})
    for index, (name, values) in enumerate(turn.calls):
        ids = {"id": f"fc_scripted_{turn.number}_{index}", "call_id": f"call_scripted_{turn.number}_{index}", "name": name, "status": "completed"}
        out.append({"type": "custom_tool_call", **ids, "input": values} if isinstance(values, str) else
                   {"type": "function_call", **ids, "arguments": json.dumps(values)})
    return out


def whole(turn, request, tokens):
    return {"id": f"resp_scripted_{turn.number}", "object": "response", "created_at": 1767225600, "status": "completed", "model": request.model,
            "output": output(turn), "error": None, "incomplete_details": None,
            "usage": {"input_tokens": tokens[0], "input_tokens_details": {"cached_tokens": 0}, "output_tokens": tokens[1],
                      "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": sum(tokens)}}


def events(turn, request, tokens):
    done = whole(turn, request, tokens)
    begun = {**done, "status": "in_progress", "output": [], "usage": None}
    for number, (kind, members) in enumerate(parts(done, begun)):
        yield f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': number, **members})}\n\n"


def parts(done, begun):
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(done["output"]):
        yield "response.output_item.added", {"output_index": index, "item": {**item, "status": "in_progress"} | empty(item)}
        if item["type"] == "message":
            text = item["content"][0]["text"]
            for piece in (text[: len(text) // 2], text[len(text) // 2:]):
                yield "response.output_text.delta", {"item_id": item["id"], "output_index": index, "content_index": 0, "delta": piece}
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield "response.completed", {"response": done}


def empty(item):
    return {"message": {"content": []}, "function_call": {"arguments": ""}, "custom_tool_call": {"input": ""}}[item["type"]]


def refusal(fault, request):
    return wire_openai.window(fault) if fault.kind == "usage_window" else wire_openai.refusal(fault.kind, fault, request)
