"""What OpenAI's two formats have in common: errors, and the list of models."""

import time

ERRORS = {
    "rate_limit": (429, "requests", "rate_limit_exceeded", "Rate limit reached for {model} in organization org-scripted on requests per min (RPM): "
                   "Limit 3, Used 3, Requested 1. Please try again in 20s."),
    "overloaded": (503, "server_error", None, "The engine is currently overloaded, please try again later"),
    "unauthorized": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: scripted. You can find your API key at "
                     "https://platform.openai.com/account/api-keys."),
    "server_error": (500, "server_error", None, "The server had an error while processing your request. Sorry about that!"),
    "quota": (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan and billing details. For more "
              "information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."),
}
ERRORS["invalid_key"] = ERRORS["unauthorized"]


def refusal(kind, fault, request):
    status, error_type, code, message = ERRORS[kind]
    headers = {"x-request-id": "req_scripted"}
    if fault.retry_after is not None:
        headers["retry-after"] = str(fault.retry_after)
    return status, headers, {"error": {"message": message.format(model=request.model), "type": error_type, "param": None, "code": code}}


def window(fault):
    """A subscription of ChatGPT whose window is used up, as Codex' backend says it."""
    reset = int(time.time()) + fault.resets_in
    headers = {"x-codex-primary-used-percent": "100", "x-codex-primary-window-minutes": "300", "x-codex-primary-reset-at": str(reset),
               "x-codex-primary-reset-after-seconds": str(fault.resets_in), "x-request-id": "req_scripted"}
    return 429, headers, {"error": {"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus",
                                    "resets_at": reset, "resets_in_seconds": fault.resets_in}}


def models(names):
    return {"object": "list", "data": [{"id": name, "object": "model", "created": 1767225600, "owned_by": "scripted"} for name in names]}
