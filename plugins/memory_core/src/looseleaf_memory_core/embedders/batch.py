"""Jobs of many texts that a provider works off when it likes, for half the price: hand in, ask after, collect."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from typing import Any, Literal, NamedTuple, Protocol

from looseleaf import ProviderError

from ..text import outgoing
from ._http import Client
from .call import Call, Patience

_SUBMIT = Patience(120.0, 120.0, 3)
_CANCEL = Patience(5.0, 5.0, 1)
_COLLECT = Patience(600.0, 600.0, 1)
_ASK_S = 30.0
_FAILURES = 2
_FAULTS = (KeyError, TypeError, AttributeError, IndexError, ValueError)


class State(NamedTuple):
    """How far a job is.

    Attributes:
        phase: `running`, `done`, `failed`, or `unknown`: a word that the provider does not document.
        said: The provider's own word.
        files: Where its results lie; one that failed may have some, too.
        reason: Why it failed.
    """

    phase: Literal["running", "done", "failed", "unknown"]
    said: str
    files: tuple[str, ...] = ()
    reason: str = ""


class Result(NamedTuple):
    """What became of one text: a vector, or a reason."""

    identity: str
    vector: Sequence[float] | None
    reason: str = ""


class BatchDialect(Protocol):
    """How one provider takes jobs.

    Attributes:
        most_lines: Texts a job.
        most_bytes: Bytes a job.
    """

    most_lines: int
    most_bytes: int

    def line(self, identity: str, text: str) -> Any:
        """Return the line of one text."""

    def upload(self, base_url: str, content: bytes) -> Call:
        """Return the request that hands in the lines."""

    def create(self, uploaded: Any) -> Call:
        """Return the request that makes the job, from the answer to the upload."""

    def name(self, created: Any) -> str:
        """Return the job's name, from the answer to its making."""

    def ask(self, job: str) -> Call:
        """Return the request for a job's state."""

    def state(self, answer: Any) -> State:
        """Return the state."""

    def result(self, line: Any) -> Result:
        """Return what a line of the results says; an empty identity is no result."""

    def cancel(self, job: str) -> Call:
        """Return the request that ends a job."""


class Jobs:
    """The jobs of one provider.

    Attributes:
        failures: Jobs that came to nothing, one after the other; after two no more are handed in.
        last_error: Why the last one did.
    """

    def __init__(self, client: Client, dialect: BatchDialect) -> None:
        self._client = client
        self._dialect = dialect
        self.failures = 0
        self.last_error = ""

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self._client.provider

    @property
    def works(self) -> bool:
        """Whether jobs are handed in."""
        return self.failures < _FAILURES

    def failed(self, reason: str) -> None:
        """Count a job that came to nothing."""
        self.failures += 1
        self.last_error = reason

    def parts(self, texts: Iterable[tuple[str, str]]) -> list[tuple[list[str], bytes]]:
        """Return jobs for texts with their identities: which are in it, and its lines."""
        parts: list[tuple[list[str], list[bytes]]] = []
        size = 0
        for identity, text in texts:
            line = json.dumps(self._dialect.line(identity, outgoing(text)), ensure_ascii=False).encode() + b"\n"
            if not parts or len(parts[-1][0]) >= self._dialect.most_lines or size + len(line) > self._dialect.most_bytes:
                parts.append(([], []))
                size = 0
            parts[-1][0].append(identity)
            parts[-1][1].append(line)
            size += len(line)
        return [(identities, b"".join(lines)) for identities, lines in parts]

    async def submit(self, content: bytes) -> str:
        """Hand in lines, and return the job's name.

        Raises:
            ProviderError: no job was made, or it is not known whether.
        """
        uploaded = await self._client.send(self._dialect.upload(self._client.base_url, content), _SUBMIT)
        try:
            create = self._dialect.create(uploaded)
        except _FAULTS as error:
            raise ProviderError(f"{self.provider} took a file and did not name it ({type(error).__name__})") from None
        created = await self._client.send(create, _SUBMIT)
        try:
            return self._dialect.name(created)
        except _FAULTS as error:
            raise ProviderError(f"{self.provider} took a batch job and did not name it ({type(error).__name__})") from None

    async def state(self, job: str, within_s: float = _ASK_S) -> State:
        """Return how far a job is; the question itself takes no longer than `within_s`.

        Raises:
            ProviderError: it cannot be told.
        """
        limit = max(0.001, min(_ASK_S, within_s))
        answer = await self._client.send(self._dialect.ask(job), Patience(limit, limit, 3))
        try:
            return self._dialect.state(answer)
        except _FAULTS:
            return State("unknown", "nothing")

    async def results(self, state: State) -> AsyncGenerator[Result]:
        """Yield what a job gave.

        Raises:
            ProviderError: a file cannot be had; what was yielded before counts.
        """
        for file in state.files:
            async with aclosing(self._client.lines(file, _COLLECT)) as lines:
                async for line in lines:
                    try:
                        result = self._dialect.result(json.loads(line))
                    except _FAULTS:
                        continue  # no identity: whoever it belongs to is missing, and is asked for directly
                    if result.identity:
                        yield result

    async def cancel(self, job: str) -> None:
        """Try to end a job that is given up, so that it is not paid for."""
        try:
            await self._client.send(self._dialect.cancel(job), _CANCEL)
        except ProviderError:
            return
