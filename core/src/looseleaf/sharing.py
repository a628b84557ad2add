"""What chats that others share never see, whatever the slot: curated memory, by all of its names, and transcripts."""

from __future__ import annotations

from dataclasses import replace

from .errors import ReadRefused
from .types import Page, Retrieval
from .workspace import Layout

NOT_SHARED = "curated memory and transcripts are not shown in groups, channels and chats of unknown kind"
_TRANSCRIPTS = ("sessions/", "qmd/sessions-")


def shared_part(found: Retrieval, layout: Layout) -> Retrieval:
    """Return what was found without that; it is among the withheld hits, without text."""
    secret = {
        hit.id: hit._replace(text="")
        for hits in found.lists.values()
        for hit in hits
        if hit.source == "sessions" or layout.is_curated(hit.path)
    }
    lists = {name: [hit for hit in hits if hit.id not in secret] for name, hits in found.lists.items()}
    return replace(found, lists=lists, withheld=(*found.withheld, *secret.values()))


def refuse_path(path: str, layout: Layout) -> None:
    """Pass, or refuse what is known by its path.

    Raises:
        ReadRefused: it is not shared.
    """
    if path.strip().startswith(_TRANSCRIPTS) or layout.is_curated(path.strip()):
        raise ReadRefused(path, NOT_SHARED)


def refuse_page(path: str, page: Page, layout: Layout) -> None:
    """Pass, or refuse what was read under another name.

    Raises:
        ReadRefused: it is not shared.
    """
    if page.identity in layout.curated_identities() or layout.is_curated(page.path):
        raise ReadRefused(path, NOT_SHARED)
