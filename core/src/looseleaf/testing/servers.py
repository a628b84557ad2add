"""Fake embedding providers on loopback that are true on the wire: a real HTTP server, right or wrong in one known way.

    with EmbeddingServer("429", times=2) as server:
        embedder = Mine(base_url=server.url, key="secret")

Vectors are those of `HashEmbedder`: texts that share words are near each other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from typing import Self

#: How a server may behave, and what it then does.
BEHAVIOURS: Mapping[str, str] = {
    "right": "answers as its provider does",
    "wrong-order": "answers the rows in another order, each with its index",
    "short": "leaves out the last row",
    "duplicate-index": "gives two rows the same index",
    "nan": "gives a row with NaN",
    "zero": "gives a row of zeros",
    "empty": "gives a row without numbers",
    "wrong-size": "gives the last row one number more",
    "401": "refuses the key",
    "429": "is busy and says with Retry-After when to come again: at once",
    "429-bare": "is busy and does not say for how long",
    "413": "finds the request too large",
    "431": "finds the headers too large",
    "500": "fails with a page of HTML",
    "html": "answers 200 with a page of HTML, as a captive portal does",
    "cut": "stops in the middle of the answer",
    "hang": "never answers",
    "drop": "closes the connection without a word",
    "redirect": "sends the request on to another host",
}
_STATUS = {"401": 401, "429": 429, "429-bare": 429, "413": 413, "431": 431, "500": 500}
_HTML = "<html><body><h1>Something went wrong</h1></body></html>"


@dataclass(frozen=True, slots=True)
class Wire:
    """How a provider writes requests and answers.

    Attributes:
        path: Of the endpoint, below the server's address.
        texts: The texts in a request's body.
        answer: The body of an answer, from rows with their indexes.
        indexed: Whether an answer says which text a row belongs to; where it does not, rows cannot be in a wrong order.
    """

    path: str
    texts: Callable[[Any], list[str]]
    answer: Callable[[Sequence[tuple[int, Sequence[float]]]], Any]
    indexed: bool = False


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


WIRES: Mapping[str, Wire] = {
    "openai": Wire(
        "/v1/embeddings",
        lambda body: _listed(body["input"]),
        lambda rows: {"data": [{"index": index, "embedding": row} for index, row in rows], "model": "fake"},
        indexed=True,
    ),
    "gemini": Wire(
        ":batchEmbedContents",
        lambda body: [request["content"]["parts"][0]["text"] for request in body.get("requests", [body])],
        lambda rows: {"embeddings": [{"values": row} for _, row in rows], "embedding": {"values": rows[0][1] if rows else []}},
    ),
    "ollama": Wire("/api/embed", lambda body: _listed(body["input"]), lambda rows: {"embeddings": [row for _, row in rows]}),
}


class Request(NamedTuple):
    """One request as it came: its path, headers with lower-case names, and texts."""

    path: str
    headers: Mapping[str, str]
    texts: list[str]


class EmbeddingServer:
    """A provider on loopback, on a free port, for as long as the `with` block lasts.

    Args:
        behaviour: One of `BEHAVIOURS`.
        wire: One of `WIRES`.
        dimensions: Of the vectors.
        times: How many requests are answered so; those after them are answered right. None is all.
        plan: Says for each request, by its texts, how it is answered, instead of `behaviour`. Called on several threads.

    Attributes:
        url: Where it listens, without the endpoint's path.
        requests: What came, in order; `bodies` are theirs, as JSON.
        elsewhere: Where `redirect` sends requests: a second server, of another host name.
        hung_up: Set when a client closed its connection while the server was hanging.
    """

    def __init__(
        self,
        behaviour: str = "right",
        *,
        wire: str = "openai",
        dimensions: int = 8,
        times: int | None = None,
        plan: Callable[[list[str]], str] | None = None,
    ) -> None:
        if behaviour not in BEHAVIOURS:
            raise ValueError(f"no server behaves as {behaviour!r}; known: {', '.join(BEHAVIOURS)}")
        self.behaviour = behaviour
        self.wire = WIRES[wire]
        self.dimensions = dimensions
        self.requests: list[Request] = []
        self.bodies: list[Any] = []
        self.hung_up = Event()
        self._left = times
        self._plan = plan
        self._stopped = Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.elsewhere = EmbeddingServer(wire=wire, dimensions=dimensions) if behaviour == "redirect" else None

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        if self.elsewhere:
            self.elsewhere.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        if self.elsewhere:
            self.elsewhere.__exit__(kind, error, trace)

    def turn(self, texts: list[str]) -> str:
        """Return how the request that has just come is answered."""
        if self._plan is not None:
            return self._plan(texts)
        if self._left is None:
            return self.behaviour
        self._left -= 1
        return self.behaviour if self._left >= 0 else "right"

    def rows(self, texts: Sequence[str], behaviour: str) -> list[tuple[int, list[float]]]:
        """Return the rows for `texts` with their indexes, with the fault of `behaviour` in the last of them."""
        from .._run import run
        from .fakes import HashEmbedder

        rows = run(HashEmbedder(self.dimensions).embed(texts, "query"), inline=True).tolist()
        found = list(enumerate(rows))
        if not found:
            return found
        last, row = found[-1]
        if behaviour == "wrong-order":
            return found[::-1]
        if behaviour == "short":
            return found[:-1]
        faulty = {
            "duplicate-index": (max(0, last - 1), row),
            "nan": (last, [float("nan"), *row[1:]]),
            "zero": (last, [0.0] * len(row)),
            "empty": (last, []),
            "wrong-size": (last, [*row, 0.5]),
        }
        return [*found[:-1], faulty.get(behaviour, (last, row))]

    def wait_for_hang_up(self, handler: BaseHTTPRequestHandler) -> None:
        """Block until the client is gone or the server stops."""
        handler.connection.settimeout(0.05)
        while not self._stopped.is_set():
            try:
                if not handler.connection.recv(1):
                    self.hung_up.set()
                    return
            except TimeoutError:
                continue
            except OSError:
                self.hung_up.set()
                return


def _handler(server: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            server.bodies.append(json.loads(body))
            texts = server.wire.texts(server.bodies[-1])
            server.requests.append(Request(self.path, {name.lower(): value for name, value in self.headers.items()}, texts))
            turn = server.turn(texts)
            if turn == "drop":
                self.close_connection = True
                self.connection.shutdown(SHUT_RDWR)
            elif turn == "hang":
                self.close_connection = True
                server.wait_for_hang_up(self)
            elif turn == "redirect" and server.elsewhere:
                target = server.elsewhere.url.replace("127.0.0.1", "localhost") + self.path
                self._send(307, "", {"Location": target})
            elif turn in _STATUS or turn == "html":
                status = _STATUS.get(turn, 200)
                kind = "text/html" if turn in ("500", "html") else "application/json"
                headers = {"Content-Type": kind, **({"Retry-After": "0"} if turn == "429" else {})}
                self._send(
                    status, _HTML if kind == "text/html" else json.dumps({"error": {"message": f"{turn} from a fake"}}), headers
                )
            else:
                answer = json.dumps(server.wire.answer(server.rows(texts, turn)))
                self._send(200, answer, {"Content-Type": "application/json"}, cut=turn == "cut")

        def _send(self, status: int, text: str, headers: Mapping[str, str], *, cut: bool = False) -> None:
            data = text.encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if cut else data)
            if cut:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
            """Say nothing: what came is in `requests`."""

    return Handler
