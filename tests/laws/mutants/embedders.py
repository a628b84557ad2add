"""Faulty embedders: of one that counts letters, and of one that asks a server over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from urllib.parse import urlsplit

import numpy as np

from looseleaf import Limits, ProviderError
from looseleaf.testing import embedder_laws

from . import Mutant


class Sound:
    """A row counts the letters of a text by their code modulo 16, one more each so that none is zero."""

    limits = Limits(texts=4)
    prefix = ""

    def __init__(self, dimensions=16):
        self.dimensions = dimensions
        self.closed = False

    @property
    def fingerprint(self):
        return f"letters:{self.dimensions}"

    def row(self, text):
        counted = Counter(ord(letter) % self.dimensions for letter in text)
        row = np.array([1.0 + counted[place] for place in range(self.dimensions)], np.float32)
        return row / np.linalg.norm(row)

    async def embed(self, texts, purpose):
        rows = [self.row(text) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.dimensions), np.float32)

    async def aclose(self):
        self.closed = True


class Float64(Sound):
    async def embed(self, texts, purpose):
        return (await super().embed(texts, purpose)).astype(np.float64)


class OneRowForABatch(Sound):
    async def embed(self, texts, purpose):
        return (await super().embed(texts, purpose))[:1]


class ZeroWithoutLetters(Sound):
    def row(self, text):
        row = super().row(text)
        return row if text.isascii() else row * 0


class NothingIsFlat(Sound):
    async def embed(self, texts, purpose):
        return np.array([self.row(text) for text in texts], np.float32)


class SortedByLength(Sound):
    async def embed(self, texts, purpose):
        return await super().embed(sorted(texts, key=len), purpose)


class CannotEncode(Sound):
    def row(self, text):
        return super().row(text.encode().decode())


class EndsAtNul(Sound):
    def row(self, text):
        kept, nul, _ = text.partition("\x00")
        return super().row(kept) if not nul else np.full(self.dimensions, np.nan, np.float32)


class TooLongRaises(Sound):
    def row(self, text):
        if len(text) > 10_000:
            raise IndexError("sequence is longer than the position embeddings")
        return super().row(text)


class PrefixInsteadOfText(Sound):
    async def embed(self, texts, purpose):
        return await super().embed(["query: " if purpose == "query" else text for text in texts], purpose)


class RandomStart(Sound):
    async def embed(self, texts, purpose):
        rows = await super().embed(texts, purpose)
        return (rows + np.random.default_rng().normal(0, 0.1, rows.shape)).astype(np.float32)


class AddressInFingerprint(Sound):
    @property
    def fingerprint(self):
        return f"letters:{id(self)}"


class SameFingerprint(Sound):
    @property
    def fingerprint(self):
        return "letters"


class NoLimits(Sound):
    limits = Limits(texts=0)


class NotUnit(Sound):
    def row(self, text):
        return super().row(text) * 3


class MeanOverTheBatch(Sound):
    async def embed(self, texts, purpose):
        rows = await super().embed(texts, purpose)
        return rows - rows.mean(axis=0, keepdims=True) * 0.5 if len(rows) > 1 else rows


class ClosesOnce(Sound):
    async def aclose(self):
        if self.closed:
            raise RuntimeError("it is closed already")
        await super().aclose()


class OverHttp:
    """Speaks OpenAI's wire format through a socket; each step is a method, so that a mutant can get one of them wrong."""

    limits = Limits(texts=4)
    timeout_s = 0.5

    def __init__(self, url, key):
        self.url = url
        self._key = key
        self.fingerprint = f"http:{url}"

    async def embed(self, texts, purpose):
        parts = [await self.batch(texts[begin : begin + 4]) for begin in range(0, len(texts), 4)]
        return np.concatenate(parts) if parts else np.zeros((0, 8), np.float32)

    async def batch(self, texts):
        status, body = await self.ask(self.url, texts)
        if status != 200:
            raise ProviderError(f"the server answered {status}", retryable=self.may_retry(status), status=status)
        return self.rows(body, len(texts))

    def may_retry(self, status):
        return status == 429 or status >= 500

    async def ask(self, url, texts):
        try:
            return await asyncio.wait_for(self.post(url, texts), self.timeout_s)
        except (TimeoutError, OSError, EOFError) as error:
            raise ProviderError(f"no answer: {type(error).__name__}", retryable=True) from error

    def headers(self):
        return {"Authorization": f"Bearer {self._key}"}

    async def post(self, url, texts):
        address = urlsplit(url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        try:
            body = json.dumps({"input": list(texts), "model": "m"}).encode()
            head = {**self.headers(), "Host": address.netloc, "Content-Length": str(len(body)), "Connection": "close"}
            lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
            writer.write(f"POST {address.path or '/v1/embeddings'} HTTP/1.1\r\n{lines}\r\n".encode() + body)
            first = await reader.readline()
            if not first:
                raise EOFError("the connection was closed")
            status = int(first.split()[1])
            answer = {}
            while (line := await reader.readline()).strip():
                name, _, value = line.decode().partition(":")
                answer[name.lower()] = value.strip()
            if status == 307:
                return await self.follow(answer["location"], texts)
            return status, await reader.readexactly(int(answer["content-length"]))
        finally:
            writer.close()

    async def follow(self, location, texts):
        return 307, b""

    def rows(self, body, count):
        try:
            items = sorted(json.loads(body)["data"], key=lambda item: item["index"])
            rows = np.array([item["embedding"] for item in items], np.float32).reshape(len(items), -1)
        except ValueError as error:
            raise ProviderError("the answer is not what it should be") from error
        lengths = np.linalg.norm(rows, axis=1)
        if [item["index"] for item in items] != list(range(count)):
            raise ProviderError("rows are missing, or have the same index")
        if not rows.shape[1] or not np.isfinite(rows).all() or not lengths.all():
            raise ProviderError("a row is empty, zero or no number")
        return rows

    async def aclose(self):
        pass


class TakenAsTheyCome(OverHttp):
    def rows(self, body, count):
        items = json.loads(body)["data"]
        for place, item in enumerate(items):
            item["index"] = place
        return super().rows(json.dumps({"data": items}).encode(), count)


class NothingIsAsked(OverHttp):
    async def embed(self, texts, purpose):
        return await super().embed(texts, purpose) if texts else await self.batch(texts)


class NoBatches(OverHttp):
    async def embed(self, texts, purpose):
        return await self.batch(texts) if texts else await super().embed(texts, purpose)


class NaNPassesThrough(OverHttp):
    def rows(self, body, count):
        items = sorted(json.loads(body)["data"], key=lambda item: item["index"])
        return np.array([item["embedding"] for item in items], np.float32)


class ShortIsTaken(OverHttp):
    def rows(self, body, count):
        return super().rows(body, len(json.loads(body)["data"])) if body.startswith(b"{") else super().rows(body, count)


class FailureIsFinal(OverHttp):
    def may_retry(self, status):
        return status == 429


class RefusalIsRetried(OverHttp):
    def may_retry(self, status):
        return True


class RawErrors(OverHttp):
    async def ask(self, url, texts):
        return await asyncio.wait_for(self.post(url, texts), self.timeout_s)


class WaitsForEver(OverHttp):
    timeout_s = None


class KeyInRepr(OverHttp):
    def __repr__(self):
        return f"KeyInRepr(url={self.url!r}, key={self._key!r})"


class KeyInMessage(OverHttp):
    async def batch(self, texts):
        try:
            return await super().batch(texts)
        except ProviderError as error:
            raise ProviderError(f"{error} ({self.headers()})", retryable=error.retryable) from error


class KeyInTheChain(OverHttp):
    def rows(self, body, count):
        try:
            return super().rows(body, count)
        except ProviderError as error:
            raise ProviderError("wrong") from ValueError(f"{error}: sent {self.headers()}")


class KeyInTheLog(OverHttp):
    async def post(self, url, texts):
        import logging

        logging.getLogger("acme").debug("POST %s %s", url, self.headers())
        return await super().post(url, texts)


class KeyFollows(OverHttp):
    async def follow(self, location, texts):
        return await self.post(location, texts)


class GoesOnWhenCancelled(OverHttp):
    async def ask(self, url, texts):
        return await asyncio.shield(asyncio.ensure_future(super().ask(url, texts)))


class SwallowsCancel(OverHttp):
    timeout_s = 30.0
    kept: list = []  # noqa: RUF012 - connections that nobody closes: that is the fault

    async def post(self, url, texts):
        address = urlsplit(url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        self.kept.append(writer)
        body = json.dumps({"input": list(texts)}).encode()
        writer.write(f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        return 200, await reader.read()


LAWS = embedder_laws("unit", "split", others=[lambda: Sound(32)])
HTTP = embedder_laws(over=OverHttp)
SOUND = [Mutant("Sound", "", LAWS, Sound), Mutant("OverHttp", "", tuple(law for law in HTTP if law.claim == "http"), OverHttp)]
MUTANTS = [
    Mutant(kind.__name__, law, embedder_laws("unit", "split", others=[lambda kind=kind: kind(32)]), kind)
    for kind, law in {
        Float64: "embedder-shape",
        OneRowForABatch: "embedder-shape",
        ZeroWithoutLetters: "embedder-usable",
        NothingIsFlat: "embedder-empty",
        SortedByLength: "embedder-permuted",
        CannotEncode: "embedder-odd-texts",
        EndsAtNul: "embedder-odd-texts",
        TooLongRaises: "embedder-long",
        PrefixInsteadOfText: "embedder-queries",
        RandomStart: "embedder-queries",
        AddressInFingerprint: "embedder-identity",
        SameFingerprint: "embedder-distinct",
        NoLimits: "embedder-identity",
        NotUnit: "embedder-unit",
        MeanOverTheBatch: "embedder-split",
        ClosesOnce: "embedder-closes",
    }.items()
] + [
    Mutant(kind.__name__, law, embedder_laws(over=kind), kind)
    for kind, law in {
        TakenAsTheyCome: "embedder-http-right",
        NothingIsAsked: "embedder-http-nothing",
        NoBatches: "embedder-http-limits",
        NaNPassesThrough: "embedder-http-refuses",
        ShortIsTaken: "embedder-http-refuses",
        FailureIsFinal: "embedder-http-refuses",
        RefusalIsRetried: "embedder-http-refuses",
        RawErrors: "embedder-http-refuses",
        WaitsForEver: "embedder-http-refuses",
        KeyInRepr: "embedder-http-secret",
        KeyInMessage: "embedder-http-secret",
        KeyInTheChain: "embedder-http-secret",
        KeyInTheLog: "embedder-http-secret",
        KeyFollows: "embedder-http-bound",
        GoesOnWhenCancelled: "embedder-http-cancelled",
        SwallowsCancel: "embedder-http-cancelled",
    }.items()
]
