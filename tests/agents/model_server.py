#!/usr/bin/env python3
"""A model that follows a script, over the HTTP formats of the providers: Anthropic Messages, OpenAI Responses and Chat Completions, Gemini.

    model_server.py --script FILE --log FILE [--unix PATH]

Prints its address when it listens: a free port of loopback, or the socket PATH. Ends when its standard input does, so
that it never outlives who started it. The log has a JSON line for each request, written before the response.
"""

import argparse
import http.server
import json
import os
import pathlib
import re
import socket
import socketserver
import sys
import threading
import time

import intents
import wire_anthropic
import wire_chat
import wire_gemini
import wire_responses
from digest import digest_of
from script import Script

BYTES_PER_TOKEN = 4
PROMPT_CHARACTERS_MAX = 4000
BAD_GATEWAY = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"
KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")
# The first line that fits a request says who handles it.
ROUTES = [
    ("HEAD", r"/$", "head", None),
    ("POST", r"/messages/count_tokens$", "count", wire_anthropic),
    ("POST", r"/messages$", "generate", wire_anthropic),
    ("GET", r"/responses$", "upgrade", None),
    ("POST", r"/responses$", "generate", wire_responses),
    ("POST", r"/chat/completions$", "generate", wire_chat),
    ("POST", r":countTokens$", "count", wire_gemini),
    ("POST", r":(generateContent|streamGenerateContent)$", "generate", wire_gemini),
    ("GET", r"/v1beta/models$", "list_models", wire_gemini),
    ("GET", r"/models$", "list_models", wire_chat),
]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "scripted-model"

    def handle_any(self):
        path = self.path.partition("?")[0]
        body = self.body()
        for method, pattern, name, wire in ROUTES:
            if method == self.command and re.search(pattern, path):
                getattr(self, name)(wire, body)
                return
        self.note(answered=404)
        self.send(404, {"error": {"message": f"nothing at {self.command} {path}", "type": "not_found_error"}})

    do_GET = do_POST = do_HEAD = handle_any

    # --- what a request gets

    def head(self, _wire, _body):
        self.note(answered=200)
        self.send(200, {})

    def upgrade(self, _wire, _body):
        """Responses over a WebSocket are refused, so that a client falls back to HTTP."""
        self.note(answered=426)
        self.send(426, {"error": {"message": "no WebSocket here", "type": "invalid_request_error"}})

    def list_models(self, wire, _body):
        self.note(answered=200)
        self.send(200, wire.models(["scripted"]))

    def count(self, wire, body):
        self.note(answered=200, digest=digest_of(body))
        self.send(200, wire.count((tokens_of(body), 0)))

    def generate(self, wire, body):
        request = wire.read(body, self.path.partition("?")[0])
        try:
            decision = self.server.script.decide(request)
        except intents.UnknownTool as error:
            self.note(answered=400, error=str(error))
            self.send(400, {"error": {"message": str(error), "type": "invalid_request_error"}})
            return
        turn, fault = decision.turn, decision.fault
        tokens = tokens_of(body), tokens_of(turn.text) + sum(tokens_of(values) for _, values in turn.calls)
        self.note(call=decision.call, turn=turn.number, auxiliary=decision.auxiliary, answered=fault.kind if fault else turn.name(),
                  digest=digest_of(body), prompt=request.prompt[:PROMPT_CHARACTERS_MAX],
                  tokens=[0, 0] if fault and fault.kind not in ("cut", "late") else list(tokens))
        if fault and fault.kind == "late":
            time.sleep(fault.seconds)
            fault = None
        if fault and fault.kind == "hang":
            threading.Event().wait()
        elif fault and fault.kind == "bad_gateway":
            self.send_data(502, BAD_GATEWAY.encode(), {"content-type": "text/html"})
        elif fault and fault.kind != "cut":
            status, headers, refused = wire.refusal(fault, request)
            self.send(status, refused, headers)
        elif request.stream:
            self.stream(list(wire.events(turn, request, tokens)), cut=bool(fault))
        else:
            self.send(200, wire.whole(turn, request, tokens), cut=bool(fault))

    # --- HTTP

    def body(self):
        """The JSON of the request."""
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            data = b"".join(iter(self.chunk, b""))
        else:
            data = self.rfile.read(int(self.headers.get("content-length", 0)))
        return json.loads(data) if data else {}

    def chunk(self):
        size = int(self.rfile.readline().partition(b";")[0], 16)
        data = self.rfile.read(size)
        self.rfile.readline()
        return data

    def send(self, status, document, headers=None, cut=False):
        self.send_data(status, json.dumps(document).encode(), {"content-type": "application/json", **(headers or {})}, cut)

    def send_data(self, status, data, headers, cut=False):
        self.send_response(status)
        for name, value in {"content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[: len(data) // 2] if cut else data)
        self.close_connection |= cut

    def stream(self, events, cut):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events[: (len(events) + 1) // 2] if cut else events:
            data = event.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        if cut:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    # --- the log

    def note(self, **members):
        key = next((name for name in KEY_HEADERS if name in self.headers), None)
        self.server.note({"at": round(time.time(), 3), "method": self.command, "path": self.path, "key_in": key, **members})

    def log_message(self, *_):
        """The log has what happens; standard error stays empty."""


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, script, log, path):
        self.script, self.log, self.lock = script, log, threading.Lock()
        if path:
            self.address_family = socket.AF_UNIX
        super().__init__(str(path) if path else ("127.0.0.1", 0), Handler)

    def get_request(self):
        connection, client = super().get_request()
        if self.address_family == socket.AF_INET:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # an event of a stream goes out at once
        return connection, client

    def address(self):
        return self.server_address if self.address_family == socket.AF_UNIX else "http://%s:%d" % self.server_address

    def note(self, members):
        with self.lock:
            self.log.write(json.dumps(members) + "\n")
            self.log.flush()

    def handle_error(self, request, client_address):
        """A client may leave at any moment. All other errors are the server's own, and its user must see them."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def tokens_of(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return -(-len(text) // BYTES_PER_TOKEN)


def end_with_input():
    """Waits until who started the server closes its input, on purpose or by its end."""
    while os.read(0, 4096):
        pass
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--script", type=pathlib.Path, required=True)
    parser.add_argument("--log", type=pathlib.Path, required=True)
    parser.add_argument("--unix", type=pathlib.Path)
    options = parser.parse_args()
    with open(options.log, "a", encoding="utf-8") as log:
        server = Server(Script(json.loads(options.script.read_text())), log, options.unix)
        print(server.address(), flush=True)
        threading.Thread(target=end_with_input, daemon=True).start()
        server.serve_forever()


if __name__ == "__main__":
    main()
