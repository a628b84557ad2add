"""The file of a local model: fetched once and whole, resumed where it was cut, used without a network from then on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from hub import FILE, Hub, hub
from looseleaf import NotConfigured, ProviderError
from looseleaf_memory_core.embedders.weights import Weights

CONTENT = b"GGUF" + random.Random(7).randbytes(200_000)
SOURCE = "hf:acme/tiny-GGUF/tiny.gguf"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library pauses a second between two attempts, and keeps ten megabytes at a time."""
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 10_000)


@pytest.fixture
def shop(quick: None) -> Iterator[Hub]:
    with hub(CONTENT) as state:
        yield state


def weights(shop: Hub, folder: Path, source: str = SOURCE, **environ: str) -> Weights:
    return Weights(source, folder, {"HF_ENDPOINT": shop.url, **environ})


@pytest.mark.parametrize("kind", ["hub", "address"])
def test_it_is_fetched_once(shop: Hub, tmp_path: Path, kind: str) -> None:
    """The second process uses the file and asks nobody."""
    source = SOURCE if kind == "hub" else f"{shop.url}{FILE}"
    assert weights(shop, tmp_path, source).here() is None
    path = weights(shop, tmp_path, source).get()
    assert path.read_bytes() == CONTENT
    assert tmp_path in path.parents
    asked = len(shop.asked)
    again = weights(shop, tmp_path, source, HF_HUB_OFFLINE="1")
    assert (again.here(), again.get(), again.name) == (path, path, "tiny.gguf")
    assert len(shop.asked) == asked


@pytest.mark.parametrize("kind", ["hub", "address"])
def test_a_cut_download_goes_on_where_it_was(shop: Hub, tmp_path: Path, kind: str) -> None:
    """PV-28: the second half is asked for, not the whole again."""
    shop.cuts = 2
    path = weights(shop, tmp_path, SOURCE if kind == "hub" else f"{shop.url}{FILE}").get()
    assert path.read_bytes() == CONTENT
    assert shop.downloads == [0, 100_000, 150_000]


def test_an_address_is_resumed_by_another_process(shop: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A download that was given up is not begun anew; one that leads nowhere is."""
    mine = weights(shop, tmp_path, f"{shop.url}{FILE}")
    mine._part.write_bytes(CONTENT[:150_000])
    assert mine.get().read_bytes() == CONTENT
    assert shop.downloads == [150_000]
    mine._part.write_bytes(CONTENT)
    with pytest.raises(ProviderError, match="416"):
        mine.get(again=True)
    assert mine.get(again=True).read_bytes() == CONTENT


@pytest.mark.parametrize("fault", ["cut", "lost", "both"])
def test_a_file_that_was_cut_or_lost_is_fetched_again(shop: Hub, tmp_path: Path, fault: str) -> None:
    """PV-28: a cleaned temporary folder, a full disk: the size is checked at each start."""
    path = weights(shop, tmp_path).get()
    if fault == "cut":
        path.resolve().write_bytes(CONTENT[:1024])
    else:
        path.unlink()
        if fault == "both":
            path.symlink_to(tmp_path / "nowhere")
    assert weights(shop, tmp_path).here() is None
    assert weights(shop, tmp_path).get().read_bytes() == CONTENT


def test_offline_says_so(shop: Hub, tmp_path: Path) -> None:
    """PV-28: without the file and without a network the message is about the model, not about a key."""
    with pytest.raises(
        ProviderError, match=r"the model hf:acme/tiny-GGUF/tiny\.gguf cannot be fetched: .*give local\.modelPath the file"
    ) as error:
        weights(shop, tmp_path, HF_HUB_OFFLINE="1").get()
    assert "key" not in str(error.value).lower()
    assert not shop.asked


def test_what_the_hub_does_not_have_is_told(shop: Hub, tmp_path: Path) -> None:
    """With its name; and the token goes to the hub alone, never into a message."""
    with pytest.raises(ProviderError, match=r"acme/tiny-GGUF/other\.gguf cannot be fetched: \w+NotFound") as error:
        weights(shop, tmp_path, "hf:acme/tiny-GGUF/other.gguf", HF_TOKEN="hf_secret").get()
    assert shop.tokens == {"Bearer hf_secret"}
    assert "hf_secret" not in f"{error.value!r}{error.value.__context__!r}"


@pytest.mark.parametrize("source", ["hf:", "hf:acme", "hf:acme/tiny", "/no/such/model.gguf", "~/nothing.gguf"])
def test_what_is_no_source_is_told_at_once(tmp_path: Path, source: str) -> None:
    """A typing mistake is not found out at the first search."""
    with pytest.raises(NotConfigured, match=r"no file of a hub|no model at"):
        Weights(source, tmp_path, {})


def test_a_revision_may_be_named(tmp_path: Path) -> None:
    """`#branch`, as node-llama-cpp writes it."""
    assert Weights("hf:acme/tiny/sub/a.gguf#v2", tmp_path, {})._place == ("acme/tiny", "sub/a.gguf", "v2")
