"""Throughput of the client behind remote providers, against a fake server in another process, with a bare httpx loop as the measure.

    python benchmarks/providers.py [--texts 20000]

Both send the same requests of 64 texts of 400 characters, four at a time, and get vectors of 64 numbers back.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import httpx

from looseleaf import Limits
from looseleaf_memory_core.embedders.models import Model
from looseleaf_memory_core.embedders.openai import OpenAIDialect
from looseleaf_memory_core.embedders.remote import Options, RemoteEmbedder

SIZE, LANES, WIDTH = 64, 4, 64
SERVER = f"""
import http.server, json
row = json.dumps([0.5] * {WIDTH})
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        count = len(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"])
        body = ('{{"data": [' + ", ".join('{{"index": %d, "embedding": %s}}' % (n, row) for n in range(count)) + "]}}").encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


async def side_by_side(parts: Sequence[Sequence[str]], send: Callable[[Sequence[str]], Awaitable[Any]]) -> float:
    """Return the seconds that it takes to send all parts, `LANES` at a time."""
    gate = asyncio.Semaphore(LANES)

    async def one(part: Sequence[str]) -> None:
        async with gate:
            await send(part)

    begun = time.perf_counter()
    await asyncio.gather(*map(one, parts))
    return time.perf_counter() - begun


async def measure(url: str, count: int) -> None:
    """Print texts a second of both."""
    texts = [f"{number:08} " + "some words of a note " * 19 for number in range(count)]
    parts = [texts[begin : begin + SIZE] for begin in range(0, count, SIZE)]
    model = Model(WIDTH, Limits(texts=SIZE, tokens=8000, request_tokens=1_000_000))
    embedder = RemoteEmbedder(OpenAIDialect(), Options("openai", "m", url, None, {}, model, {"query": "", "document": ""}), ["key"])
    async with httpx.AsyncClient() as client:

        async def bare(part: Sequence[str]) -> None:
            json.loads((await client.post(f"{url}/embeddings", json={"model": "m", "input": part})).content)

        async def ours(part: Sequence[str]) -> None:
            await embedder.embed(part, "document")

        for name, send in (("warm", bare), ("a bare httpx loop", bare), ("the client", ours)):
            taken = await side_by_side(parts if name != "warm" else parts[:20], send)
            if name != "warm":
                print(f"{name:18} {count / taken:8,.0f} texts/s")
    await embedder.aclose()


def main() -> None:
    """Start the server, measure, stop it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=20_000)
    options = parser.parse_args()
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, encoding="utf-8")
    try:
        assert server.stdout
        port = int(server.stdout.readline())
        asyncio.run(measure(f"http://127.0.0.1:{port}/v1", options.texts))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
