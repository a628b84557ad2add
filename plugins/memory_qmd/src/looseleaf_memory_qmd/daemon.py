"""QMD kept running, so that a search costs milliseconds and not the start of a program."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Mapping, Sequence
from threading import Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from looseleaf import StoreError

from .answers import Row
from .command import Command, TimeoutStoreError
from .process import Process

if TYPE_CHECKING:
    import httpx

_HOST = "127.0.0.1"
_POLL_S = 0.02
# Ends the whole group when we end, however that comes: then the pipe that it reads is closed.
_GUARD = '"$@" & cat >/dev/null; kill -9 0'


class Daemon:
    """`qmd mcp --http` on a free port of this machine; started by the first question, ended with the slot or this process."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._lock = Lock()
        self._process: Process | None = None
        self._client: httpx.Client | None = None
        self._ready = False

    @property
    def address(self) -> str:
        """Where it listens; empty while it does not run."""
        return str(self._client.base_url) if self._client and self._ready else ""

    def ask(
        self, searches: Sequence[Mapping[str, str]], collections: Sequence[str], limit: int, *, rerank: bool, timeout_s: float
    ) -> list[Row]:
        """Return the rows for `searches`, each a `type` (`lex`, `vec`, `hyde`) and a `query`, best first.

        Raises:
            NotConfigured: there is no qmd.
            StoreError: it died, or did not answer within `timeout_s`; the next question starts a new one.
        """
        import httpx

        ends = monotonic() + timeout_s
        with self._lock:
            client = self._started(ends)
        body = {"searches": list(searches), "collections": list(collections), "limit": limit, "rerank": rerank}
        try:
            answer = client.post("/query", json=body, timeout=max(0.05, ends - monotonic()))
        except httpx.TimeoutException:
            raise TimeoutStoreError(f"the qmd daemon took longer than {timeout_s:g} s") from None
        except httpx.HTTPError as error:
            self.stop()
            raise TimeoutStoreError(f"the qmd daemon died ({error or type(error).__name__}); a new one is started") from None
        data = _json(answer)
        if answer.status_code != 200:
            raise StoreError(f"the qmd daemon refused: {data.get('error') or answer.text[:200] or answer.status_code}")
        rows = data.get("results")
        if not isinstance(rows, list):
            raise StoreError(f"the qmd daemon answered something else than results: {answer.text[:80]!r}")
        return [row for row in rows if isinstance(row, dict)]

    def stop(self) -> None:
        """End it; a second call does nothing."""
        with self._lock:
            self._end()

    def _started(self, ends: float) -> httpx.Client:
        if self._process is not None and self._process.poll() is not None:
            self._end()
        client = self._client or self._start()
        while not self._ready:
            if _is_healthy(client):
                self._ready = True
            elif self._process is None or self._process.poll() is not None:
                self._end()
                raise StoreError("the qmd daemon does not start: try `qmd mcp --http` by hand, or unset memory.qmd.daemon")
            elif monotonic() > ends:
                raise TimeoutStoreError("the qmd daemon is still starting")
            else:
                sleep(_POLL_S)
        return client

    def _start(self) -> httpx.Client:
        import httpx

        with socket.socket() as free:
            free.bind((_HOST, 0))
            port = free.getsockname()[1]
        words = [*self._command.words, "--index", "index", "mcp", "--http", "--host", _HOST, "--port", str(port)]
        if shutil.which("sh") and os.name == "posix":
            words = ["sh", "-c", _GUARD, "sh", *words]
        self._command.prepare()
        try:
            self._process = self._command.processes.start(
                words, folder=self._command.home, environ=self._command.environ(), serves=True
            )
        except OSError as error:
            raise StoreError(f"the qmd daemon cannot be started: {error.strerror}") from None
        # Proxies of the environment are not asked for what stays on this machine.
        self._client = httpx.Client(base_url=f"http://{_HOST}:{port}", trust_env=False)
        return self._client

    def _end(self) -> None:
        if self._process is not None:
            self._command.processes.end(self._process)
        if self._client is not None:
            self._client.close()
        self._process, self._client, self._ready = None, None, False


def _is_healthy(client: httpx.Client) -> bool:
    import httpx

    try:
        return client.get("/health", timeout=1.0).status_code == 200
    except httpx.HTTPError:
        return False


def _json(answer: httpx.Response) -> dict[str, Any]:
    try:
        data = answer.json()
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
