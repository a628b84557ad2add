"""Look the whole set-up over, in the order in which one part needs another, and say what to do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from .errors import PluginError, told
from .notebook import Notebook
from .opening import open_notebook
from .protocols import Diagnosing
from .reports import Check, Probe
from .settings import AgentSettings, Settings
from .workspace import CURATED, Found, Layout, Skipped

_LEAST_FREE = 200_000_000
_KEY = "agents.defaults.memorySearch"
_FIRST_YEAR = 2026  # no clock that is right is before the first release


def examine_config(settings: Settings) -> Check:
    """Return what was found of the config, which could be read."""
    where = str(settings.config_path or "no config file, built-in values")
    if settings.warnings:
        return Check(
            "config", "warning", f"{where}: {'; '.join(map(str, settings.warnings))}", "`looseleaf config show` shows what counts."
        )
    passed = f"; passed over: {', '.join(settings.passed_over)}" if settings.passed_over else ""
    return Check("config", "ok", f"{where}{passed}")


async def examine(settings: AgentSettings, environ: Mapping[str, str] | None = None) -> list[Check]:
    """Return what was found of one agent's workspace, plugins, index, provider, disk and clock. Nothing is changed."""
    layout = Layout.of(settings)
    items = list(layout.walk()) if settings.workspace.is_dir() else []
    checks = [_workspace(settings, items)]
    try:
        notebook = open_notebook(settings, environ=environ)
    except PluginError as error:
        return [
            *checks,
            Check("memory", "failure", str(error), "`looseleaf plugins` lists what is installed."),
            *_machine(settings, layout, items),
        ]
    try:
        return [*checks, *await _memory(notebook), *_machine(settings, layout, items)]
    finally:
        await notebook.aclose()


def _workspace(settings: AgentSettings, items: Sequence[Found | Skipped]) -> Check:
    where = settings.workspace
    if not where.is_dir():
        remedy = "Make it, or say with --workspace or agents.defaults.workspace where the notes are."
        return Check("workspace", "failure", f"{where} is not a folder", remedy)
    if not os.access(where, os.R_OK | os.X_OK):
        return Check("workspace", "failure", f"{where} may not be read", "Check who owns it.")
    notes = [item for item in items if isinstance(item, Found)]
    unread = [f"{item.path}: {item.reason}" for item in items if isinstance(item, Skipped) and "cannot be read" in item.reason]
    unread += [f"{item.path}: it may not be read" for item in notes if not os.access(item.absolute, os.R_OK)]
    if unread:
        return Check(
            "workspace",
            "warning",
            f"{where}: {len(unread)} of its files are left out: {'; '.join(unread[:3])}",
            "Check who owns them.",
        )
    if not notes:
        return Check("workspace", "warning", f"{where} holds no notes", f"Write {CURATED[0]}, or memory/YYYY-MM-DD.md.")
    return Check("workspace", "ok", f"{where}, {len(notes):,} notes")


async def _memory(notebook: Notebook) -> list[Check]:
    if notebook.slot is None:
        return [Check("memory", "warning", note.text) for note in notebook.notes]
    checks = [Check("plugins", "warning", note.text) for note in notebook.notes if note.code in ("stage-missing", "ranker-missing")]
    if hasattr(notebook.slot, "diagnose"):
        checks += await cast("Diagnosing", notebook.slot).diagnose()
    sound = all(check.state != "failure" for check in checks)
    return [*checks, *await _providers(notebook), *([await _index(notebook)] if sound else [])]


async def _providers(notebook: Notebook) -> list[Check]:
    """Return how the embedder answers, and the one that steps in."""
    search = notebook.settings.search
    if not hasattr(notebook.slot, "probe"):
        return []  # it has no use for an embedder
    probe = await notebook.probe()
    if probe is None:
        if search.provider == "none":
            return [Check("provider", "ok", f"notes are found by words only ({_KEY}.provider is none)")]
        reasons = [note.text for note in notebook.notes if note.code in ("provider-failed", "no-provider")]
        return [
            Check(
                "provider", "failure", "; ".join(reasons) or "there is no embedder", "`looseleaf plugins` lists what is installed."
            )
        ]
    checks = [_answered("provider", probe)]
    if notebook.stands_in:
        checks[0] = Check(
            "provider", "warning", f"{probe.provider} stands in for {notebook.stands_in.provider}: {notebook.stands_in.reason}"
        )
    second = await notebook.probe(fallback=True)
    checks += [_answered("fallback", second)] if second else []
    return checks + [Check("fallback", "failure", note.text) for note in notebook.notes if note.code == "fallback-failed"]


def _answered(name: str, probe: Probe) -> Check:
    who = f"{probe.provider} {probe.model}"
    if probe.error:
        return Check(
            name, "failure", f"{who}: {probe.error}", "Until then notes are found by their words." if name == "provider" else ""
        )
    return Check(name, "ok", f"{who}, {probe.dimensions} dimensions, answered in {probe.milliseconds:,.0f} ms")


async def _index(notebook: Notebook) -> Check:
    try:
        status = await notebook.status()
    except Exception as error:  # noqa: BLE001 - a slot that cannot tell its state is what is found
        return Check("index", "failure", told(error))
    found = f"{status.files:,} files, {status.chunks:,} chunks, {status.pending:,} without a vector"
    if status.dirty or status.pending:
        return Check("index", "warning", f"{found}; not up to date", "Run `looseleaf index`.")
    return Check("index", "ok", f"{found}; up to date")


def _machine(settings: AgentSettings, layout: Layout, items: Sequence[Found | Skipped]) -> list[Check]:
    return [_disk(settings.database), _clock(settings, layout, items)]


def _disk(database: Path) -> Check:
    folder = next(parent for parent in database.parents if parent.exists())
    free = shutil.disk_usage(folder).free
    size = database.stat().st_size if database.exists() else 0
    text = f"{free / 1e9:,.1f} GB free at {folder}"
    if free < max(_LEAST_FREE, 2 * size):  # a rebuild stands beside the index that answers
        return Check("disk", "warning", f"{text}; the index is {size / 1e6:,.0f} MB, and is rebuilt beside itself", "Make room.")
    return Check("disk", "ok", text)


def _clock(settings: AgentSettings, layout: Layout, items: Sequence[Found | Skipped]) -> Check:
    now = settings.now()
    text = f"{now:%Y-%m-%d %H:%M %Z}"
    if now.year < _FIRST_YEAR:
        return Check("clock", "failure", f"{text}: notes would be dated wrongly", "Set the clock of this machine.")
    days = [(day, item.path) for item in items if isinstance(item, Found) and (day := layout.day_of(item.path))]
    if days and max(days)[0] > now.date():
        remedy = "Check the clock, and agents.defaults.userTimezone."
        return Check("clock", "warning", f"{text}: {max(days)[1]} is a note of a day to come", remedy)
    return Check("clock", "ok", text)
