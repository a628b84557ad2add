"""Give chunks their vectors: what has none yet, newest notes first, a request at a time, each committed when it is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from operator import itemgetter
from time import monotonic
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import apsw

from looseleaf import Embedder, Progress, ProviderError, TextTooLong, in_thread
from looseleaf.reports import ProgressCallback

from ..packing import cut, packed, tokens_of
from ..text import clean
from .media import MediaPlace, read_media
from .source import PLACE, Reader
from .space import Space

if TYPE_CHECKING:
    from looseleaf import Vectors

_READ_AHEAD = 1024
_HARMLESS = "ping"
_GRACE_S = 1.0
_SMALLEST_PIECE = 8  # tokens; what is too long even then is refused
_MISSING = (
    "NOT EXISTS(SELECT 1 FROM embedding WHERE space = ?1 AND hash = chunk.hash) "
    "AND NOT EXISTS(SELECT 1 FROM refused WHERE space = ?1 AND hash = chunk.hash)"
)
_IN_FLIGHT = "EXISTS(SELECT 1 FROM in_flight WHERE space = ?1 AND hash = chunk.hash{})"
#: Which of the texts without a vector: those that are in no job, those that came back from one, those that were in none yet.
Which: TypeAlias = Literal["free", "returned", "new"]
_WHICH: dict[Which, str] = {
    "free": f" AND NOT {_IN_FLIGHT.format(' AND job > 0')}",
    "returned": f" AND {_IN_FLIGHT.format(' AND job = 0')}",
    "new": f" AND NOT {_IN_FLIGHT.format('')}",
}


#: A chunk without a vector: its identity, and its text or where its bytes are.
Item: TypeAlias = tuple[bytes, str | MediaPlace]
Part: TypeAlias = Sequence[Item]


class OutOfTimeError(ProviderError):
    """The time that there was is over."""


class VectorWriter:
    """Embeds the chunks of one generation into one space.

    Args:
        db: Where they are kept.
        embedder: Who embeds.
        generation: Of the chunks.
        lanes: How many requests are under way at once; 1 for an embedder that computes.
        waits: Whether the embedder waits for somebody, so that it can be told to stop.

    Attributes:
        generation: Of the chunks.
        space: Where its vectors go.
        embedded: How many texts were embedded so far.
        limits: Of a request: what the embedder says, lowered by what its refusals taught.
    """

    def __init__(self, db: apsw.Connection, embedder: Embedder, generation: int, *, lanes: int = 1, waits: bool = False) -> None:
        self._db = db
        self._embedder = embedder
        self.generation = generation
        self._lanes = lanes
        self._waits = waits
        self.space = Space(db, embedder.fingerprint)
        self.limits = self.space.limits(embedder.limits)
        self.embedded = 0
        self._works: bool | None = None
        self._exceptions = 0  # texts that had to be cut or refused

    async def run(self, *, which: Which = "free", budget_s: float | None = None, progress: ProgressCallback | None = None) -> None:
        """Embed what has no vector and is in no batch job. What is done is kept, whatever comes after it.

        Raises:
            OutOfTimeError: the embedder was silent when `budget_s` was over.
            Exception: whatever the embedder raises.
        """
        ends = None if budget_s is None else monotonic() + budget_s
        todo = await in_thread(self.missing, which)
        for first in range(0, len(todo), _READ_AHEAD):
            batch = await in_thread(self.read, todo[first : first + _READ_AHEAD])
            texts, media = _apart(batch)
            parted: Iterator[Part] = chain(packed(texts, lambda: self.limits, itemgetter(1)), ([item] for item in media))
            for parts in _batched(parted, self._lanes):
                if ends is not None and monotonic() > ends:
                    return
                await self._in_time(parts, ends)
                if progress:
                    progress(Progress("embed", self.embedded, len(todo)))

    async def _in_time(self, parts: Sequence[Part], ends: float | None) -> None:
        """Embed `parts`; a provider that is silent when time is up, and a little after, is not waited for."""
        if ends is None or not self._waits:
            await self._side_by_side(parts)
            return
        from anyio import move_on_after

        with move_on_after(ends - monotonic() + _GRACE_S):
            await self._side_by_side(parts)
            return
        provider = getattr(self._embedder, "provider", "the embedder")
        raise OutOfTimeError(f"{provider} did not answer in the time that there was", retryable=True)

    async def _side_by_side(self, parts: Sequence[Part]) -> None:
        """Embed `parts` at the same time; all come to their end, so that nothing that is paid for is lost, then the first error is raised."""
        if len(parts) == 1:
            await self._embed(parts[0])
            return
        from anyio import create_task_group

        failed: list[Exception] = []

        async def lane(part: Part) -> None:
            try:
                await self._embed(part)
            except Exception as error:  # noqa: BLE001 - raised when the other lanes are through
                failed.append(error)

        async with create_task_group() as group:
            for part in parts:
                group.start_soon(lane, part)
        if failed:
            raise failed[0]

    def waiting(self) -> int:
        """Return how many chunks have neither a vector nor a refusal."""
        return int(
            self._db.execute(f"SELECT count(*) FROM chunk_{self.generation} AS chunk WHERE {_MISSING}", (self.space.number,)).get
        )

    def would_pay_again(self) -> bool:
        """Tell whether chunks have vectors of another embedder and none of this one: a change of provider, not a first sync."""
        sql = (
            f"SELECT EXISTS(SELECT 1 FROM embedding JOIN chunk_{self.generation} AS chunk ON chunk.hash = embedding.hash "
            "WHERE (embedding.space = ?) = ?)"
        )
        space = self.space.number
        return not self._db.execute(sql, (space, 1)).get and bool(self._db.execute(sql, (space, 0)).get)

    def forget_limits(self) -> None:
        """Go back to the limits that the embedder gives itself."""
        self.space.forget_limits()
        self.limits = self._embedder.limits

    def missing(self, which: Which) -> list[int]:
        """Return a chunk for each text that has no vector, newest notes first."""
        chunks, files = f"chunk_{self.generation}", f"file_{self.generation}"
        rows = self._db.execute(
            f"SELECT min(chunk.id) FROM {chunks} AS chunk JOIN {files} AS file ON file.id = chunk.file WHERE {_MISSING}{_WHICH[which]} "
            "GROUP BY chunk.hash ORDER BY max(file.mtime_ns) DESC, chunk.id",
            (self.space.number,),
        )
        return [chunk for (chunk,) in rows]

    def read(self, chunks: Sequence[int]) -> list[Item]:
        """Return the identity and text of each chunk that still stands in its file; of an image or sound, where it is."""
        sql = (
            f"SELECT {PLACE} FROM chunk_{self.generation} AS chunk "
            f"JOIN file_{self.generation} AS file ON file.id = chunk.file WHERE chunk.id = ?"
        )
        reader = Reader()
        try:
            return [
                (place[-1], MediaPlace(place[1], place[2], place[-1]) if place[3] < 0 else clean(read[0]))
                for chunk in chunks
                for place in self._db.execute(sql, (chunk,))
                if (read := reader.chunk(*place))
            ]
        finally:
            reader.close()

    async def _embed(self, part: Part) -> None:
        if isinstance(part[0][1], MediaPlace):
            await self._embed_media(part[0][1])
        else:
            await self._embed_texts(cast("list[tuple[bytes, str]]", part))

    async def _embed_media(self, place: MediaPlace) -> None:
        """Embed an image or sound; one that has changed since it was indexed waits for the next sync."""
        media = await in_thread(read_media, place)
        if media is None:
            return
        embed_media = getattr(self._embedder, "embed_media", None)
        try:
            if embed_media is None:
                raise ProviderError("this embedder takes no images and no sound")
            vectors = await embed_media([media])
        except ProviderError as error:
            await self._refused([(place.identity, place.label)], error)
        else:
            await in_thread(self.space.store, [place.identity], vectors)
            self.embedded += 1

    async def _embed_texts(self, part: list[tuple[bytes, str]]) -> None:
        """Embed `part`. What is refused is halved until the one text stands alone, which is remembered with the reason."""
        smaller = list(packed(part, lambda: self.limits, itemgetter(1)))
        if len(smaller) > 1:  # the limits were lowered since it was packed
            for less in smaller:
                await self._embed_texts(less)
            return
        texts = [text for _, text in part]
        try:
            vectors = await self._ask(texts) if len(part) > 1 else await self._alone(texts[0])
        except ProviderError as error:
            await self._refused(part, error)
        else:
            await in_thread(self.space.store, [identity for identity, _ in part], vectors)
            self.embedded += len(part)

    async def _refused(self, part: list[tuple[bytes, str]], error: ProviderError) -> None:
        """Halve what was refused, or remember the reason; raise `error` again if it is not the fault of the texts."""
        too_long = isinstance(error, TextTooLong)
        divisible = len(part) > 1
        if not (too_long and divisible) and not ((too_long or _may_be_the_text(error)) and await self._embeds_others()):
            raise error
        if divisible:
            await self._embed_halves(part, too_long=too_long)
        else:
            self._exceptions += 1
            await in_thread(self.space.refuse, part[0][0], str(error))

    async def _embed_halves(self, part: list[tuple[bytes, str]], *, too_long: bool) -> None:
        """Embed both halves. Where no text of them was to blame, the request as a whole was too large, which is remembered."""
        half = (len(part) + 1) // 2
        before = self._exceptions
        await self._embed_texts(part[:half])
        await self._embed_texts(part[half:])
        if too_long and self._exceptions == before:
            sizes = [sum(tokens_of(text) for _, text in some) for some in (part[:half], part[half:])]
            texts, tokens = min(self.limits.texts, half), min(self.limits.request_tokens, max(sizes))
            self.limits = replace(self.limits, texts=texts, request_tokens=tokens)
            await in_thread(self.space.learn, texts, tokens)

    async def _alone(self, text: str) -> Vectors:
        """Embed one text; the vector of one that is too long is the mean of those of its pieces, weighted by their length."""
        import numpy as np

        most = self.limits.tokens
        while True:
            pieces = cut(text, most)
            try:
                rows = [await self._ask(some) for some in packed(pieces, lambda: self.limits, str)]
            except TextTooLong:
                self._exceptions += 1
                most = max(map(tokens_of, pieces)) // 2
                if most < _SMALLEST_PIECE or not await self._embeds_others():
                    raise
                continue
            if len(pieces) == 1:
                return rows[0]
            return np.average(np.concatenate(rows), axis=0, weights=[len(piece) for piece in pieces]).astype(np.float32)[None]

    async def _ask(self, texts: Sequence[str]) -> Vectors:
        vectors = await self._embedder.embed(texts, "document")
        if len(vectors) != len(texts):
            raise ProviderError(f"the embedder gave {len(vectors)} vectors for {len(texts)} texts")
        return vectors

    async def _embeds_others(self) -> bool:
        """Tell whether a harmless text can be embedded: then a refusal is the fault of the texts. Asked once a run."""
        if self._works is None:
            try:
                self._works = len(await self._embedder.embed([_HARMLESS], "document")) == 1
            except ProviderError:
                self._works = False
        return self._works


def _may_be_the_text(error: ProviderError) -> bool:
    """Tell whether one text may be to blame: a wrong answer, or a refusal that is about neither key, rate nor the server."""
    return not error.retryable and error.status in (None, 400, 422, 500)


def _apart(batch: Iterable[Item]) -> tuple[list[tuple[bytes, str]], list[tuple[bytes, MediaPlace]]]:
    """Return the texts, and the images and sounds."""
    texts: list[tuple[bytes, str]] = []
    media: list[tuple[bytes, MediaPlace]] = []
    for identity, what in batch:
        if isinstance(what, str):
            texts.append((identity, what))
        else:
            media.append((identity, what))
    return texts, media


def _batched(parts: Iterable[Part], count: int) -> Iterator[list[Part]]:
    every = iter(parts)
    while some := list(islice(every, count)):
        yield some
