"""One client for every provider: the only file that imports httpx.

It retries what may succeed later, waits as it is told, follows no redirect to another host, and lets no key into a message.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from time import monotonic, time
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import stamina

from looseleaf import ProviderError, TextTooLong

from .call import Call, Patience
from .pace import Pace

_TOO_LONG = re.compile(
    r"too (?:long|large|many tokens)|(?:context|input|sequence|token) (?:length|limit)|max(?:imum)?[ _](?:context|tokens|input)"
    r"|invalid 'input\[\d+\]'|exceed\w* .{0,40}tokens|tokens? .{0,40}exceed|max \d+ tokens",
    re.IGNORECASE,
)
_SURE = re.compile(r"\bNaN\b|unsupported value")  # a text that the model cannot take will be no better the next time
_MAY_RETRY = frozenset({408, 409, 425, 429})
_SHOWN = 200
_HOPS = 3
logging.getLogger("stamina").addHandler(logging.NullHandler())  # retries are told by those who give up, not on stderr


class _RefusedError(ProviderError):
    """An answer that is an error, with the seconds after which it may be tried again, if it says so."""

    def __init__(self, text: str, *, retryable: bool, status: int, retry_after_s: float | None) -> None:
        super().__init__(text, retryable=retryable, status=status)
        self.retry_after_s = retry_after_s


class Client:
    """Sends requests to one provider.

    Args:
        provider: Its name, for messages.
        base_url: Without a slash at the end.
        keys: At least one, or none for a server that asks for none; the next is tried when one is rate-limited.
        headers: The headers of a request, made with a key.
        pace: The rate that is kept to.
    """

    def __init__(
        self,
        provider: str,
        base_url: str,
        keys: Sequence[str],
        headers: Callable[[str], Mapping[str, str]],
        pace: Pace | None = None,
    ) -> None:
        self.provider = provider
        self.base_url = base_url.rstrip("/")
        self._keys = tuple(keys) or ("",)
        self._headers = headers
        self._pace = pace
        self._turn = 0  # which key is used
        self._quiet_until = 0.0  # all requests wait for the end of a rate limit that one of them was told of
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return f"Client({self.provider}, {self.base_url})"

    async def post(self, path: str, body: Any, patience: Patience, *, texts: int = 1, tokens: int = 0) -> Any:
        """Send JSON, and return the answer's. `texts` and `tokens` are what it counts in a rate.

        Raises:
            TextTooLong: the request is too large.
            ProviderError: the provider refused, failed, or answered with something that is no JSON.
        """
        await self._in_turn(patience, texts, tokens)
        return await self.send(Call("POST", path, body), patience, texts=texts, tokens=tokens)

    async def send(self, call: Call, patience: Patience, *, texts: int = 0, tokens: int = 0) -> Any:
        """Send `call`, and return the answer's JSON; a retry counts `texts` and `tokens` once more.

        Raises:
            TextTooLong: the request is too large.
            ProviderError: the provider refused, failed, or answered with something that is no JSON.
        """
        begun = monotonic()

        def wait(error: Exception) -> bool | float:
            if not isinstance(error, ProviderError) or not error.retryable or (call.once and error.status is None):
                return False
            told = error.retry_after_s if isinstance(error, _RefusedError) else None
            return True if told is None else told if monotonic() - begun + told <= patience.total_s else False

        async for attempt in stamina.retry_context(
            on=wait, attempts=patience.attempts, timeout=patience.total_s, wait_initial=0.25, wait_max=8.0, wait_jitter=0.25
        ):
            with attempt:
                if attempt.num > 1 and texts:
                    await self._in_turn(patience, texts, tokens)
                await self._until_quiet(begun + patience.total_s)
                return await self._with_each_key(call, patience)
        raise AssertionError("a retry context ends with an answer or an error")

    async def lines(self, path: str, patience: Patience) -> AsyncGenerator[str]:
        """Yield the lines of a file as they come, without blank ones.

        Raises:
            ProviderError: it cannot be had, or was cut in the middle.
        """
        url = self._url(path)
        try:
            async with (
                asyncio.timeout(patience.total_s),
                self._open().stream("GET", url, headers=dict(self._headers(self._keys[self._turn]))) as answer,
            ):
                if answer.has_redirect_location:
                    self._target(url, answer.headers["location"])
                if answer.status_code >= 400 or answer.has_redirect_location:
                    await answer.aread()
                    self._read(answer)
                async for line in answer.aiter_lines():
                    if line.strip():
                        yield line
        except TimeoutError:
            raise ProviderError(f"{self.provider} did not give a file within {patience.total_s:g} s", retryable=True) from None
        except httpx.HTTPError as error:
            raise self._lost(url, error) from None

    async def aclose(self) -> None:
        """Close the connections; a second call does nothing."""
        client, self._client = self._client, None
        with suppress(RuntimeError):  # no loop runs: the connections ended with theirs
            if client is not None and self._loop is asyncio.get_running_loop():
                await client.aclose()

    async def _in_turn(self, patience: Patience, texts: int, tokens: int) -> None:
        """Wait until the rate allows a request."""
        pause = self._pace.book(texts, tokens, patience.turn_s) if self._pace else 0.0
        if pause > patience.turn_s:
            text = f"{self.provider}: the rate of remote.limits is used up; it may be asked again in {pause:.0f} s"
            raise ProviderError(text, retryable=True)
        if pause > 0:
            await asyncio.sleep(pause)

    async def _until_quiet(self, deadline: float) -> None:
        pause = min(self._quiet_until, deadline) - monotonic()
        if pause > 0:
            await asyncio.sleep(pause)

    async def _with_each_key(self, call: Call, patience: Patience) -> Any:
        for left in reversed(range(len(self._keys))):
            try:
                return await self._send(call, patience)
            except _RefusedError as error:
                if error.status != 429:
                    raise
                self._turn = (self._turn + 1) % len(self._keys)
                if self._pace:
                    self._pace.slow_down()
                if not left:
                    if error.retry_after_s:
                        self._quiet_until = max(self._quiet_until, monotonic() + error.retry_after_s)
                    raise
        raise AssertionError("there is at least one key")

    async def _send(self, call: Call, patience: Patience) -> Any:
        url = self._url(call.path)
        headers = dict(self._headers(self._keys[self._turn]))
        if call.content_type:
            headers["Content-Type"] = call.content_type
        try:
            async with asyncio.timeout(patience.request_s):
                for _ in range(_HOPS):
                    answer = await self._open().request(call.method, url, json=call.json, content=call.content, headers=headers)
                    if not answer.has_redirect_location:
                        return self._read(answer)
                    url = self._target(url, answer.headers["location"])
        except TimeoutError:
            raise ProviderError(f"{self.provider} did not answer within {patience.request_s:g} s", retryable=True) from None
        except httpx.InvalidURL as error:
            raise ProviderError(f"{self.provider}: the address {self.base_url!r} is not valid: {error}") from None
        except httpx.HTTPError as error:
            raise self._lost(url, error) from None
        raise ProviderError(f"{self.provider} redirects in a circle")

    def _url(self, path: str) -> str:
        return path if "://" in path else self.base_url + path

    def _lost(self, url: str, error: Exception) -> ProviderError:
        text = f"{self.provider} at {urlsplit(url).netloc} cannot be reached: {type(error).__name__}: {self._clean(str(error))}"
        return ProviderError(text, retryable=True)

    def _target(self, url: str, location: str) -> str:
        """Return where a redirect leads, if that is the same host: a key is for the host that it was given for."""
        target = urljoin(url, location)
        if urlsplit(target)[:2] != urlsplit(url)[:2]:
            host = urlsplit(target).netloc
            text = f"{self.provider} redirects to another host, {host}, which must not see the key. Set remote.baseUrl to it if it is right."
            raise ProviderError(text)
        return target

    def _read(self, answer: httpx.Response) -> Any:
        status = answer.status_code
        if status < 400:
            try:
                return answer.json()
            except ValueError:
                kind = answer.headers.get("content-type", "nothing")
                raise ProviderError(f"{self.provider} answered with {kind} that is no JSON; is {self.base_url} right?") from None
        said = self._said(answer)
        if status in (413, 431) or (status in (400, 422) and _TOO_LONG.search(said)):
            raise TextTooLong(f"{self.provider} finds the request too long ({status}): {said}", status=status)
        remedy = {
            401: " Check the key.",
            403: " Check the key and what it may do.",
            404: " Check the model's name and remote.baseUrl.",
        }.get(status, "")
        text = f"{self.provider} answered {status}: {said}.{remedy}"
        again = status in _MAY_RETRY or (status >= 500 and not _SURE.search(said))
        raise _RefusedError(text, retryable=again, status=status, retry_after_s=_retry_after(answer.headers))

    def _said(self, answer: httpx.Response) -> str:
        """Return what an error's body says, short and without a key."""
        try:
            body = answer.json()
            said = body.get("error", body.get("detail", body.get("message", body))) if isinstance(body, dict) else body
            text = said.get("message", said) if isinstance(said, dict) else said
        except ValueError:
            text = re.sub(r"<[^>]*>", " ", answer.text)
        return self._clean(" ".join(str(text).split()).rstrip("."))[:_SHOWN]

    def _clean(self, text: str) -> str:
        for key in filter(None, self._keys):
            text = text.replace(key, "***")
        return text

    def _open(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:  # connections belong to the loop that they were made in
            self._client = httpx.AsyncClient(timeout=None, follow_redirects=False)  # noqa: S113 - asyncio.timeout bounds each request
            self._loop = loop
        return self._client


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header, given as seconds or as a date."""
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except ValueError:
        return None
