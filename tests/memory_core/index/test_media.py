"""Images and sound under extraPaths: found by their names and, with a model that perceives them, by what is in them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from looseleaf import ConfigError, Layout, Notebook, ReadRefused, SearchResult, SyncReport
from looseleaf._run import run
from looseleaf.testing import EmbeddingServer
from looseleaf.workspace import MEDIA, Found
from looseleaf_memory_core.index.media import sniffed

PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + bytes(30)
WAV = b"RIFF\x24\0\0\0WAVEfmt " + bytes(30)
HEADS = {
    "a.jpg": b"\xff\xd8\xff\xe0\0\x10JFIF\0", "b.png": PNG, "c.webp": b"RIFF\x24\0\0\0WEBPVP8 ", "d.gif": b"GIF89a",
    "e.heic": b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "f.heif": b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic",
    "g.mp3": b"ID3\x03\0\0\0\0\0\x21", "h.wav": WAV, "i.ogg": b"OggS\0\x02" + bytes(22) + b"\x01vorbis",
    "j.opus": b"OggS\0\x02" + bytes(22) + b"OpusHead", "k.m4a": b"\0\0\0\x20ftypM4A \0\0\0\0M4A mp42isom",
    "l.aac": b"\xff\xf1\x50\x80", "m.flac": b"fLaC\0\0\0\x22",
}  # fmt: skip


@pytest.mark.parametrize("name", HEADS)
def test_each_kind_is_known_by_its_first_bytes(name: str) -> None:
    """behaviour.md §2.4: the type is sniffed, not believed."""
    assert sniffed(HEADS[name] + bytes(64)).startswith(f"{MEDIA[Path(name).suffix]}/")
    assert sniffed(b"just text") == sniffed(b"") == ""


class Album:
    """A workspace with a folder of pictures and sounds beside it, and a server that takes them."""

    def __init__(self, opened: Callable[..., Notebook], folder: Path, server: EmbeddingServer, **media: Any) -> None:
        self.server = server
        self.folder = folder
        self.notebook = opened(
            {
                "provider": "gemini",
                "model": "gemini-embedding-2-preview",
                "extraPaths": [str(folder)],
                "multimodal": {"enabled": True, **media},
                "remote": {"baseUrl": server.url, "apiKey": "sk-secret"},
            }
        )

    def run(self, query: str = "cat", **options: Any) -> tuple[SyncReport, SearchResult]:
        """Sync and search."""

        async def both() -> tuple[SyncReport, SearchResult]:
            try:
                return await self.notebook.sync(), await self.notebook.search(query, **options)
            finally:
                await self.notebook.aclose()

        return run(both(), inline=False)

    def reasons(self) -> dict[str, str]:
        """Return what the ledger says of each file that is not whole."""
        ledger = run(self.notebook.status(), inline=True).ledger
        return {Path(entry.path).name: entry.reason for entry in ledger if entry.reason}

    def sent(self) -> list[list[Any]]:
        """Return the parts of each request that held an image or sound."""
        parts = [body["requests"][0]["content"]["parts"] for body in self.server.bodies]
        return [part for part in parts if len(part) > 1]


@pytest.fixture
def album(opened: Callable[..., Notebook], tmp_path: Path, write: Callable) -> Any:
    folder = tmp_path / "album"
    folder.mkdir()
    write("memory/a.md", "a note about a dog")
    with EmbeddingServer(wire="gemini") as server:
        yield lambda **media: Album(opened, folder, server, **media)


def test_a_picture_is_found(album: Callable[..., Album]) -> None:
    """One chunk a file; the line about it and its bytes are sent, and the answer cites it."""
    mine = album()
    (mine.folder / "cat.png").write_bytes(PNG)
    (mine.folder / "song.wav").write_bytes(WAV)
    report, found = mine.run()
    assert (report.pending, report.chunks) == (0, 3)
    hit = next(one for one in found.hits if one.hit.path.endswith("cat.png"))
    assert (hit.hit.start, hit.hit.end) == (1, 1)
    assert hit.snippet == f"Image file: {hit.hit.path}"
    assert hit.hit.signals["media"] == 1
    label, data = next(parts for parts in mine.sent() if "png" in parts[0]["text"])
    assert label["text"] == hit.snippet
    assert data["inlineData"]["mimeType"] == "image/png"
    assert base64.b64decode(data["inlineData"]["data"]) == PNG
    sent = len(mine.server.requests)
    assert mine.run("dog")[0].embedded == 0
    assert len(mine.server.requests) == sent + 1, "the second sync sent nothing, the search its question"


def test_only_what_was_changed_is_sent_again(album: Callable[..., Album]) -> None:
    """A picture that is touched is not; one with other bytes is, and a moved one, whose line is another."""
    mine = album()
    picture = mine.folder / "cat.png"
    picture.write_bytes(PNG)
    mine.run()
    picture.write_bytes(PNG)
    mine.run()
    assert len(mine.sent()) == 1
    picture.write_bytes(PNG + b"!")
    mine.run()
    assert len(mine.sent()) == 2


def test_a_kind_that_is_not_asked_for_stays_out(album: Callable[..., Album]) -> None:
    """`modalities` chooses; `all` is both."""
    mine = album(modalities=["audio"])
    (mine.folder / "cat.png").write_bytes(PNG)
    (mine.folder / "song.wav").write_bytes(WAV)
    mine.run()
    assert [parts[1]["inlineData"]["mimeType"] for parts in mine.sent()] == ["audio/wav"]


def test_what_cannot_be_sent_has_its_reason(album: Callable[..., Album]) -> None:
    """Too large, or not what its name says; the rest goes on."""
    mine = album(maxFileBytes=1000)
    (mine.folder / "large.png").write_bytes(PNG + bytes(2000))
    (mine.folder / "text.png").write_bytes(b"this is no picture at all")
    (mine.folder / "sound.png").write_bytes(WAV)
    (mine.folder / "empty.png").write_bytes(b"")
    (mine.folder / "cat.png").write_bytes(PNG)
    report, _ = mine.run()
    assert report.pending == 0
    assert len(mine.sent()) == 1
    reasons = mine.reasons()
    assert "multimodal.maxFileBytes is 1,000" in reasons["large.png"]
    assert reasons["text.png"] == reasons["empty.png"] == "its content is of no known kind, not image"
    assert reasons["sound.png"] == "its content is audio/wav, not image"


def test_one_that_the_provider_refuses_is_found_by_its_name(album: Callable[..., Album]) -> None:
    """413: remembered, not sent at each sync, and the others are embedded."""
    mine = album()
    (mine.folder / "cat.png").write_bytes(PNG)
    mine.server._plan = lambda texts: "413" if "cat.png" in texts[0] else "right"
    report, found = mine.run()
    assert report.pending == 0
    assert any(one.hit.path.endswith("cat.png") for one in found.hits)
    assert "too long (413)" in mine.reasons()["cat.png"]
    mine.run()
    assert len(mine.sent()) == 1


def test_the_memory_folder_stays_markdown(album: Callable[..., Album], write: Callable) -> None:
    """Only below extraPaths, as the seeds say."""
    mine = album()
    write("memory/cat.png", "x")
    assert mine.run()[0].chunks == 1


def test_it_is_never_read(album: Callable[..., Album]) -> None:
    """memory_get shows Markdown; the answer says that the file can be found."""
    mine = album()
    (mine.folder / "cat.png").write_bytes(PNG)
    with pytest.raises(ReadRefused, match="an image or sound: it can be found, but only Markdown is read"):
        run(mine.notebook.read(str(mine.folder / "cat.png")), inline=True)


def test_a_note_and_a_picture_are_ranked_together(album: Callable[..., Album]) -> None:
    """A picture has no words: it is taken by its meaning alone, and is not last because of that."""
    mine = album()
    (mine.folder / "cat.png").write_bytes(PNG)
    _, found = mine.run("image file cat", min_score=0.0)
    assert Path(found.hits[0].hit.path).name == "cat.png"


@pytest.mark.parametrize(
    "search",
    [
        {"provider": "openai", "model": "gemini-embedding-2-preview"},
        {"provider": "gemini", "model": "gemini-embedding-001"},
        {"provider": "gemini"},
        {"provider": "gemini", "model": "gemini-embedding-2-preview", "fallback": "bundled"},
    ],
)
def test_settings_that_do_not_fit_together_are_told(agent: Callable[..., Any], search: dict[str, Any]) -> None:
    """behaviour.md §1.1: before anything is read or sent."""
    with pytest.raises(
        ConfigError, match=r"multimodal\.enabled: needs provider gemini with a gemini-embedding-2 model, and fallback none"
    ):
        agent({**search, "multimodal": {"enabled": True}})


def test_without_it_nothing_but_markdown_counts(workspace: Path, tmp_path: Path) -> None:
    """The usual layout knows no media, and a pattern of one's own is kept to."""
    (tmp_path / "album").mkdir()
    for name in ("cat.png", "note.md"):
        (tmp_path / "album" / name).write_bytes(PNG)

    def names(*extra: str, **options: Any) -> list[str]:
        layout = Layout(workspace, [(str(tmp_path / "album"), *extra)], **options)
        return sorted(Path(item.path).name for item in layout.walk() if isinstance(item, Found))

    assert names("**/*.md") == ["note.md"]
    assert names("**/*.md", media=["image"]) == ["cat.png", "note.md"]
    assert names("*.txt", media=["image"]) == []


def test_an_embedder_takes_each_by_itself(agent: Callable[..., Any]) -> None:
    """One row an item, at unit length; a provider without eyes says so."""
    from looseleaf import Media, ProviderError
    from looseleaf_memory_core.embedders.providers import remote_embedder

    items = [Media("Image file: a.png", "image/png", PNG), Media("Audio file: b.wav", "audio/wav", WAV)]

    async def ask(name: str, url: str) -> np.ndarray:
        embedder = remote_embedder(name, agent({"provider": name, "remote": {"baseUrl": url, "apiKey": "k"}}), {})
        try:
            return await embedder.embed_media(items)
        finally:
            await embedder.aclose()

    with EmbeddingServer(wire="gemini") as server:
        rows = run(ask("gemini", server.url), inline=False)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 1], atol=1e-5)
        with pytest.raises(ProviderError, match="openai takes no images and no sound"):
            run(ask("openai", server.url), inline=False)
