"""The MCP server over HTTP: on this machine alone, for whoever has the token."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio

from .errors import LooseleafError
from .files import in_turns, write_whole

if TYPE_CHECKING:
    from .mcp import Serving

_Scope: TypeAlias = MutableMapping[str, Any]
_Send: TypeAlias = Callable[[_Scope], Awaitable[None]]
_App: TypeAlias = Callable[[_Scope, Callable[[], Awaitable[_Scope]], _Send], Awaitable[None]]


def kept_token(file: Path) -> str:
    """Return the token in `file`, which is made if it is missing: readable by its owner alone.

    Raises:
        LooseleafError: it cannot be read or made.
    """
    try:
        with in_turns(file.with_name(f"{file.name}.lock"), str(file)):
            if not file.exists():
                write_whole(file, secrets.token_urlsafe(32).encode())
        token = file.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise LooseleafError(f"the token in {file} cannot be read: {error}") from None
    if not token:
        raise LooseleafError(f"the token in {file} is empty: delete the file, and a new one is made")
    return token


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        LooseleafError: the port is taken.
    """
    try:
        return socket.create_server((host, port))
    except OSError as error:
        raise LooseleafError(
            f"{host}:{port} cannot be listened on: {os.strerror(error.errno or 0)}. Choose another one with --port"
        ) from None


def serve_http(made: Any, serving: Serving, listening: socket.socket, token: str | None) -> None:
    """Serve until Ctrl-C. The SDK checks Host and Origin, so that no web page reaches it; `token` keeps other users out."""
    import uvicorn

    from .mcp import beside

    app = made.streamable_http_app()
    config = uvicorn.Config(_guarded(app, token) if token else app, log_level="warning")
    with listening:
        anyio.run(beside, serving, lambda: uvicorn.Server(config).serve([listening]))


def _guarded(app: _App, token: str) -> _App:
    """Return `app` for requests that carry the token."""
    wanted = f"Bearer {token}".encode()

    async def guarded(scope: _Scope, receive: Callable[[], Awaitable[_Scope]], send: _Send) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "lifespan" or secrets.compare_digest(given, wanted):
            await app(scope, receive, send)
            return
        headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"send the token: Authorization: Bearer ...\n"})

    return guarded
