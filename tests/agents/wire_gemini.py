"""Gemini generateContent and streamGenerateContent."""

import json
import re

from script import Request, Said

METHOD = re.compile(r"/models/([^:/]+):(\w+)")


def read(body, path):
    model, method = METHOD.search(path).groups()
    contents = body["contents"]
    tools = {each["name"]: each.get("parametersJsonSchema") or each.get("parameters") or {}
             for tool in body.get("tools", []) for each in tool.get("functionDeclarations", [])}
    settings = body.get("generationConfig", {})
    return Request(model=model, stream=method == "streamGenerateContent", tools=tools,
                   history=[Said(text_of(each), sum("functionCall" in part for part in each["parts"])) for each in contents if each["role"] == "model"],
                   prompt=text_of(contents[-1]), system=text_of(body.get("systemInstruction", {"parts": []})),
                   schema=settings.get("responseJsonSchema") or settings.get("responseSchema"))


def text_of(content):
    return "\n".join(part.get("text") or json.dumps(part.get("functionResponse", {}).get("response", "")) for part in content["parts"])


def parts(turn):
    return ([{"text": turn.text}] if turn.text else []) + [{"functionCall": {"name": name, "args": values}} for name, values in turn.calls]


def usage(tokens):
    return {"promptTokenCount": tokens[0], "candidatesTokenCount": tokens[1], "totalTokenCount": sum(tokens)}


def chunk(found, request, tokens, **ended):
    return {"candidates": [{"content": {"role": "model", "parts": found}, "index": 0, **ended}], "usageMetadata": usage(tokens),
            "modelVersion": request.model, "responseId": "scripted"}


def whole(turn, request, tokens):
    return chunk(parts(turn), request, tokens, finishReason="STOP")


def events(turn, request, tokens):
    for part in parts(turn):
        yield data(chunk([part], request, (tokens[0], 0)))
    yield data(chunk([{"text": ""}], request, tokens, finishReason="STOP"))


def data(document):
    return f"data: {json.dumps(document)}\n\n"


def count(tokens):
    return {"totalTokens": tokens[0]}


def models(names):
    return {"models": [{"name": f"models/{name}", "supportedGenerationMethods": ["generateContent"]} for name in names]}


TYPE = "type.googleapis.com/google.rpc."
QUOTA = "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: " \
        "https://ai.google.dev/gemini-api/docs/rate-limits."
ERRORS = {
    "rate_limit": (429, "RESOURCE_EXHAUSTED", QUOTA),
    "usage_window": (429, "RESOURCE_EXHAUSTED", QUOTA),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "unauthorized": (401, "UNAUTHENTICATED", "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other "
                     "valid authentication credential."),
    "server_error": (500, "INTERNAL", "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"),
    "invalid_key": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
}


def refusal(fault, request):
    """A rate limit counts requests of a minute, a usage window those of a day. When it ends is in RetryInfo, not in a header."""
    status, word, message = ERRORS[fault.kind]
    details = []
    if fault.kind in ("rate_limit", "usage_window"):
        per = "Day" if fault.kind == "usage_window" else "Minute"
        details.append({"@type": TYPE + "QuotaFailure", "violations": [{
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": f"GenerateRequestsPer{per}PerProjectPerModel-FreeTier", "quotaDimensions": {"location": "global", "model": request.model},
            "quotaValue": "50"}]})
    if fault.kind == "invalid_key":
        details.append({"@type": TYPE + "ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"})
    seconds = fault.resets_in if fault.kind == "usage_window" else fault.retry_after
    if seconds is not None:
        details.append({"@type": TYPE + "RetryInfo", "retryDelay": f"{seconds}s"})
    return status, {}, {"error": {"code": status, "message": message, "status": word, "details": details}}
