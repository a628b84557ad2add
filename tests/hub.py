"""A small model hub on loopback: one file, with what huggingface_hub asks for, ranges included."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

FILE = "/acme/tiny-GGUF/resolve/main/tiny.gguf"


class Hub:
    """What the hub holds, and what it was asked.

    Attributes:
        url: Its address.
        cuts: How many of the next downloads end in the middle.
        asked: Method, path and first byte of each request.
        tokens: The Authorization headers that came.
    """

    def __init__(self, content: bytes, cuts: int) -> None:
        self.url = ""
        self.content = content
        self.cuts = cuts
        self.asked: list[tuple[str, str, int]] = []
        self.tokens: set[str] = set()

    @property
    def downloads(self) -> list[int]:
        """The first byte of each download."""
        return [begin for method, _, begin in self.asked if method == "GET"]


@contextmanager
def hub(content: bytes, cuts: int = 0) -> Iterator[Hub]:
    """Serve `content` at `FILE` while the block lasts."""
    state = Hub(content, cuts)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            begin = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").partition("-")[0])
            state.asked.append((self.command, self.path, begin))
            state.tokens.add(self.headers.get("Authorization") or "")
            known = self.path.partition("?")[0] == FILE
            if not known or (begin and begin >= len(state.content)):
                self.send_response(416 if known else 404)
                self.send_header("X-Error-Code", "EntryNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            part = state.content[begin:]
            self.send_response(206 if begin else 200)
            self.send_header("Content-Length", str(len(part)))
            if begin:
                self.send_header("Content-Range", f"bytes {begin}-{len(state.content) - 1}/{len(state.content)}")
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("ETag", f'"{hashlib.sha256(state.content).hexdigest()}"')
            self.send_header("X-Repo-Commit", "0123456789abcdef0123456789abcdef01234567")
            self.end_headers()
            if body:
                cut = state.cuts > 0
                state.cuts -= cut
                self.wfile.write(part[: len(part) // 2] if cut else part)
                self.close_connection = cut

        def log_message(self, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        state.url = f"http://127.0.0.1:{server.server_port}"
        yield state
        server.shutdown()
