#!/usr/bin/env python3
"""The scripted model server, as a client of each format sees it: turns, streams, tools, faults, auxiliary calls, its log and its end."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

import intents
import script
from digest import digest_of
from scripted_model import SERVER, ScriptedModel

TURNS = [{"text": "I look.", "calls": [{"read": "/w/a"}, {"shell": "true"}]}, {"text": "Done."}]
READ = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
BASH = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
SCHEMA = {"type": "object", "properties": {"model_choice": {"type": "string", "enum": ["flash", "pro"]}}}
GEMINI = "/v1beta/models/m:generateContent"
GEMINI_STREAM = "/v1beta/models/m:streamGenerateContent?alt=sse"

# format: (path, body without history, members for a stream, members that demand JSON)
FORMATS = {
    "anthropic": ("/v1/messages", {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}],
                                   "tools": [{"name": "Read", "input_schema": READ}, {"name": "Bash", "input_schema": BASH}]},
                  {"stream": True}, {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
    "responses": ("/v1/responses", {"model": "m", "input": "go", "tools": [{"type": "function", "name": "Read", "parameters": READ},
                                                                           {"type": "function", "name": "Bash", "parameters": BASH}]},
                  {"stream": True}, {"text": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
    "chat": ("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "go"}],
                                      "tools": [{"type": "function", "function": {"name": "Read", "parameters": READ}},
                                                {"type": "function", "function": {"name": "Bash", "parameters": BASH}}]},
             {"stream": True}, {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}}),
    "gemini": (GEMINI, {"contents": [{"role": "user", "parts": [{"text": "go"}]}],
                        "tools": [{"functionDeclarations": [{"name": "Read", "parametersJsonSchema": READ}, {"name": "Bash", "parameters": BASH}]}]},
               {}, {"generationConfig": {"responseSchema": SCHEMA}}),
}
CALLED = [("Read", {"path": "/w/a"}), ("Bash", {"command": "true"})]


def pair(name, values):
    return name, json.loads(values) if isinstance(values, str) else values


def heard(form, document):
    """Text and calls of a response that is not streamed."""
    if form == "anthropic":
        parts = document["content"]
        return (next((part["text"] for part in parts if part["type"] == "text"), ""),
                [(part["name"], part["input"]) for part in parts if part["type"] == "tool_use"])
    if form == "responses":
        items = document["output"]
        return (next((item["content"][0]["text"] for item in items if item["type"] == "message"), ""),
                [pair(item["name"], item["arguments"]) for item in items if item["type"] == "function_call"])
    if form == "chat":
        message = document["choices"][0]["message"]
        return message["content"], [pair(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", [])]
    parts = document["candidates"][0]["content"]["parts"]
    return (next((part["text"] for part in parts if "text" in part), ""),
            [(part["functionCall"]["name"], part["functionCall"]["args"]) for part in parts if "functionCall" in part])


def streamed(form, text):
    """Text and calls of a stream, put together as a client does."""
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    if form == "responses":
        return heard(form, events[-1]["response"])
    if form == "gemini":
        return heard(form, {"candidates": [{"content": {"parts": [part for event in events for part in event["candidates"][0]["content"]["parts"]]}}]})
    said, names, values = "", [], []
    for event in events:
        if form == "anthropic":
            delta = event.get("delta", {})
            said += delta.get("text", "")
            if event.get("content_block", {}).get("type") == "tool_use":
                names, values = [*names, event["content_block"]["name"]], [*values, ""]
            if "partial_json" in delta:
                values[-1] += delta["partial_json"]
            continue
        for choice in event["choices"]:
            said += choice["delta"].get("content") or ""
            for call in choice["delta"].get("tool_calls", []):
                if "name" in call["function"]:
                    names, values = [*names, call["function"]["name"]], [*values, ""]
                values[call["index"]] += call["function"]["arguments"]
    return said, list(map(pair, names, values))


def with_history(form, body):
    """The same request after the first turn, with the results of its calls."""
    if form == "anthropic":
        said = [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "1", "name": "Read", "input": {}}]
        more = [{"role": "assistant", "content": said}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "seen"}]}]
        return {**body, "messages": body["messages"] + more}
    if form == "responses":
        calls = [{"type": "function_call", "call_id": each, "name": "Read", "arguments": "{}"} for each in "ab"]
        results = [{"type": "function_call_output", "call_id": each, "output": "seen"} for each in "ab"]
        return {**body, "input": [{"type": "message", "role": "user", "content": "go"}, *calls, *results]}
    if form == "chat":
        call = {"id": "1", "type": "function", "function": {"name": "Read", "arguments": "{}"}}
        more = [{"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "1", "content": "seen"}]
        return {**body, "messages": body["messages"] + more}
    more = [{"role": "model", "parts": [{"functionCall": {"name": "Read", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "Read", "response": {"output": "seen"}}}]}]
    return {**body, "contents": body["contents"] + more}


class Socket(http.client.HTTPConnection):
    """HTTP over a socket of a path."""

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.host)


class ServerTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-model-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def model(self, *faults, **options):
        return ScriptedModel(self.folder, TURNS, faults, **options)

    @staticmethod
    def connection(model):
        return Socket(model.address) if model.address.startswith("/") else http.client.HTTPConnection(urllib.parse.urlsplit(model.address).netloc, timeout=30)

    def ask(self, model, path, body=None, method="POST"):
        """Status, headers and text."""
        connection = self.connection(model)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, {"authorization": "Bearer scripted"})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()
        finally:
            connection.close()

    def ask_stream(self, model, form, body):
        path, _, members, _ = FORMATS[form]
        return self.ask(model, GEMINI_STREAM if form == "gemini" else path, {**body, **members})


class Turns(ServerTest):
    def test_each_format_says_the_turns_whole_and_streamed(self):
        for form, (path, body, _, _) in FORMATS.items():
            with self.subTest(form), self.model() as model:
                first = heard(form, json.loads(self.ask(model, path, body)[2]))
                self.assertEqual(first, ("I look.", CALLED))
                self.assertEqual(streamed(form, self.ask_stream(model, form, body)[2]), first)
                last = heard(form, json.loads(self.ask(model, path, with_history(form, body))[2]))
                self.assertEqual(last, ("Done.", []))
                self.assertEqual(streamed(form, self.ask_stream(model, form, with_history(form, body))[2]), last)

    def test_a_message_with_the_calls_of_two_turns_counts_as_two(self):
        """As Gemini CLI sends them when it goes on in a session."""
        path, body, _, _ = FORMATS["gemini"]
        call = {"functionCall": {"name": "Read", "args": {}}}
        said = [{"role": "model", "parts": [{"text": "I look."}, call, call, call]}, {"role": "user", "parts": [{"text": "go on"}]}]
        with ScriptedModel(self.folder, [TURNS[0], TURNS[0], TURNS[1]]) as model:
            answer = self.ask(model, path, {**body, "contents": body["contents"] + said})[2]
        self.assertEqual(heard("gemini", json.loads(answer)), ("Done.", []))

    def test_auxiliary_calls_take_no_turn(self):
        for form, (path, body, _, schema) in FORMATS.items():
            with self.subTest(form), self.model() as model:
                before = len(model.requests())
                text, calls = heard(form, json.loads(self.ask(model, path, {**body, **schema})[2]))
                self.assertEqual((json.loads(text), calls), ({"model_choice": "flash"}, []))
                without_tools = {name: value for name, value in body.items() if name != "tools"}
                self.ask(model, path, json.loads(json.dumps(without_tools).replace('"go"', '"Generate a title"')))
                self.ask(model, path, body)
                requests = model.requests()[before:]
                self.assertEqual([request["auxiliary"] for request in requests], ["other", "title", None])
                self.assertEqual([request["call"] for request in requests], [None, None, 1])

    def test_other_paths(self):
        with self.model() as model:
            self.assertEqual(self.ask(model, "/", method="HEAD")[0], 200)
            count = FORMATS["anthropic"][1]
            self.assertGreater(json.loads(self.ask(model, "/v1/messages/count_tokens?beta=true", count)[2])["input_tokens"], 10)
            self.assertGreater(json.loads(self.ask(model, "/v1beta/models/m:countTokens", FORMATS["gemini"][1])[2])["totalTokens"], 10)
            self.assertEqual(json.loads(self.ask(model, "/v1/models", method="GET")[2])["data"][0]["id"], "scripted")
            self.assertEqual(self.ask(model, "/v1/responses", method="GET")[0], 426)
            self.assertEqual(self.ask(model, "/elsewhere", {})[0], 404)

    def test_over_a_socket_of_a_path(self):
        with self.model(unix=self.folder / "socket") as model:
            path, body, _, _ = FORMATS["chat"]
            self.assertEqual(heard("chat", json.loads(self.ask(model, path, body)[2]))[0], "I look.")

    def test_the_log_has_a_line_for_each_request(self):
        path, body, _, _ = FORMATS["chat"]
        with self.model({"kind": "overloaded", "at": 2}) as model:
            for _ in range(3):
                self.ask(model, path, body)
            lines = model.requests()
        self.assertEqual([line["answered"] for line in lines], ["calls Read, Bash", "overloaded", "calls Read, Bash"])
        self.assertEqual({(line["path"], line["key_in"], line["turn"], line["prompt"]) for line in lines}, {(path, "authorization", 0, "go")})
        self.assertEqual(len({line["digest"] for line in lines}), 1)
        self.assertGreater(min(lines[0]["tokens"]), 0)
        self.assertEqual(lines[1]["tokens"], [0, 0])

    def test_the_digest_leaves_out_ids_times_and_durations(self):
        one = {"metadata": {"a": 1}, "input": [{"id": "x", "text": "at 2026-11-27T10:00:00.1, Wall time: 0.1 seconds, Chunk ID: ab12"}]}
        other = {"input": [{"text": "at 2026-11-28 11:30, Wall time: 12.5 seconds, Chunk ID: cd34", "id": "y"}]}
        self.assertEqual(digest_of(one), digest_of(other))
        self.assertNotEqual(digest_of(one), digest_of({"input": [{"text": "at noon"}]}))

    def test_ends_with_who_started_it(self):
        """Also when that is killed: the pipe to its standard input closes."""
        (self.folder / "script.json").write_text(json.dumps({"turns": TURNS}))
        starts = "import subprocess, sys, time\n" \
                 "print(subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL).pid, flush=True)\ntime.sleep(600)"
        command = [sys.executable, SERVER, "--script", self.folder / "script.json", "--log", self.folder / "log"]
        parent = subprocess.Popen([sys.executable, "-c", starts, *command], stdout=subprocess.PIPE, text=True)
        server = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
        parent.wait()
        parent.stdout.close()
        until = time.monotonic() + 30
        try:
            while time.monotonic() < until:
                signal.pidfd_send_signal(server, 0)
                time.sleep(0.05)
            self.fail("the server is still there")
        except ProcessLookupError:
            pass
        finally:
            os.close(server)


class Faults(ServerTest):
    def refused(self, form, **fault):
        path, body, _, _ = FORMATS[form]
        with self.model(fault) as model:
            status, headers, text = self.ask(model, path, body)
        return status, headers, json.loads(text)["error"]

    def test_a_rate_limit_says_how_long_when_it_knows(self):
        for form in FORMATS:
            with self.subTest(form):
                status, headers, error = self.refused(form, kind="rate_limit", retry_after=4)
                self.assertEqual(status, 429)
                said = error["details"][-1]["retryDelay"].rstrip("s") if form == "gemini" else headers["retry-after"]
                self.assertEqual(said, "4")
                status, headers, error = self.refused(form, kind="rate_limit")
                self.assertEqual((status, headers["retry-after"]), (429, None))
                self.assertNotIn("retryDelay", json.dumps(error))

    def test_statuses_of_each_provider(self):
        expected = {"overloaded": (529, 503, 503, 503), "unauthorized": (401, 401, 401, 401), "invalid_key": (401, 401, 401, 400),
                    "usage_window": (429, 429, 429, 429), "server_error": (500, 500, 500, 500)}
        for kind, statuses in expected.items():
            self.assertEqual(tuple(self.refused(form, kind=kind)[0] for form in FORMATS), statuses, kind)

    def test_a_gateway_has_a_page(self):
        with self.model({"kind": "bad_gateway"}) as model:
            status, headers, text = self.ask(model, *FORMATS["chat"][:2])
        self.assertEqual((status, headers["content-type"]), (502, "text/html"))
        self.assertTrue(text.startswith("<html>"), text)

    def test_a_usage_window_says_when_it_ends(self):
        _, headers, _ = self.refused("anthropic", kind="usage_window", resets_in=7200)
        self.assertEqual((headers["anthropic-ratelimit-unified-status"], headers["anthropic-ratelimit-unified-representative-claim"]), ("rejected", "five_hour"))
        self.assertAlmostEqual(int(headers["anthropic-ratelimit-unified-reset"]), time.time() + 7200, delta=60)
        _, _, error = self.refused("responses", kind="usage_window", resets_in=7200)
        self.assertEqual((error["type"], error["resets_in_seconds"]), ("usage_limit_reached", 7200))
        _, _, error = self.refused("chat", kind="usage_window")
        self.assertEqual(error["code"], "insufficient_quota")
        _, _, error = self.refused("gemini", kind="usage_window", resets_in=7200)
        self.assertEqual((error["status"], error["details"][-1]["retryDelay"]), ("RESOURCE_EXHAUSTED", "7200s"))
        self.assertIn("PerDay", error["details"][0]["violations"][0]["quotaId"])

    def test_a_fault_takes_the_calls_that_it_names(self):
        path, body, _, _ = FORMATS["chat"]
        auxiliary = {name: value for name, value in body.items() if name != "tools"}
        with self.model({"kind": "rate_limit", "at": 2, "times": 2}) as model:
            self.assertEqual([self.ask(model, path, each)[0] for each in (body, body, auxiliary, body, body)], [200, 429, 200, 429, 200])
        with self.model({"kind": "unauthorized", "times": 0, "everywhere": True}) as model:
            self.assertEqual([self.ask(model, path, each)[0] for each in (auxiliary, body, body, auxiliary)], [401] * 4)

    def test_a_fault_that_lasts_says_how_long(self):
        path, body, _, _ = FORMATS["chat"]
        with self.model({"kind": "rate_limit", "lasts": 2, "retry_after": 0}) as model:
            asked = [self.ask(model, path, body)]
            time.sleep(1)
            asked.append(self.ask(model, path, body))
            time.sleep(1.1)
            asked.append(self.ask(model, path, body))
        self.assertEqual([(status, headers["retry-after"]) for status, headers, _ in asked], [(429, "2"), (429, "1"), (200, None)])

    def test_a_stream_that_is_cut_has_no_end(self):
        for form, (path, body, _, _) in FORMATS.items():
            with self.subTest(form), self.model({"kind": "cut", "times": 2}) as model:
                with self.assertRaises(http.client.IncompleteRead) as told:
                    self.ask_stream(model, form, body)
                self.assertIn(b"data: ", told.exception.partial)
                with self.assertRaises(http.client.IncompleteRead):
                    self.ask(model, path, body)
                self.assertEqual(self.ask(model, path, body)[0], 200)

    def test_a_late_response_is_whole(self):
        for form, (path, body, _, _) in FORMATS.items():
            with self.subTest(form), self.model({"kind": "late", "seconds": 1}) as model:
                began = time.monotonic()
                late = self.ask(model, path, body)
                self.assertGreaterEqual(time.monotonic() - began, 1)
                self.assertEqual((late[0], self.ask(model, path, body)[0]), (200, 200))
                first, second = model.calls()[-2:]
                self.assertEqual([call["answered"] == "late" for call in (first, second)], [True, False])
                self.assertEqual(first["tokens"], second["tokens"])

    def test_a_hang_says_nothing(self):
        path, body, _, _ = FORMATS["chat"]
        with self.model({"kind": "hang"}) as model:
            connection = self.connection(model)
            connection.connect()
            connection.sock.settimeout(0.3)
            connection.request("POST", path, json.dumps(body))
            self.assertRaises(TimeoutError, connection.getresponse)
            connection.close()
            self.assertEqual(self.ask(model, path, body)[0], 200)

    def test_a_fault_that_nobody_knows_is_refused(self):
        self.assertRaises(ValueError, script.Script, {"turns": [], "faults": [{"kind": "flood"}]})


class Tools(unittest.TestCase):
    """Intents become calls of the tools that programs declare."""

    @staticmethod
    def schema(*names, **others):
        return {"type": "object", "properties": {**{name: {"type": "string"} for name in names}, **others}, "required": [*names, *others]}

    def test_names_of_tools_and_arguments(self):
        edit = {"edit": "/w/a", "old": "1", "new": "2"}
        for intent, tools, expected in (
                ({"read": "/w/a"}, {"Read": self.schema("file_path")}, ("Read", {"file_path": "/w/a"})),
                ({"read": "/w/a"}, {"read_file": self.schema("absolute_path")}, ("read_file", {"absolute_path": "/w/a"})),
                ({"write": "/w/a", "text": "1"}, {"write": self.schema("content", "filePath")}, ("write", {"content": "1", "filePath": "/w/a"})),
                (edit, {"replace": self.schema("instruction", "file_path", "old_string", "new_string")},
                 ("replace", {"instruction": "As the script says", "file_path": "/w/a", "old_string": "1", "new_string": "2"})),
                (edit, {"edit": self.schema("path", edits={"type": "array", "items": self.schema("oldText", "newText")})},
                 ("edit", {"path": "/w/a", "edits": [{"oldText": "1", "newText": "2"}]})),
                ({"shell": "ls"}, {"run_shell_command": self.schema("command", is_background={"type": "boolean"})},
                 ("run_shell_command", {"command": "ls", "is_background": False})),
                ({"shell": "ls"}, {"exec_command": self.schema("cmd")}, ("exec_command", {"cmd": "ls"})),
                ({"search": "a b"}, {"grep": self.schema("pattern")}, ("grep", {"pattern": "a b"})),
                ({"shell": "ls"}, {"shell": self.schema(command={"type": "array"})}, ("shell", {"command": ["bash", "-c", "ls"]}))):
            with self.subTest(expected[0]):
                self.assertEqual(intents.call_of(intent, tools), expected)

    def test_a_patch_or_a_command_stands_in(self):
        tools = {"exec_command": self.schema("cmd"), "apply_patch": None}
        name, patch = intents.call_of({"edit": "/w/a", "old": "one\ntwo", "new": "three"}, tools)
        self.assertEqual((name, patch), ("apply_patch", "*** Begin Patch\n*** Update File: /w/a\n@@\n-one\n-two\n+three\n*** End Patch\n"))
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "it's")
            for intent, text in (({"write": str(file), "text": "one 'two'\n"}, "one 'two'\n"), ({"edit": str(file), "old": "'two'", "new": "$3"}, "one $3\n")):
                name, values = intents.call_of(intent, {"bash": self.schema("command")})
                subprocess.run(["bash", "-c", values["command"]], check=True)
                self.assertEqual(file.read_text(), text)
            _, values = intents.call_of({"read": str(file)}, {"bash": self.schema("command")})
            self.assertEqual(subprocess.run(["bash", "-c", values["command"]], capture_output=True, text=True).stdout, "one $3\n")

    def test_without_a_tool_for_commands_it_is_said(self):
        self.assertRaises(intents.UnknownTool, intents.call_of, {"shell": "ls"}, {"think": self.schema("thought")})


if __name__ == "__main__":
    unittest.main()
