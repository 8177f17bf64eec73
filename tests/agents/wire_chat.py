"""OpenAI Chat Completions."""

import json

import wire_openai
from script import Request, Said

models = wire_openai.models


def read(body, _path):
    messages = body["messages"]
    said = [message for message in messages if message["role"] == "assistant"]
    tools = {tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in body.get("tools", []) if tool["type"] == "function"}
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    system = [text_of(message) for message in messages if message["role"] in ("system", "developer")]
    return Request(model=body["model"], stream=bool(body.get("stream")), tools=tools,
                   history=[Said(text_of(message), len(message.get("tool_calls") or [])) for message in said],
                   prompt=text_of(messages[-1]), system="\n".join(system), schema=schema)


def text_of(message):
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def usage(tokens):
    return {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}


def calls_of(turn):
    return [{"id": f"call_scripted_{turn.number}_{index}", "type": "function", "function": {"name": name, "arguments": json.dumps(values)}}
            for index, (name, values) in enumerate(turn.calls)]


def frame(turn, request, kind):
    return {"id": f"chatcmpl-scripted-{turn.number}", "object": kind, "created": 1767225600, "model": request.model}


def finish(turn):
    return "tool_calls" if turn.calls else "stop"


def whole(turn, request, tokens):
    message = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = calls_of(turn)
    return {**frame(turn, request, "chat.completion"), "choices": [{"index": 0, "message": message, "finish_reason": finish(turn)}],
            "usage": usage(tokens)}


def events(turn, request, tokens):
    deltas = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in (turn.text[: len(turn.text) // 2], turn.text[len(turn.text) // 2:]) if piece]
    for index, call in enumerate(calls_of(turn)):
        text = call["function"]["arguments"]
        deltas.append({"tool_calls": [{**call, "index": index, "function": {"name": call["function"]["name"], "arguments": ""}}]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in (text[: len(text) // 2], text[len(text) // 2:])]
    base = frame(turn, request, "chat.completion.chunk")
    for delta in deltas:
        yield data({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield data({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish(turn)}]})
    yield data({**base, "choices": [], "usage": usage(tokens)})
    yield "data: [DONE]\n\n"


def data(document):
    return f"data: {json.dumps(document)}\n\n"


def refusal(fault, request):
    return wire_openai.refusal("quota" if fault.kind == "usage_window" else fault.kind, fault, request)
