#!/usr/bin/env python3
"""Checks `pawl agentd` against docs/agent-api.yaml in both directions, and its other promises."""

import base64
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.parse

import jsonschema
import yaml
from agentd import AgentdTest, Connection, connect, saved
from pawl_testing import PAWL

ROOT = pathlib.Path(__file__).resolve().parents[2]
API = yaml.safe_load((ROOT / "docs/agent-api.yaml").read_text())
SCHEMAS = API["components"]["schemas"]
METHODS = ("get", "put", "post", "delete", "head", "options", "patch", "trace")
STEP = {"key": "k", "kind": "effect", "args_hash": "h"}

# For each operation a request that is answered with 2xx when they are sent in this order, and one with all optional parts.
REQUESTS = [
    ("context", "GET", "/v1/context", None),
    ("heartbeat", "POST", "/v1/heartbeat", None),
    ("heartbeat", "POST", "/v1/heartbeat", {"note": "reading"}),
    ("log", "POST", "/v1/log", {"message": "m"}),
    ("log", "POST", "/v1/log", {"message": "m", "level": "debug"}),
    ("saveCheckpoint", "PUT", "/v1/checkpoint?id=a&keep=0", b"payload"),
    ("saveCheckpoint", "PUT", "/v1/checkpoint?id=a", b"payload 2"),
    ("loadCheckpoint", "GET", "/v1/checkpoint?id=a&seq=1", None),
    ("loadCheckpoint", "GET", "/v1/checkpoint?id=a", None),
    ("listCheckpoints", "GET", "/v1/checkpoints?prefix=a&before=9&limit=1&payload=false", None),
    ("listCheckpoints", "GET", "/v1/checkpoints?id=a&payload=true", None),
    ("listCheckpoints", "GET", "/v1/checkpoints?id=nothing", None),
    ("beginStep", "POST", "/v1/steps/begin", {**STEP, "on_lost": "fail"}),
    ("completeStep", "POST", "/v1/steps/complete", {"key": "k", "result": {"x": [1, 0.5, None]}}),
    ("beginStep", "POST", "/v1/steps/begin", STEP),
    ("beginStep", "POST", "/v1/steps/begin", {**STEP, "key": "l"}),
    ("failStep", "POST", "/v1/steps/fail", {"key": "l", "error": "e"}),
    ("beginStep", "POST", "/v1/steps/begin", {**STEP, "key": "m"}),
    ("listSteps", "GET", "/v1/steps?after=a&limit=10", None),
    ("spawnChild", "POST", "/v1/children/spawn", {"parent": "a", "spawn_seq": 0, "ordinal": 0, "spec_hash": "h"}),
    ("listChildren", "GET", "/v1/children?limit=5", None),
    ("finishChild", "POST", "/v1/children/finish", {"child_id": "a/0.0", "result": 1}),
    ("spawnChild", "POST", "/v1/children/spawn", {"parent": "a", "spawn_seq": 0, "ordinal": 0, "spec_hash": "h"}),
    ("listChildren", "GET", "/v1/children?after=a&limit=5", None),
    ("usage", "POST", "/v1/usage", {"id": "1", "model": "m", "input_tokens": 1, "output_tokens": 2}),
    ("usage", "POST", "/v1/usage", {"id": "2", "model": "m", "input_tokens": 1, "output_tokens": 2, "cached_tokens": 1, "usd": "0.000001"}),
    ("ask", "PUT", "/v1/question?key=q", {"question": "why?"}),
    ("ask", "PUT", "/v1/question?key=r", {"question": "which?", "choices": ["a", "b"]}),
    ("question", "GET", "/v1/question?key=q&wait_ms=1", None),
    ("answer", "POST", "/v1/answer", {"key": "r", "answer": "a", "who": "tester"}),
    ("question", "GET", "/v1/question?key=r", None),
    ("pruneCheckpoints", "DELETE", "/v1/checkpoints?id=a", None),
    ("pruneCheckpoints", "DELETE", "/v1/checkpoints?prefix=a", None),
]
# Requests that the server refuses by its own rules, not by JSON Schema. For each type of member one wrong value.
WRONG = {"string": 7, "integer": "7", "array": "x"}


def operations():
    for path, item in API["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method], [*item.get("parameters", []), *item[method].get("parameters", [])]


def strict(schema):
    """The same schema, which also refuses members that it does not name."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: strict(value) for key, value in schema.items()}
    if "properties" in out and schema.get("type") == "object":
        out.setdefault("additionalProperties", False)
    return out


def schema_of(name):
    return {"$ref": f"#/components/schemas/{name}", "components": {"schemas": strict(SCHEMAS)}}


def resolved(schema):
    return SCHEMAS[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema


class Contract(AgentdTest):
    def setUp(self):
        super().setUp()
        self.agentd()
        self.seen = {}  # schema name: properties that a response had

    def one(self, method, target, body=None, headers=None):
        path = self.folder / "operator.sock" if target.startswith("/v1/answer") else self.socket
        connection = Connection(path)
        self.addCleanup(connection.close)
        if isinstance(body, bytes):
            headers = {"Pawl-Metadata": base64.b64encode(b'{"n": 0.5}').decode(),
                       "Pawl-Spent": '{"usd":"1","tokens":2,"milliseconds":3}', **(headers or {})}
        return connection.ask(method, target, body, {"Pawl-Session": "s", **(headers or {})})

    def documented(self, method, target):
        item = API["paths"][target.partition("?")[0]]
        return item[method.lower()]

    def check(self, method, target, answer):
        """Checks that the documentation has this response."""
        known = self.documented(method, target)["responses"]
        if str(answer.status) not in known and answer.status >= 400:
            self.check_problem(answer)
            return
        self.assertIn(str(answer.status), known, f"{method} {target}: {answer.body}")
        entry = known[str(answer.status)]
        content = entry.get("content", {})
        for header, about in entry.get("headers", {}).items():
            if about.get("required"):
                self.assertIsNotNone(answer.getheader(header), target)
        if not content:
            self.assertEqual(answer.body, b"")
            return
        self.assertIn(answer.getheader("Content-Type"), content)
        if answer.json is not None:
            schema = next(iter(content.values()))["schema"]
            jsonschema.Draft202012Validator({**strict(schema), "components": {"schemas": strict(SCHEMAS)}}).validate(answer.json)
            self.note(schema, answer.json)

    def check_problem(self, answer):
        self.assertEqual(answer.getheader("Content-Type"), "application/problem+json")
        jsonschema.Draft202012Validator(schema_of("Problem")).validate(answer.json)
        self.assertEqual(answer.json["status"], answer.status)
        self.assertIn(answer.json["type"], API["info"]["description"])
        self.note({"$ref": "x/Problem"}, answer.json)

    def note(self, schema, value):
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            if isinstance(value, dict):
                self.seen.setdefault(name, set()).update(value)
            schema = SCHEMAS[name]
        for key, below in schema.get("properties", {}).items():
            if isinstance(value, dict) and key in value:
                self.note(below, value[key])
        if isinstance(value, list):
            for one in value:
                self.note(schema.get("items", {}), one)

    def run_all(self):
        for name, method, target, body in REQUESTS:
            answer = self.one(method, target, body)
            self.assertEqual(self.documented(method, target)["operationId"], name)
            self.assertLess(answer.status, 300, f"{method} {target}: {answer.body}")
            self.check(method, target, answer)
            if name == "loadCheckpoint":
                told = saved(answer)
                jsonschema.Draft202012Validator(schema_of("Checkpoint")).validate(told)
                self.seen.setdefault("Checkpoint", set()).update(told)

    def test_every_operation_answers_what_the_page_says(self):
        self.run_all()
        self.assertEqual({name for name, *_ in REQUESTS}, {op["operationId"] for _, _, op, _ in operations()})
        # Lost steps and problems. A load of a missing id names the existing ones.
        self.assertLess(self.one("PUT", "/v1/checkpoint?id=main-0", b"state").status, 300)
        for expect, (method, target, body) in ((200, ("POST", "/v1/steps/begin", {**STEP, "key": "m"})),
                                               (409, ("POST", "/v1/steps/begin", {**STEP, "args_hash": "other"})),
                                               (404, ("GET", "/v1/checkpoint?id=nothing", None)),
                                               (404, ("GET", "/v1/question?key=nothing", None)),
                                               (409, ("POST", "/v1/answer", {"key": "r", "answer": "b", "who": "x"}))):
            answer = self.one(method, target, body, {"Pawl-Session": "another"})
            self.assertEqual(answer.status, expect, answer.body)
            self.check(method, target, answer)
        requests = {"Heartbeat", "LogLine", "StepBegin", "StepComplete", "StepFail", "ChildSpawn", "ChildFinish", "Usage", "Ask", "Answer"}
        for name, schema in SCHEMAS.items():
            if name not in requests:
                self.assertEqual(self.seen.get(name, set()), set(schema["properties"]), f"{name}: what no answer had, or more")

    def test_every_documented_parameter_and_member_is_known_and_no_other(self):
        self.run_all()
        for path, method, operation, parameters in operations():
            query = "&".join(f"{p['name']}={'1' if p['schema']['type'] == 'integer' else 'a'}"
                             for p in parameters if p["in"] == "query" and p.get("required"))
            target = f"{path}?{query}" if query else path
            join = "&" if query else "?"
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            body = None
            if content:
                schema = resolved(content["schema"])
                body = next(b for n, _, _, b in reversed(REQUESTS) if n == operation["operationId"] and b is not None)
                self.assertIs(schema["additionalProperties"], False)
                self.refuses(method, target, {**body, "unheard_of": 1}, "unheard_of")
                for key in schema.get("required", []):
                    self.refuses(method, target, {k: v for k, v in body.items() if k != key}, key)
                for key, below in schema["properties"].items():
                    kind = below.get("type", "string" if "enum" in below else None)
                    if kind:
                        self.refuses(method, target, {**body, key: WRONG[kind]}, key)
                    if "enum" in below:
                        self.refuses(method, target, {**body, key: "no such"}, key)
                    if "maxLength" in below:
                        longest = "x" * below["maxLength"]
                        self.assertNotEqual(self.one(method.upper(), target, {**body, key: longest}).status, 400, key)
                        self.refuses(method, target, {**body, key: longest + "x"}, key)
                    if kind == "integer":
                        for bad in (-1, 1.5, 2**53 + 1, 2**63, True, None):
                            self.refuses(method, target, {**body, key: bad}, key)
                for bad in (b"", b"[]", b"{", b"NaN", b'{"\xff":1}', b"{}{}"):
                    if bad or operation["requestBody"].get("required"):
                        self.refuses(method, target, bad, "")
            elif "requestBody" not in operation:
                self.refuses(method, target, b"{}", "body")
            self.refuses(method, f"{target}{join}unheard_of=1", body, "unheard_of")
            for parameter in parameters:
                name = parameter["name"]
                if parameter["in"] == "query" and parameter.get("required"):
                    self.refuses(method, path, body, name)
                if parameter["schema"]["type"] == "integer":
                    low, high = parameter["schema"].get("minimum", 0), parameter["schema"].get("maximum")
                    for bad in (low - 1, "x", "1.0", "1e1", "", "+1", *([high + 1] if high else [])):
                        self.refuses(method, f"{target}{join}{name}={bad}", body, name if bad != "+1" else "+")
                if parameter["schema"]["type"] == "boolean":
                    self.refuses(method, f"{target}{join}{name}=yes", body, name)
                if parameter["in"] == "header":
                    self.refuses(method, target, body, name, {name: "not {"})

    def refuses(self, method, target, body, named, headers=None):
        path = self.folder / "operator.sock" if target.startswith("/v1/answer") else self.socket
        connection = Connection(path)
        try:
            answer = connection.ask(method.upper(), target, body, headers)
        finally:
            connection.close()
        self.assertEqual(answer.status, 400, f"{method} {target} {body} {headers}: {answer.body}")
        self.check_problem(answer)
        self.assertIn(named, answer.json["detail"])

    def test_no_path_and_method_besides(self):
        known = {path: {m.upper() for m in METHODS if m in item} for path, item in API["paths"].items()}
        for path, methods in known.items():
            operator = API["paths"][path].get("post", {}).get("x-operator", False)
            for method in {*map(str.upper, METHODS), "BREW"} - methods:
                connection = Connection(self.folder / "operator.sock" if operator else self.socket)
                answer = connection.ask(method, path + "?id=a&key=a")
                connection.close()
                self.assertEqual(answer.status, 405, (method, path, answer.body))
                self.assertEqual(set(answer.getheader("Allow").split(", ")), methods)
            if operator:
                self.check_problem(self.ask("POST", path, {"key": "k", "answer": "a", "who": "me"}, expect=404))
        for path in ("/", "/v1", "/v1/", "/v1/context/", "/v1/checkpoint/a", "/v2/context"):
            self.check_problem(self.ask("GET", path, expect=404))

    def test_a_header_that_is_misspelled_is_refused(self):
        for headers in ({"Pawl-Metdata": "e30="}, {"Pawl-Session": "a b"}, {"Pawl-Session": "x" * 65}, {"Pawl-Session": ""},
                        {"Pawl-Goal": "../x"}, {"Pawl-Episode": ""}, {"Expect": "200-ok"}, {"Transfer-Encoding": "gzip, chunked"}):
            answer = self.ask("PUT", "/v1/checkpoint?id=a", b"x", headers)
            self.assertIn(answer.status, (400, 417), (headers, answer.body))
            self.check_problem(answer)


class Served(AgentdTest):
    def test_what_is_acknowledged_survives_kill_9(self):
        told = []  # (client, step)
        process = self.agentd()

        def work(number):
            try:
                client = self.client()
                for step in range(100_000):
                    key = f"{number}-{step}"
                    for path, body in (("begin", {**STEP, "key": key}), ("complete", {"key": key, "result": step})):
                        if client.ask("POST", f"/v1/steps/{path}", body).status >= 300:
                            return
                    told.append((key, step))
                    if step % 10 == 0 and client.ask("PUT", f"/v1/checkpoint?id=c{number}", str(step).encode() * 1000).status == 201:
                        told.append((f"c{number}", step))
            except OSError:
                pass  # the server was killed
            except Exception as error:  # http.client: a truncated response
                if "http.client" not in type(error).__module__:
                    raise

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        self.wait_until(lambda: len(told) > 400, "some steps are done", 60)
        process.kill()
        process.wait()
        for thread in threads:
            thread.join()
        self.assertTrue(os.path.exists(self.socket), "a socket that nobody serves is left")
        self.agentd()
        client = self.client()
        newest = {}
        for key, step in told:
            if key.startswith("c"):
                newest[key] = step
                continue
            answer = client.ask("POST", "/v1/steps/begin", {**STEP, "key": key})
            self.assertEqual(answer.json, {"answer": "done", "result": step})
        for key, step in newest.items():
            answer = client.ask("GET", f"/v1/checkpoint?id={key}")
            self.assertGreaterEqual(int(answer.body[:len(answer.body) // 1000]), step)

    def test_one_serves_a_folder(self):
        process = self.agentd()
        busy = self.pawl("agentd", "--dir", self.folder, expect=14)
        self.assertIn("another pawl agentd", busy.stderr)
        self.pawl("agentd", "--dir", self.root / "other", "--socket", self.socket, expect=14)
        self.assertEqual(os.stat(self.socket).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(self.folder / "operator.sock").st_mode & 0o777, 0o600)
        self.stop_gently(process)
        self.assertFalse(os.path.exists(self.socket))
        again = self.agentd()
        again.send_signal(signal.SIGINT)
        self.assertEqual(again.wait(timeout=30), 130)

    def test_it_says_how_to_reach_it(self):
        (self.root / "a b").mkdir()
        process = subprocess.Popen([PAWL, "agentd"], cwd=self.root / "a b", stdout=subprocess.PIPE, text=True,
                                   env=self.environment(None))
        self.addCleanup(self.end, process)
        line = process.stdout.readline()
        path = subprocess.run(["sh", "-c", line[line.index("export"):] + '\nprintf %s "$PAWL_SOCKET"'], capture_output=True, text=True).stdout
        self.assertEqual(path, str(self.root / "a b/.pawl/agent.sock"))
        connect(path).close()

    def test_a_socket_path_may_be_long(self):
        folder = "/".join(["long" * 15] * 4)
        (self.root / folder).mkdir(parents=True)
        self.agentd(folder=folder)
        self.assertGreater(len(self.socket), 108)
        parent = os.open(os.path.dirname(self.socket), os.O_PATH)
        self.addCleanup(os.close, parent)
        self.socket = f"/proc/self/fd/{parent}/agent.sock"
        self.ask("GET", "/v1/context", expect=200)

    def test_a_file_is_not_replaced_by_a_socket(self):
        self.write("file", "precious")
        done = self.pawl("agentd", "--dir", self.root / ".pawl", "--socket", self.root / "file", expect=1)
        self.assertIn("is not a socket", done.stderr)
        self.assertEqual((self.root / "file").read_text(), "precious")

    def test_goals_and_episodes_are_apart(self):
        self.agentd()
        for goal in range(20):
            for episode in ("a", "b"):
                self.ask("PUT", "/v1/checkpoint?id=x", f"{goal}{episode}".encode(), {"Pawl-Goal": f"g{goal}", "Pawl-Episode": episode}, expect=201)
        for goal in range(20):
            for episode in ("a", "b"):
                headers = {"Pawl-Goal": f"g{goal}", "Pawl-Episode": episode}
                self.assertEqual(self.ask("GET", "/v1/checkpoint?id=x", headers=headers).body, f"{goal}{episode}".encode())
                context = self.ask("GET", "/v1/context", headers=headers).json
                self.assertEqual((context["goal_id"], context["episode_id"], context["run_id"]), (f"g{goal}", episode, "agentd"))
        self.ask("GET", "/v1/checkpoint?id=x", expect=404)

    def test_a_person_answers_while_the_agent_waits(self):
        self.agentd()
        client = self.client()
        client.ask("PUT", "/v1/question?key=q", {"question": "why?"})
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(client.ask("GET", "/v1/question?key=q&wait_ms=30000")))
        started = time.monotonic()
        waiting.start()
        time.sleep(0.2)
        self.ask("GET", "/v1/context", expect=200)  # other connections are not blocked
        people = Connection(self.folder / "operator.sock")
        self.addCleanup(people.close)
        self.assertEqual(people.ask("POST", "/v1/answer", {"key": "q", "answer": "so", "who": "me"}).status, 200)
        waiting.join()
        self.assertEqual(answers[0].json["answer"], "so")
        self.assertLess(time.monotonic() - started, 20)
        self.assertEqual(self.ask("GET", "/v1/context").json["session"], 2 + 1, "a person is no session of the agent")

    def test_what_is_printed_to_answer_is_safe_to_copy(self):
        self.agentd()
        nasty = "$(touch pwned)"
        asked = {"a'b": ["yes", nasty, "|reboot", "-no"], "-x": ["so"], "--json": [], "`touch pwned`;\u00e9": []}
        for key, choices in asked.items():
            question = {"question": "which?", "choices": choices} if choices else {"question": "which?"}
            self.ask("PUT", f"/v1/question?key={urllib.parse.quote(key, safe='')}", question, expect=200)
        printed = self.pawl("answer", "agentd", "--dir", self.folder).stdout
        commands = [line.strip() for line in printed.splitlines() if line.startswith("  pawl answer ")]
        answers = [choice for choices in asked.values() for choice in choices or ["TEXT"]]
        self.assertEqual(len(commands), len(answers), "a line for each choice: nobody cuts one out of a line")
        # Each command as a user copies it.
        for command, answer in zip(commands, answers):
            words = subprocess.run(["sh", "-c", command.replace("pawl", 'printf "%s\\n"', 1)], cwd=self.root, capture_output=True, text=True, check=True)
            self.assertEqual(words.stdout.splitlines()[-1], answer, command)
        for command in (commands[1], *commands[4:]):
            done = subprocess.run(["sh", "-c", command.replace("pawl", '"$PAWL"', 1)], cwd=self.folder.parent, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, command + done.stderr)
        self.assertEqual(list(self.root.rglob("pwned")), [])
        self.assertEqual(self.ask("GET", "/v1/question?key=a%27b").json["answer"], nasty)
        self.assertIn("no question is open", self.pawl("answer", "agentd", "--dir", self.folder).stdout)

    def test_bodies_may_come_in_pieces(self):
        self.agentd()
        payload = os.urandom(3_000_000)
        client = self.client()
        client.request("PUT", "/v1/checkpoint?id=a", body=(payload[i:i + 70_001] for i in range(0, len(payload), 70_001)),
                       encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
        answer = client.getresponse()
        self.assertEqual((answer.status, json.loads(answer.read())["size"]), (201, len(payload)))
        self.assertEqual(client.ask("GET", "/v1/checkpoint?id=a").body, payload)

    def test_who_waits_for_100_continue_is_told(self):
        self.agentd()
        with connect(self.socket) as peer:
            peer.sendall(b"PUT /v1/checkpoint?id=a HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            self.assertEqual(peer.recv(1000), b"HTTP/1.1 100 Continue\r\n\r\n")
            peer.sendall(b"abc")
            self.assertTrue(peer.recv(1000).startswith(b"HTTP/1.1 201"))
            peer.sendall(b"PUT /v1/nothing HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            self.assertTrue(peer.recv(1000).startswith(b"HTTP/1.1 404"))

    def test_the_largest_metadata_comes_back(self):
        self.agentd()
        metadata = {"text": "x" * 65_000}
        header = base64.b64encode(json.dumps(metadata).encode()).decode()
        self.ask("PUT", "/v1/checkpoint?id=a", b"x", {"Pawl-Metadata": header}, expect=201)
        self.assertEqual(saved(self.ask("GET", "/v1/checkpoint?id=a"))["metadata"], metadata)

    def test_pipelined_requests_are_answered_in_order(self):
        self.agentd()
        with connect(self.socket) as peer:
            count = 500
            peer.sendall(b"".join(b"PUT /v1/checkpoint?id=c%d&keep=1 HTTP/1.1\r\nContent-Length: 1\r\n\r\nx" % i for i in range(count)))
            got = b""
            while got.count(b'"saved_at"') < count:
                piece = peer.recv(1 << 16)
                self.assertTrue(piece, got[-1000:])
                got += piece
            self.assertEqual([json.loads(part.split(b"\r\n\r\n")[1])["id"] for part in got.split(b"HTTP/1.1 201 Created")[1:]],
                             [f"c{i}" for i in range(count)])

    def test_what_has_arrived_is_answered_at_the_end(self):
        process = self.agentd()
        clients = [self.client() for _ in range(20)]
        for i, client in enumerate(clients):
            client.ask("GET", "/v1/context")
        process.send_signal(signal.SIGSTOP)
        for i, client in enumerate(clients):
            client.request("POST", "/v1/steps/begin", json.dumps({**STEP, "key": f"k{i}"}))
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        for client in clients:
            self.assertEqual(client.getresponse().status, 200)
        self.assertEqual(process.wait(timeout=30), 0)


if __name__ == "__main__":
    unittest.main(verbosity=1)
