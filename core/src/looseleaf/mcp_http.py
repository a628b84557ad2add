"""The MCP server over HTTP: on this machine alone, for whoever has the token."""

from __future__ import annotations

import os
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio

from .errors import LooseleafError
from .files import make_folder

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
        make_folder(file.parent)
        with suppress(FileExistsError), open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as made:
            made.write(secrets.token_urlsafe(32))
        token = file.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise LooseleafError(f"the token in {file} cannot be read: {error}") from None
    if not token:
        raise LooseleafError(f"the token in {file} is empty: delete the file, and a new one is made")
    return token


def serve_http(made: Any, serving: Serving, host: str, port: int, token: str | None) -> None:
    """Serve until Ctrl-C. The SDK checks Host and Origin, so that no web page reaches it; `token` keeps other users out.

    Raises:
        LooseleafError: the port is taken.
    """
    import socket

    import uvicorn

    from .mcp import beside

    try:
        listening = socket.create_server((host, port))
    except OSError as error:
        raise LooseleafError(
            f"{host}:{port} cannot be listened on: {os.strerror(error.errno or 0)}. Choose another one with --port"
        ) from None
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
