"""`looseleaf mcp`: serve the memory to any agent that speaks MCP."""

from __future__ import annotations

import sys

import click

from ..errors import LooseleafError
from ._common import load, place_options

_HOST = "127.0.0.1"


@click.command("mcp", help=__doc__)
@click.option("--http", is_flag=True, help="Serve HTTP on this machine instead of stdin and stdout.")
@click.option("--port", type=click.IntRange(1, 65_535), default=8420, show_default=True, help="Of the HTTP server.")
@click.option("--no-token", is_flag=True, help="Let every user of this machine ask over HTTP.")
@click.option("--session", metavar="KEY", help="Session key of the client; the owner's own if left out.")
@click.option("--write", is_flag=True, help="Offer memory_append, too.")
@place_options
def command(
    http: bool,
    port: int,
    no_token: bool,
    session: str | None,
    write: bool,
    config: str | None,
    workspace: str | None,
    agent: str | None,
) -> int:
    """Serve until the client closes the pipe, or until Ctrl-C."""
    _, settings = load(config, agent, workspace)
    try:
        from ..mcp import Serving, serve_stdio, server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("mcp", "uvicorn"):
            raise
        raise LooseleafError('the MCP server needs the package mcp: pip install "looseleaf[mcp]"') from None
    from ..opening import open_notebook

    serving = Serving(lambda: open_notebook(settings), session, write)
    made = server(serving)
    if not http:
        if sys.stdin.isatty():
            click.echo(
                "looseleaf: this speaks MCP with a host, on stdin and stdout: see `looseleaf connect`. Ctrl-D ends it", err=True
            )
        serve_stdio(made, serving)
        return 0
    from ..mcp_http import kept_token, listen, serve_http

    file = settings.state_dir / "mcp-token"
    token = None if no_token else kept_token(file)
    listening = listen(_HOST, port)
    click.echo(f"looseleaf: serving http://{_HOST}:{port}/mcp", err=True)
    if token:
        click.echo(f'looseleaf: clients send the header "Authorization: Bearer TOKEN"; the token is in {file}', err=True)
    serve_http(made, serving, listening, token)
    return 0
