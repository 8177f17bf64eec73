"""HTTP on a Unix socket. Any thread may ask; a connection serves one request at a time and is kept for the next."""

from __future__ import annotations

import http.client
import io
import os
import select
import socket
import threading
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple, cast
from urllib.parse import quote, urlencode

from .errors import PawlError, Unavailable, error_of
from .fork import Forked, session

_CONNECTIONS_MAX = 32       # the socket allows 64: other processes of the episode need some, too
_LONG_POLLS_MAX = 16        # so that requests that wait for a person never take all connections
_PATH_BYTES_MAX = 107       # sockaddr_un holds 108 with the NUL, see unix(7)
_TIMEOUT_S = 120.0          # longer than the longest poll (30 s), and than a large checkpoint takes to reach the disk
_HEADER_BYTES_MAX = 1 << 20  # Pawl-Checkpoint carries up to 64 KiB of metadata as base64 of JSON

_LONG_HEADER = "pawl-checkpoint"


@dataclass(frozen=True)
class Response:
    status: int
    body: bytes
    long_header: str  # the long header of a loaded checkpoint


class _Lines(io.RawIOBase):
    """The head of a response. http.client refuses lines above 64 KiB; the one header that may be longer is set aside."""

    def __init__(self, source: io.BufferedReader) -> None:
        super().__init__()
        self.source = source
        self.long_header = ""

    def readline(self, size: Optional[int] = -1) -> bytes:
        line = self.source.readline(_HEADER_BYTES_MAX)
        name, _, value = line.partition(b":")
        if name.decode("latin-1").lower() != _LONG_HEADER:
            return line
        self.long_header = value.decode("latin-1").strip()
        return name + b": set-aside\r\n"


class _Reply(http.client.HTTPResponse):
    long_header = ""

    def begin(self) -> None:
        source = self.fp
        lines = _Lines(source)
        self.fp = cast(io.BufferedReader, lines)
        try:
            super().begin()
        finally:
            self.fp = source
        self.long_header = lines.long_header


class _Connection(http.client.HTTPConnection):
    response_class = _Reply

    def __init__(self, path: str) -> None:
        super().__init__("pawl", timeout=_TIMEOUT_S)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_TIMEOUT_S)
        if len(os.fsencode(self.path)) <= _PATH_BYTES_MAX:
            self.sock.connect(self.path)
            return
        name = os.open(self.path, os.O_PATH | os.O_CLOEXEC)
        try:
            self.sock.connect(f"/proc/self/fd/{name}")
        finally:
            os.close(name)

    def is_stale(self) -> bool:
        """The server has closed it, or sent what nobody asked for."""
        ready = select.poll()
        ready.register(self.sock, select.POLLIN)
        return bool(ready.poll(0))

    def exchange(self, method: str, target: str, body: Optional[bytes], headers: Mapping[str, str]) -> Response:
        try:
            self.request(method, target, body, dict(headers))
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all was read, for example as too large: the response is there
        reply = cast(_Reply, self.getresponse())
        return Response(reply.status, reply.read(), reply.long_header)


class Transport(Forked):
    def __init__(self, path: str, goal: Optional[str], episode: Optional[str]) -> None:
        self.path = path
        self._whom = {name: value for name, value in (("Pawl-Goal", goal), ("Pawl-Episode", episode)) if value}
        for name, value in self._whom.items():
            if not value.isascii() or not value.isprintable() or " " in value:
                raise ValueError(f"{name} can't be {value!r}: letters, digits, '.', '_' and '-' name it")
        super().__init__()

    def after_fork(self) -> None:
        for connection in getattr(self, "_idle", []):
            connection.close()  # only in this process; it stays open in the other
        self._idle: List[_Connection] = []
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(_CONNECTIONS_MAX)
        self._long_polls = threading.BoundedSemaphore(_LONG_POLLS_MAX)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def call(self, method: str, route: str, query: Optional[Mapping[str, Any]] = None, *, body: Optional[bytes] = None,
             headers: Optional[Mapping[str, str]] = None, again: bool = True) -> Response:
        """The response when it is a success; PawlError otherwise. `again`: asked twice it happens once."""
        target = route + ("?" + urlencode(query, quote_via=quote) if query else "")
        sent: Dict[str, str] = {"Pawl-Session": session(), **self._whom}
        if body is not None:
            sent["Content-Type"] = "application/json"
        sent.update(headers or {})
        with self._slots:
            response = self._exchange(method, target, body, sent, again)
        if not 200 <= response.status < 300:
            raise error_of(response.status, response.body)
        return response

    def long_poll(self, route: str, query: Mapping[str, Any]) -> Response:
        with self._long_polls:
            return self.call("GET", route, query)

    def _exchange(self, method: str, target: str, body: Optional[bytes], headers: Mapping[str, str],
                  again: bool) -> Response:
        connection, kept = self._take()
        try:
            try:
                return self._on(connection, method, target, body, headers)
            except (ConnectionError, http.client.HTTPException):
                if not (kept and again):
                    raise
            return self._on(_Connection(self.path), method, target, body, headers)
        except (OSError, http.client.HTTPException) as error:
            raise self._unavailable(error) from error

    def _on(self, connection: _Connection, method: str, target: str, body: Optional[bytes],
            headers: Mapping[str, str]) -> Response:
        try:
            response = connection.exchange(method, target, body, headers)
        except BaseException:
            connection.close()  # remaining bytes would be taken for the next response
            raise
        if connection.sock is not None:
            with self._lock:
                self._idle.append(connection)
        return response

    def _take(self) -> Tuple[_Connection, bool]:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return _Connection(self.path), False
            if not connection.is_stale():
                return connection, True
            connection.close()

    def _unavailable(self, error: Exception) -> PawlError:
        return Unavailable(f"Pawl does not answer on {self.path} ({type(error).__name__}: {error}). Is the step, or "
                           "`pawl agentd`, that serves it still running?")
