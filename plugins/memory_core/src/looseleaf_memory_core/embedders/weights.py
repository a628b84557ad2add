"""Where the file of a local model comes from: a path, `hf:owner/repository/file.gguf`, or http(s). Fetched once, then used without a network."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from looseleaf import NotConfigured, ProviderError
from looseleaf.files import make_folder, write_whole

_REMEDY = "Fetch it by hand and give local.modelPath the file, or try again."


class Place(NamedTuple):
    """A file in a repository of a hub."""

    repository: str
    file: str
    revision: str | None


class Weights:
    """The file of one model.

    Args:
        source: A path, `hf:owner/repository/file.gguf[#revision]`, or an address.
        folder: Where fetched files are kept.
        environ: `HF_ENDPOINT`, `HF_TOKEN` and `HF_HUB_OFFLINE` count as they do for huggingface_hub.

    Raises:
        NotConfigured: the path is not a file, or the address is not understood.
    """

    def __init__(self, source: str, folder: Path, environ: Mapping[str, str]) -> None:
        self.source = source.strip()
        self.is_fetched = self.source.startswith(("hf:", "http://", "https://"))
        self._folder = folder
        self._environ = environ
        self._place = _place(self.source) if self.source.startswith("hf:") else None
        key = blake2b(self.source.encode(), digest_size=8).hexdigest()
        self._record = folder / f"{key}.json"
        self._part = folder / f"{key}.part"
        self._path = Path(os.path.expanduser(self.source))
        if not self.is_fetched and not self._path.is_file():
            raise NotConfigured(
                f"there is no model at {self._path}: give local.modelPath a GGUF file, hf:owner/repository/file, or an address"
            )

    @property
    def name(self) -> str:
        """The file's name."""
        return self._place.file.rpartition("/")[2] if self._place else urlsplit(self.source).path.rpartition("/")[2] or self.source

    def here(self) -> Path | None:
        """Return the file if it is here and whole."""
        if not self.is_fetched:
            return self._path if self._path.is_file() else None
        try:
            known = json.loads(self._record.read_text("utf-8"))
            path = Path(known["path"])
            return path if path.stat().st_size == known["size"] else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def get(self, *, again: bool = False) -> Path:
        """Return the file; fetch it if it is not here, was cut or lost, or `again` is true.

        Raises:
            ProviderError: it cannot be fetched; says from where, why, and what to do.
        """
        if not again and (found := self.here()):
            return found
        if not self.is_fetched:
            raise ProviderError(f"the model {self._path} is gone. Put it back, or change local.modelPath.")
        try:
            make_folder(self._folder)
            path = self._from_hub(self._place, again=again) if self._place else self._from_address()
            write_whole(self._record, json.dumps({"source": self.source, "path": str(path), "size": path.stat().st_size}).encode())
        except ImportError:
            raise NotConfigured('models are fetched with huggingface_hub: pip install "looseleaf[local]"') from None
        except Exception as error:  # noqa: BLE001 - the library raises its own, its HTTP client's and the system's
            text = f"the model {self.source} cannot be fetched: {type(error).__name__}: {str(error).splitlines()[0][:300] if str(error) else ''}"
            raise ProviderError(f"{text.rstrip('. :')}. {_REMEDY}", retryable=True) from None
        return path

    def _from_hub(self, place: Place, *, again: bool) -> Path:
        from huggingface_hub import hf_hub_download

        known: dict[str, Any] = {"endpoint": self._environ["HF_ENDPOINT"].rstrip("/")} if self._environ.get("HF_ENDPOINT") else {}
        offline = self._environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")
        cut = self._record.exists() and self.here() is None  # what the hub's cache holds is not what was fetched
        path = hf_hub_download(
            place.repository,
            place.file,
            revision=place.revision,
            cache_dir=self._folder / "hub",
            token=self._environ.get("HF_TOKEN") or None,
            force_download=(again or cut) and not offline,
            local_files_only=offline,
            **known,
        )
        return Path(path)

    def _from_address(self) -> Path:
        """Fetch into a file beside the final one, which goes on where an earlier attempt ended."""
        from huggingface_hub.file_download import http_get

        target = self._part.with_name(f"{self._part.stem}-{self.name}")
        with open(self._part, "ab") as file:
            begun_at = file.tell()
            try:
                http_get(self.source, file, resume_size=begun_at, displayed_filename=self.name)
            except Exception:
                if begun_at and file.tell() == begun_at:  # what is there leads nowhere: the next attempt begins anew
                    file.truncate(0)
                raise
        self._part.replace(target)
        return target


def _place(source: str) -> Place:
    path, _, revision = source.removeprefix("hf:").removeprefix("//").partition("#")
    owner, _, rest = path.partition("/")
    repository, _, file = rest.partition("/")
    if not (owner and repository and file):
        raise NotConfigured(f"{source!r} names no file of a hub: write hf:owner/repository/file.gguf")
    return Place(f"{owner}/{repository}", file, revision or None)
